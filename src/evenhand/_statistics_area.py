"""The area under the ROC curve: variance after DeLong, tests, intervals, and the chance to see a difference."""

import math

import numpy as np
from scipy.stats import norm, rankdata

from evenhand._statistics_records import Comparison, Interval, codes_of_two


def delong(y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the areas of one or more columns of scores on the same rows, and the covariance matrix of those areas.

    Midranks give the structural components in O(n log n): DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44; Sun, Xu
    (2014), IEEE Signal Processing Letters 21.
    """
    positive = codes_of_two(y)
    columns = np.asarray(scores, dtype=float).reshape(len(positive), -1)
    ups, downs = columns[positive], columns[~positive]
    n_up, n_down = len(ups), len(downs)
    if min(n_up, n_down) < 2:
        raise ValueError(f"DeLong's variance needs two rows of each class, but found {n_up} and {n_down}.")
    among_all = rankdata(np.vstack([ups, downs]), axis=0)
    above = (among_all[:n_up] - rankdata(ups, axis=0)) / n_down
    below = 1 - (among_all[n_up:] - rankdata(downs, axis=0)) / n_up
    covariance = np.cov(above, rowvar=False) / n_up + np.cov(below, rowvar=False) / n_down
    return above.mean(axis=0), np.atleast_2d(covariance)


def auc_interval(y: np.ndarray, scores: np.ndarray, *, level: float = 0.95) -> Interval:
    """Return the two-sided DeLong interval of the area under the curve, cut to [0, 1].

    A leak is suspected when ``auc_interval(y, scores).covers(0.5)`` is false for scores that should know nothing. Where
    the classes part completely DeLong's variance is zero; Wilson's interval with as many trials as the rarer class has
    rows is given instead, so that four rows do not prove an area of exactly 1.
    """
    areas, covariance = delong(y, scores)
    if covariance[0, 0] == 0:
        positive = codes_of_two(y)
        return wilson_interval(float(areas[0]), int(min(positive.sum(), (~positive).sum())), level=level)
    reach = norm.ppf(0.5 + level / 2) * math.sqrt(covariance[0, 0])
    return Interval(max(0.0, float(areas[0] - reach)), min(1.0, float(areas[0] + reach)), level)


def wilson_interval(share: float, n_trials: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a share seen in n_trials independent trials."""
    z = norm.ppf(0.5 + level / 2)
    centre = (share + z**2 / (2 * n_trials)) / (1 + z**2 / n_trials)
    reach = z / (1 + z**2 / n_trials) * math.sqrt(share * (1 - share) / n_trials + z**2 / (4 * n_trials**2))
    return Interval(max(0.0, float(centre - reach)), min(1.0, float(centre + reach)), level)


def delong_test(y: np.ndarray, first: np.ndarray, second: np.ndarray, *, level: float = 0.95) -> Comparison:
    """Compare the areas of two scores on the same rows."""
    areas, covariance = delong(y, np.column_stack([first, second]))
    difference = float(areas[0] - areas[1])
    deviation = math.sqrt(max(0.0, covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]))
    return normal_comparison(difference, deviation, level, "DeLong")


def normal_comparison(difference: float, deviation: float, level: float, method: str) -> Comparison:
    """Return the comparison of a difference with a normal error; without any error only 0 is likely."""
    reach = float(norm.ppf(0.5 + level / 2)) * deviation
    statistic = difference / deviation if deviation > 0 else math.copysign(math.inf, difference) if difference else 0.0
    p_value = float(2 * norm.sf(abs(statistic)))
    return Comparison(difference, Interval(difference - reach, difference + reach, level), statistic, p_value, method)


def delong_p_values(y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the areas of all columns and the symmetric matrix of p-values of their differences."""
    areas, covariance = delong(y, scores)
    own = np.diag(covariance)
    deviation = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0))
    difference = np.abs(areas[:, None] - areas[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(difference > 0, difference / deviation, 0.0)
    return areas, 2 * norm.sf(statistic)


def auc_variance(auc: float, n_positive: int, n_negative: int) -> float:
    """Return the variance of an area before any data are seen: Hanley, McNeil (1982), Radiology 143, formula 2."""
    both_above = auc / (2 - auc)
    both_below = 2 * auc**2 / (1 + auc)
    spread = (n_positive - 1) * (both_above - auc**2) + (n_negative - 1) * (both_below - auc**2)
    return (auc * (1 - auc) + spread) / (n_positive * n_negative)


def auc_power(
    difference: float, *, auc: float, n_positive: int, n_negative: int, correlation: float = 0.0, alpha: float = 0.05
) -> float:
    """Return the chance that a two-sided test at alpha finds the area `auc + difference` apart from `auc`.

    `correlation` is that of the two estimated areas on the same rows; rivals trained on the same table often reach 0.5
    to 0.9, and 0 is the cautious value.
    """
    variances = [auc_variance(area, n_positive, n_negative) for area in (auc, auc + difference)]
    joint = 2 * correlation * math.sqrt(variances[0] * variances[1])
    shift = abs(difference) / math.sqrt(sum(variances) - joint)
    z = norm.ppf(1 - alpha / 2)
    return float(norm.cdf(shift - z) + norm.cdf(-shift - z))
