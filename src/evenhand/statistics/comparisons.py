"""Paired tests, intervals, corrections, drift and power: pure functions of arrays, with small frozen results."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import norm, t

from evenhand.statistics.records import Interval, PairedDifference


def corrected_resampled_t(
    first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, *, test_share: float, level: float = 0.95
) -> PairedDifference:
    """Compare paired fold values, allowing for folds that share training rows.

    The variance of the mean is (1/k + n_test/n_train) s² instead of s²/k: Nadeau, Bengio (2003), Machine Learning 52.
    `test_share` is the share of rows in one test fold, 0.2 for five folds.
    """
    gaps = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if gaps.size < 2:
        raise ValueError(f"A paired t test needs two folds or more, but found {gaps.size}.")
    deviation = math.sqrt((1 / gaps.size + test_share / (1 - test_share)) * gaps.var(ddof=1))
    mean = float(gaps.mean())
    statistic = mean / deviation if deviation > 0 else math.copysign(math.inf, mean) if mean else 0.0
    reach = float(t.ppf(0.5 + level / 2, gaps.size - 1)) * deviation
    p_value = float(2 * t.sf(abs(statistic), gaps.size - 1))
    return PairedDifference(
        mean, Interval(mean - reach, mean + reach, level), statistic, p_value, "corrected resampled t"
    )


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return p-values adjusted so that calling those at or below alpha errs anywhere with chance alpha at most."""
    known = np.asarray(p_values, dtype=float)
    order = np.argsort(known, kind="stable")
    stepped = np.maximum.accumulate(known[order] * np.arange(known.size, 0, -1))
    adjusted = np.empty(known.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def power_of(difference: float, interval: Interval, *, alpha: float = 0.05) -> float:
    """Return the chance that a two-sided test at alpha finds a true difference, if it spreads as the interval shows."""
    deviation = (interval.high - interval.low) / 2 / float(norm.ppf(0.5 + interval.level / 2))
    if deviation == 0:
        return 1.0 if difference else alpha
    shift, z = abs(difference) / deviation, float(norm.ppf(1 - alpha / 2))
    return float(norm.cdf(shift - z) + norm.cdf(-shift - z))


def spend_alpha(alpha: float, n_looks: int, *, shape: str = "even") -> np.ndarray:
    """Return the level to test at on each of n_looks occasions; the levels sum to alpha.

    By the union bound the chance of any false promotion over the whole horizon is at most alpha, however the looks
    depend on each other: same rows, overlapping rows or fresh ones, same rival or new ones. The price is less power
    than group-sequential boundaries, which need the looks' joint distribution. "even" spends alike; "obrien_fleming"
    spends late and "pocock" a little early, by the functions of Lan, DeMets (1983), Biometrika 70.
    """
    past = np.arange(n_looks + 1) / n_looks
    with np.errstate(divide="ignore"):
        spent = {
            "even": alpha * past,
            "obrien_fleming": 2 * norm.sf(norm.ppf(1 - alpha / 2) / np.sqrt(past)),
            "pocock": alpha * np.log1p((math.e - 1) * past),
        }
    if shape not in spent:
        raise ValueError(f"No way of spending alpha is called {shape!r}. Choose one of {', '.join(spent)}.")
    return np.diff(spent[shape])
