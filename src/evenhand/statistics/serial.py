"""Whether values next to each other in an order are alike: serial dependence by normal scores; NaN is not known."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import norm, rankdata

MOST_LAGS = 10


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Return the values as normal scores of their ranks."""
    scores = np.full(len(values), np.nan)
    known = np.isfinite(values)
    if known.any():
        scores[known] = ndtri(rankdata(values[known]) / (known.sum() + 1))
    return scores


def serial_correlation(scores: np.ndarray) -> tuple[float, float]:
    """Return the correlation of scores of mean zero with those before them, and its one-sided p-value under chance.

    In an order that knows nothing of the values it is nearly normal with variance 1 / n (Wald and Wolfowitz 1943).
    """
    products = scores[1:] * scores[:-1]
    known = np.isfinite(products)
    spread = float(np.nanmean(scores**2)) if known.any() else 0.0
    if known.sum() < 3 or spread == 0:
        return 0.0, 1.0
    correlation = float(products[known].mean() / spread)
    return correlation, float(norm.sf((correlation + 1 / known.sum()) * np.sqrt(known.sum())))


def lag_of_copy(column: np.ndarray, target: np.ndarray, *, share: float = 0.9) -> int:
    """Return how many rows before a column's values are those of the target; 0 where they are not."""
    if len(np.unique(target[np.isfinite(target)])) <= 2:
        return 0
    for lag in range(1, MOST_LAGS + 1):
        if _agree(column[lag:], target[:-lag]) >= share and _agree(column, target) < share / 2:
            return lag
    return 0


def _agree(column: np.ndarray, target: np.ndarray) -> float:
    """The share of the known values that are equal, but for rounding."""
    known = np.isfinite(column) & np.isfinite(target)
    return float(np.isclose(column[known], target[known], rtol=1e-6, atol=0).mean()) if known.sum() > 2 else 0.0
