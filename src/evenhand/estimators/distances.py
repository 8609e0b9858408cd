"""Weights of neighbours by their distance."""

import numpy as np

from evenhand.estimators._door import ESTIMATORS, named_at


@named_at(ESTIMATORS)
def inverse_square(distances):
    """Weights 1/d^2 for `KNeighborsClassifier(weights=...)`; a neighbour at distance 0 outweighs all others.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_neighbors)

    Returns
    -------
    weights : ndarray of shape (n_queries, n_neighbors)

    Examples
    --------
    >>> inverse_square(np.array([[1.0, 2.0], [0.0, 3.0]])).tolist()
    [[1.0, 0.25], [1.0, 0.0]]
    """
    distances = np.asarray(distances, dtype=float)
    is_exact = distances == 0
    with np.errstate(divide="ignore"):
        weights = 1.0 / distances**2
    has_exact = is_exact.any(axis=1)
    weights[has_exact] = is_exact[has_exact]
    return weights
