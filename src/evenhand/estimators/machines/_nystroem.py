"""Features whose inner products come near a kernel, and the support-vector machine on them."""

import numpy as np
from sklearn.utils import gen_batches

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.machines._dual import Geometry, solve

ROWS_AT_ONCE = 4000
MAX_PASSES = 2000


@named_at(ESTIMATORS)
class Nystroem:
    """Features of rows from their kernel with a few landmark rows."""

    def __init__(self, kernel, landmarks):
        self.kernel = kernel
        self.landmarks = landmarks
        self.root = inverse_root(kernel(landmarks))

    def __call__(self, X):
        found = np.empty((X.shape[0], self.root.shape[1]))
        for rows in gen_batches(X.shape[0], ROWS_AT_ONCE):
            found[rows] = self.kernel(X[rows], self.landmarks) @ self.root
        return found


def inverse_root(gram):
    """(n, rank) matrix R with R R' the inverse of the Gram matrix, on the directions that it has."""
    value, vector = np.linalg.eigh(gram)
    kept = value > 1e-10 * value[-1]
    return vector[:, kept] / np.sqrt(value[kept])


@named_at(ESTIMATORS)
class LinearMachine:
    """Support-vector machines on dense features, one for each problem, with an intercept that costs nothing."""

    def __init__(self, features, problems, tol, rng):
        found = [solve(dense(features), problem, tol=tol, max_iter=MAX_PASSES, rng=rng) for problem in problems]
        self.coef = np.column_stack([one.weights[:, 0] for one in found])
        self.intercept = np.array([one.intercept for one in found])

    def decision_function(self, features):
        """One score for each row and problem."""
        return features @ self.coef + self.intercept


def dense(features):
    """Features as the copies of one table with one cell, which every row holds."""
    nothing, zero = np.zeros(0), np.zeros(1, dtype=np.int64)
    return Geometry(
        index=np.zeros((features.shape[0], 1), dtype=np.uint16),
        blend=np.ascontiguousarray(features),
        table=nothing,
        row_start=zero,
        start=zero,
        stop=zero + 1,
        width=zero[:0],
        diagonal=np.ones(1),
        factor=nothing,
        factor_start=zero,
        sign=nothing,
        state_start=zero,
        rank=zero,
        n_weights=1,
    )
