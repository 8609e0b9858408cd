"""Whether whole numbers were given to rows, as customer numbers and clocks are, and not measured of them."""

from typing import Literal

import numpy as np
from scipy.stats import kstest, poisson

FEWEST_ROWS = 20
UNIQUE = 0.9
MANY_VALUES = 5_000
WIDE = 1e9  # measured whole numbers seldom spread evenly over so many values


def row_numbers(values: np.ndarray, *, level: float = 1e-5) -> Literal["", "unique", "rising"]:
    """Return how the numbers, in the order of the source, show that they number rows; empty where they do not.

    Values drawn independently, from whatever distribution, coincide at least as often as even ones do: n(n - 1) / 2K
    pairs among K whole numbers. So few pairs that chance gives them less often than `level` were dealt out. Numbers
    over so wide a range that no pair is due count where they are spread evenly. "rising" are those that never fall and
    take very many values, as a time does.
    """
    n = len(values)
    if n < FEWEST_ROWS or not np.isfinite(values).all() or (values != np.rint(values)).any():
        return ""
    counts = np.unique(values, return_counts=True)[1]
    if len(counts) >= UNIQUE * n and _is_dealt_out(values, counts, level):
        return "unique"
    is_many = len(counts) >= n / 2 or len(counts) >= MANY_VALUES
    return "rising" if is_many and bool((np.diff(values) >= 0).all()) else ""


def _is_dealt_out(values: np.ndarray, counts: np.ndarray, level: float) -> bool:
    n, low, width = len(values), values.min(), float(np.ptp(values)) + 1
    expected, found = n * (n - 1) / 2 / width, float((counts * (counts - 1.0) / 2).sum())
    if poisson.cdf(found, expected) < level:
        return True
    return bool(found == 0 and width >= WIDE and kstest((values - low) / width, "uniform").pvalue > 0.01)
