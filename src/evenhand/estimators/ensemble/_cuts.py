"""Metrics of decisions, with the threshold that makes the decisions chosen from the scores at hand."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from evenhand.estimators._door import ESTIMATORS, named_at

N_LEVELS = 1 << 12


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class DecisionMetric:
    """A metric of the decisions between two classes, judged at the threshold that is best for the rows at hand.

    Attributes
    ----------
    figure : callable
        From confusion tables of shape (n_tables, 2, 2), true classes in rows and the second class last, to one figure
        each; greater is better.
    chosen_by : callable, default=None
        The figure whose maximum sets the threshold, where `figure` itself would be best with all rows called or none;
        `figure` if None. Of equals the highest threshold is taken, which calls the fewest rows.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import DecisionMetric, EnsembleSelection
    >>> accuracy = DecisionMetric(lambda tables: np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2)))
    >>> scores = np.array([[0.1, 0.3], [0.2, 0.1], [0.3, 0.2]])
    >>> EnsembleSelection(accuracy, initial=1, bags=1).fit(scores, [0, 0, 1]).threshold_
    0.25
    """

    figure: Callable
    chosen_by: Callable | None = None

    def cut(self, positive, scores, weight):
        """The figure at the best threshold, and that threshold: halfway to the next lower score."""
        order = np.argsort(-scores, kind="stable")
        ordered = scores[order]
        last = np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])
        ups = np.cumsum(np.where(positive, weight, 0.0)[order])[last]
        downs = np.cumsum(np.where(positive, 0.0, weight)[order])[last]
        tables = _tables(np.r_[0.0, ups], np.r_[0.0, downs], ups[-1], downs[-1])
        place = int(np.argmax(self._choosing(tables)))
        return float(self.figure(tables[place : place + 1])[0]), _between(ordered[last], place)

    def screened(self, ups, downs):
        """The figure at the best level of each histogram; `ups` and `downs` hold one a row, lowest level first."""
        found, flagged = (np.cumsum(each[:, ::-1], axis=1)[:, ::-1] for each in (ups, downs))
        model, level = np.nonzero(ups)
        tables = _tables(found[model, level], flagged[model, level], ups[0].sum(), downs[0].sum())
        starts = np.searchsorted(model, np.arange(len(ups)))
        best = np.maximum.reduceat(self._choosing(tables), starts)
        if self.chosen_by is None:
            return best
        is_best = self._choosing(tables) >= best[model]
        return np.maximum.reduceat(np.where(is_best, _finite(self.figure(tables)), -np.inf), starts)

    def _choosing(self, tables):
        return _finite((self.chosen_by or self.figure)(tables))


@njit(cache=True, nogil=True)
def histograms(total, library, ranges, candidates, signed, n_levels):
    """Weight of positives and of negatives on each level of `total + library[c]`, for every candidate c."""
    ups = np.zeros((candidates.size, n_levels))
    downs = np.zeros((candidates.size, n_levels))
    bottom, top = total.min(), total.max()
    for place in range(candidates.size):
        member = library[candidates[place]]
        low = bottom + ranges[candidates[place], 0]
        width = top + ranges[candidates[place], 1] - low
        scale = 0.9999 * n_levels / width if width > 0 else 0.0
        for row in range(total.size):
            level = max(int((total[row] + member[row] - low) * scale), 0)
            if signed[row] > 0:
                ups[place, level] += signed[row]
            else:
                downs[place, level] -= signed[row]
    return ups, downs


def _tables(ups, downs, all_ups, all_downs):
    """Confusion tables of so many rows called, of all positives and negatives."""
    return np.stack([np.stack([all_downs - downs, downs], -1), np.stack([all_ups - ups, ups], -1)], axis=-2)


def _finite(values):
    return np.nan_to_num(np.asarray(values, dtype=float), nan=-np.inf, neginf=-np.inf)


def _between(levels, place):
    """The threshold that calls the `place` highest levels: halfway to the level below."""
    if place == 0:
        return float(np.nextafter(levels[0], np.inf))
    if place == len(levels):
        return float(levels[-1])
    return float((levels[place - 1] + levels[place]) / 2)
