"""Intervals that cover: shares, means of skewed losses, areas, averages of shares, functions of a table of counts."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit, ndtri, owens_t, stdtrit

from evenhand.statistics.auc import wilson_interval
from evenhand.statistics.records import Interval

N_DRAWS = 1000
RARE_WEIGHT = 0.6
AREAS = np.linspace(0.5, 0.9999, 1000)
ABOVE_TWO = AREAS - 2 * owens_t(ndtri(AREAS), 1 / math.sqrt(3))  # chance to lie above two rows, as in auc_variance


def share_interval(n_hits: float, n_trials: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's interval of a share; one that touches 0 or 1 where no trial or every trial hit."""
    found = wilson_interval(n_hits / n_trials, n_trials, level=level)
    low, high = (0.0 if n_hits == 0 else found.low), (1.0 if n_hits == n_trials else found.high)
    return Interval(low, high, level)


def f1_interval(n_right: int, n_wrong: int, *, level: float = 0.95) -> Interval:
    """Return the interval of F1 from true positives and all errors about the class.

    Of the rows that are of the class or called so, a share J is right, which is a plain share; and F1 = 2J / (1 + J).
    """
    found = share_interval(n_right, n_right + n_wrong, level=level)
    return Interval(2 * found.low / (1 + found.low), 2 * found.high / (1 + found.high), level)


def mean_of_shares(hits: Sequence[int], trials: Sequence[int], *, level: float = 0.95) -> Interval:
    """Return the interval of the mean of independent shares, each by Wilson's."""
    parts = [share_interval(hit, trial, level=level) for hit, trial in zip(hits, trials, strict=True)]
    return mean_interval(np.array(hits) / np.array(trials), parts)


def mean_interval(figures: Sequence[float] | np.ndarray, parts: Sequence[Interval]) -> Interval:
    """Return the interval of the mean of figures that have intervals: Newcombe (1998), Statistics in Medicine 17.

    The distances of each figure from the ends of its own interval are added as squares.
    """
    mean, n = float(np.mean(figures)), len(parts)
    below = math.sqrt(sum((one - part.low) ** 2 for one, part in zip(figures, parts, strict=True))) / n
    above = math.sqrt(sum((part.high - one) ** 2 for one, part in zip(figures, parts, strict=True))) / n
    return Interval(max(0.0, mean - below), min(1.0, mean + above), parts[0].level)


def means_over_classes(table: np.ndarray, *, level: float = 0.95) -> dict[str, Interval]:
    """Return Newcombe's intervals of mean recall and F1 of the classes that occur, by the names of these metrics."""
    right, true, either = np.diag(table), table.sum(axis=1), table.sum(axis=0) + table.sum(axis=1)
    there, named = true > 0, either > 0
    recall = mean_of_shares(right[there].tolist(), true[there].tolist(), level=level)
    part = float(there.sum() / named.sum())  # a class that is only predicted counts in macro recall, as not found
    pairs = zip(right[named].tolist(), (either - 2 * right)[named].tolist(), strict=True)
    return {
        "balanced_accuracy": recall,
        "recall_macro": Interval(part * recall.low, part * recall.high, level),
        "f1_macro": mean_interval(
            2 * right[named] / either[named], [f1_interval(*each, level=level) for each in pairs]
        ),
    }


def weight_of_rare(table: np.ndarray) -> float:
    """Return what part such intervals have beside drawn tables, nearly none where classes have about as many rows.

    What is drawn of a class with few rows beside many others is too sure; where all have few rows, Newcombe's is.
    """
    true = table.sum(axis=1)[table.sum(axis=1) > 0]
    return RARE_WEIGHT * (1 - float(true.min() / true.mean())) ** 2


def between(first: Interval, second: Interval, weight: float) -> Interval:
    """Return the interval whose ends lie between those of two, as far from the first as the weight of the second."""
    low = (1 - weight) * first.low + weight * second.low
    return Interval(low, (1 - weight) * first.high + weight * second.high, first.level)


def area_interval(area: float, variance: float, n_up: int, n_down: int, *, level: float = 0.95) -> Interval:
    """Return the areas that the observed one is not far from, by the deviation that each of them would have.

    As Newcombe (2006), Statistics in Medicine 25, but with the variance of normal scores, and raised where DeLong's
    variance is greater at the observed area. It keeps its level near 1, where DeLong's variance alone is too small.
    """
    model = (AREAS * (1 - AREAS) + (n_up + n_down - 2) * (ABOVE_TWO - AREAS**2)) / (n_up * n_down)
    seen = float(np.interp(max(area, 1 - area), AREAS, model))
    deviation = float(ndtri(0.5 + level / 2)) * np.sqrt(model * max(1.0, variance / seen))
    low, high = (_farthest(side, deviation) for side in (area, 1 - area))
    return Interval(low, 1 - high, level)


def _farthest(area: float, deviation: np.ndarray) -> float:
    """The least area from which the observed one is within reach."""
    grid, reach = np.concatenate([1 - AREAS[::-1], AREAS]), np.concatenate([deviation[::-1], deviation])
    within = np.flatnonzero((area - grid <= reach) & (grid <= area))
    return float(grid[within[0]]) if len(within) else area


def logit_interval(
    estimate: float, deviation: float, *, degrees: float = math.inf, level: float = 0.95, centre: float | None = None
) -> Interval:
    """Return the interval of a figure between 0 and 1 on the scale of log odds; `centre` where the figure is biased."""
    stretched = float(stdtrit(degrees, 0.5 + level / 2)) * deviation / (estimate * (1 - estimate))
    middle = logit(estimate if centre is None else centre)
    return Interval(float(expit(middle - stretched)), float(expit(middle + stretched)), level)


def log_interval(estimate: float, deviation: float, *, degrees: float, level: float = 0.95) -> Interval:
    """Return the interval of a positive figure on the scale of its logarithm."""
    if estimate <= 0 or deviation <= 0:
        return Interval(max(estimate, 0.0), max(estimate, 0.0), level)
    stretched = float(stdtrit(degrees, 0.5 + level / 2)) * deviation / estimate
    return Interval(estimate * math.exp(-stretched), estimate * math.exp(min(stretched, 50.0)), level)


def skewed_mean_interval(values: np.ndarray, *, level: float = 0.95) -> Interval:
    """Return the interval of the mean of skewed values, by Hall's transformation of Student's statistic.

    Hall (1992), JRSS B 54: the cubic in the statistic that takes its skewness away, solved for the mean.
    """
    n, mean = len(values), float(values.mean())
    variance = float(values.var())
    if variance == 0:
        return Interval(mean, mean, level)
    skewness = float(((values - mean) ** 3).mean()) / variance**1.5 / math.sqrt(n)
    deviation, z = math.sqrt(variance / (n - 1)), float(ndtri(0.5 + level / 2))
    low, high = (mean - deviation * _without_skew(each, skewness) for each in (z, -z))
    return Interval(low, high, level)


def _without_skew(z: float, skewness: float) -> float:
    if abs(skewness) < 1e-9:
        return z
    return 3 * (float(np.cbrt(1 + skewness * (z - skewness / 6))) - 1) / skewness


def drawn_tables(table: np.ndarray, *, seed: int = 0, n_draws: int = N_DRAWS) -> np.ndarray:
    """Return tables that these counts speak for, of shape (n_draws, *table.shape), class counts drawn too.

    Tables are drawn from Dirichlet's distribution with the counts and 1.5 rows spread over all cells, each count taken
    for less than it is, by a fifth where the rarest class has few rows. A class that is nowhere stays so, and one that
    is only predicted has no rows.
    """
    true = table.sum(axis=1)
    there = np.flatnonzero(true + table.sum(axis=0))
    counts = np.asarray(table[np.ix_(there, there)], dtype=float)
    rarest = float(counts.sum(axis=1).min())
    weight = 1 - 0.2 / (1 + rarest / 50)
    draw, found = np.random.default_rng(seed), np.zeros((n_draws, *table.shape))
    drawn = draw.gamma((counts + 1.5 / counts.size) * weight, size=(n_draws, *counts.shape)) + 1e-300
    found[:, there[:, None], there] = drawn * (true[there] > 0)[:, None]
    return found
