"""Weighted Gaussian moments and log densities by class and column, missing cells left out, compiled."""

import numpy as np
from numba import njit


@njit(cache=True)
def _weighted_sums(X, membership, theta):
    """Give the weight, and the sums of x - theta and of its square, of the known cells by class and column."""
    n_classes, n_columns = membership.shape[1], X.shape[1]
    weight = np.zeros((n_classes, n_columns))
    first, second = np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_columns))
    for i in range(X.shape[0]):
        for c in range(n_classes):
            w = membership[i, c]
            if w > 0:
                for j in range(n_columns):
                    x = X[i, j] - theta[c, j]
                    if not np.isnan(x):
                        weight[c, j] += w
                        first[c, j] += w * x
                        second[c, j] += w * x * x
    return weight, first, second


@njit(cache=True)
def add_log_densities(X, theta, var, out):
    """Add to out[i, c] the log densities of the known cells of row i under class c."""
    level = -0.5 * np.log(2.0 * np.pi * var)
    scale = -0.5 / var
    for i in range(X.shape[0]):
        for c in range(theta.shape[0]):
            total = 0.0
            for j in range(X.shape[1]):
                x = X[i, j] - theta[c, j]
                if not np.isnan(x):
                    total += level[c, j] + scale[c, j] * x * x
            out[i, c] += total


def _known_values(X, membership):
    """Give a known value of each column, so that a column of one value has exactly that mean and variance 0."""
    known = ~np.isnan(X) & membership.any(axis=1)[:, None]
    return np.where(known.any(axis=0), X[known.argmax(axis=0), np.arange(X.shape[1])], 0.0)


def moments(X, membership):
    """Give the weight, mean and sum of squares around the mean by class and column; no weight gives mean 0."""
    start = np.tile(_known_values(X, membership), (membership.shape[1], 1))
    weight, first, _ = _weighted_sums(X, membership, start)
    theta = np.where(weight > 0, start + first / np.maximum(weight, 1e-300), 0.0)
    _, rest, squares = _weighted_sums(X, membership, theta)
    return weight, theta, np.maximum(squares - rest**2 / np.maximum(weight, 1e-300), 0.0)


def variances(weight, squares, sharing, ddof):
    """Give the variance by class and column: of its own, shared by the classes, or shared by all cells."""
    free = np.maximum(weight - ddof * (weight > 0), 0.0)
    if sharing == "shared_by_classes":
        free, squares = free.sum(axis=0, keepdims=True), squares.sum(axis=0, keepdims=True)
    elif sharing == "shared":
        free, squares = free.sum(keepdims=True), squares.sum(keepdims=True)
    var = np.divide(squares, free, out=np.zeros_like(squares), where=free > 0)
    return np.broadcast_to(var, weight.shape).copy()


def gaussian_tables(X, membership, sharing, ddof, least_share):
    """Give mean and variance by class and column, fit for densities.

    A variance is at least `least_share` of that of the whole column. A class without a known cell in a column gets
    the mean and variance of the whole column, and a column of one value variance 1: both then say nothing.
    """
    weight, theta, squares = moments(X, membership)
    var = variances(weight, squares, sharing, ddof)
    all_weight, all_theta, all_squares = moments(X, membership.sum(axis=1, keepdims=True))
    all_var = variances(all_weight, all_squares, "per_class", 0)
    constant = all_var == 0
    all_var[constant] = 1.0
    whole = (weight == 0) | constant
    theta, var = np.where(whole, all_theta, theta), np.where(whole, all_var, var)
    return theta, np.maximum(var, np.maximum(least_share * all_var, 1e-300))
