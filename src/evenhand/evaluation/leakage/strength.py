"""Target leakage: how well one column alone predicts the target, from 0 to 1."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from evenhand.evaluation.metrics import ranking_figures
from evenhand.statistics import auc_by_chance

FEWEST_ROWS, LEVEL = 20, 0.9999


def strength(column: pd.Series, y: np.ndarray, *, is_numeric: bool, is_class: bool) -> float:
    """The most that its order, its values, its gaps or the target the other way round explain.

    For classes it is the mean area under the curve of each class against the rest, for numbers the squared rank
    correlation. A column that is a function of the target explains all of it, even where several targets share a value;
    a smooth one that rises and falls is seen in thousands of rows only.
    """
    values = (
        column.to_numpy(dtype=float) if is_numeric else pd.factorize(column, use_na_sentinel=False)[0].astype(float)
    )
    known = np.isfinite(values)
    found = [0.0]
    if is_numeric and 0 < known.sum() < len(known):
        found += _as_read(known.astype(float), y, is_numeric=False, is_class=is_class)
    values, y = values[known], y[known]
    if len(np.unique(values)) > 1 and _is_enough(y, is_class):
        found += _as_read(values, y, is_numeric=is_numeric, is_class=is_class)
        if is_numeric:
            found.append(_area(values, y, is_class))
            found += [] if is_class else _as_read(y, values, is_numeric=True, is_class=False)
        if not is_class and _is_cut(values, y):
            found.append(1.0)
        if is_class and all(np.ptp(values[y == k]) == 0 for k in np.unique(y)):
            found.append(1.0)
    return float(max(each for each in found if np.isfinite(each)))


def _is_enough(y: np.ndarray, is_class: bool) -> bool:
    """Whether chance alone would not give as much as can be: a few values of a rare class are parted by luck."""
    counts = np.unique(y, return_counts=True)[1]
    if len(y) < FEWEST_ROWS or len(counts) < 2:
        return False
    return not is_class or auc_by_chance(int(counts.min()), int(len(y) - counts.min()), level=LEVEL).high < 1


def _as_read(values: np.ndarray, y: np.ndarray, *, is_numeric: bool, is_class: bool) -> Iterator[float]:
    """What every second row's value predicts of its target, read off the other rows."""
    if not is_class:
        predicted, truth = _read_off(values, y, is_numeric)
        yield _correlated(predicted, truth)
        return
    areas = []
    for k in _classes(y):
        predicted, truth = _read_off(values, (y == k).astype(float), is_numeric)
        if len(np.unique(truth)) == 2:
            areas.append(ranking_figures(truth == 1, predicted)[0])
    yield float(np.mean(areas)) if areas else 0.0


def _read_off(values: np.ndarray, target: np.ndarray, is_numeric: bool) -> tuple[np.ndarray, np.ndarray]:
    """The mean target of equal values, or of the numbers to either side, among the other rows; and the truth."""
    known, place = np.unique(values[::2], return_inverse=True)
    means = np.bincount(place, weights=target[::2]) / np.bincount(place)
    others, truth = values[1::2], target[1::2]
    if is_numeric:
        return np.interp(others, known, means), truth
    is_seen = np.isin(others, known)
    return means[np.searchsorted(known, others[is_seen])], truth[is_seen]


def _is_cut(values: np.ndarray, y: np.ndarray) -> bool:
    """Whether a few values change so seldom from target to target, in rising order, that they were cut out of it."""
    shares = np.unique(values, return_counts=True)[1] / len(values)
    n_changes = np.count_nonzero(np.diff(values[np.argsort(y, kind="stable")]))
    by_chance = len(values) * (1 - np.sum(shares**2))
    return bool(n_changes < 2 * len(shares) and by_chance >= FEWEST_ROWS * n_changes)


def _area(values: np.ndarray, y: np.ndarray, is_class: bool) -> float:
    """What the order of the values explains, rising or falling."""
    if not is_class:
        return _correlated(values, y)
    areas = [ranking_figures(y == k, values)[0] for k in _classes(y)]
    return float(np.mean([max(area, 1 - area) for area in areas]))


def _classes(y: np.ndarray) -> np.ndarray:
    """The classes to be separated from the rest; of two, either says all."""
    found = np.unique(y)
    return found[-1:] if len(found) == 2 else found


def _correlated(predicted: np.ndarray, truth: np.ndarray) -> float:
    if min(len(np.unique(predicted)), len(np.unique(truth))) < 2:
        return 0.0
    return float(np.corrcoef(rankdata(predicted), rankdata(truth))[0, 1] ** 2)
