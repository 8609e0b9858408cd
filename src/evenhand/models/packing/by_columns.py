"""Fits that need a few columns of a matrix at a time."""

from collections.abc import Iterator
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

from evenhand.storage.packed import Packed

CELLS_AT_ONCE = 2**23
FEWEST_COLUMNS = 2  # numpy adds up a single column in another order


def fitted_by_columns(estimator: GaussianNB, matrix: Packed, y: np.ndarray, **arguments: Any) -> GaussianNB:
    """Gaussian naive Bayes as its `fit` on the dense matrix leaves it: each column has its own means and variances."""
    unsmoothed = copy(estimator).set_params(var_smoothing=0.0)
    means, variances, largest = [], [], 0.0
    for columns in _column_blocks(*matrix.shape):
        X = matrix.dense(columns=columns)
        unsmoothed.fit(X, y, **arguments)
        means.append(unsmoothed.theta_)
        variances.append(unsmoothed.var_)
        largest = max(largest, float(np.var(X, axis=0).max()))
    for name in ("classes_", "class_count_", "class_prior_"):
        setattr(estimator, name, getattr(unsmoothed, name))
    estimator.n_features_in_ = matrix.shape[1]
    estimator.epsilon_ = estimator.var_smoothing * largest
    estimator.theta_, estimator.var_ = np.hstack(means), np.hstack(variances) + estimator.epsilon_
    return estimator


def _column_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    n_blocks = max(1, min(n_columns // FEWEST_COLUMNS, -(-n_rows * n_columns // CELLS_AT_ONCE)))
    edges = np.linspace(0, n_columns, n_blocks + 1).astype(int)
    yield from (slice(int(first), int(last)) for first, last in pairwise(edges))
