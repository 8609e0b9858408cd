"""Fits that need a few columns of a matrix at a time, or only counts of its dummies."""

from collections.abc import Iterator
from copy import copy
from itertools import pairwise

import numpy as np
from sklearn.naive_bayes import GaussianNB

from evenhand.storage.packed import Dummies, Packed

CELLS_AT_ONCE = 2**23
FEWEST_COLUMNS = 2  # numpy adds up a single column in another order
Moments = tuple[np.ndarray, np.ndarray, float]  # means and variances of each class, the largest variance of all rows


def fitted_by_columns(
    estimator: GaussianNB, matrix: Packed, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> GaussianNB:
    """Gaussian naive Bayes as its `fit` on the dense matrix leaves it: each column has its own means and variances."""
    unsmoothed = copy(estimator).set_params(var_smoothing=0.0)
    unsmoothed.fit(np.zeros((len(y), 1)), y, sample_weight)
    found: list[Moments] = []
    for part in matrix.parts:
        if isinstance(part, Dummies):
            found.append(_of_dummies(part, np.searchsorted(unsmoothed.classes_, y), sample_weight))
            continue
        for columns in _column_blocks(part.n_rows, part.width):
            X = Packed([part]).dense(columns=columns)
            one = copy(unsmoothed).fit(X, y, sample_weight)
            found.append((one.theta_, one.var_, float(np.var(X, axis=0).max())))
    for name in ("classes_", "class_count_", "class_prior_"):
        setattr(estimator, name, getattr(unsmoothed, name))
    means, variances, largest = zip(*found, strict=True)
    estimator.n_features_in_ = matrix.shape[1]
    estimator.epsilon_ = estimator.var_smoothing * max(largest)
    estimator.theta_, estimator.var_ = np.hstack(means), np.hstack(variances) + estimator.epsilon_
    return estimator


def _of_dummies(part: Dummies, places: np.ndarray, weights: np.ndarray | None) -> Moments:
    """The moments of dummies, by how many rows of each class have each code: no dummy is made."""
    n_classes, means, shares = int(places.max()) + 1, [], []
    for j, width in enumerate(part.widths):
        cells = places * (width + 1) + part.codes[:, j]
        counts = np.bincount(cells, weights, minlength=n_classes * (width + 1)).reshape(n_classes, width + 1)
        means.append((counts / counts.sum(axis=1, keepdims=True))[:, :width])
        shares.append(np.bincount(part.codes[:, j], minlength=width + 1)[:width] / part.n_rows)
    mean, share = np.hstack(means), np.hstack(shares)
    return part.value * mean, part.value**2 * mean * (1 - mean), float(part.value**2 * (share * (1 - share)).max())


def _column_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    n_blocks = max(1, min(n_columns // FEWEST_COLUMNS, -(-n_rows * n_columns // CELLS_AT_ONCE)))
    edges = np.linspace(0, n_columns, n_blocks + 1).astype(int)
    yield from (slice(int(first), int(last)) for first, last in pairwise(edges))
