"""Scales and weights of a table kernel, learned by the gradient of a leave-one-out error.

The criterion is the squared error that kernel ridge regression makes on each row when fitted to the others. With
B = (a K + c + I)^-1 and alpha = B Y it is alpha_i / B_ii, so no row is ever left out in fact.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.parallel import _get_threadpool_controller

INTERCEPT_VARIANCE = 10.0
FEWEST_ROWS_FOR_THREADS = 1000  # threads wait on each other longer than they work on less
SCALE_BOUNDS = (np.log(1e-3), np.log(1e3))  # around the scale that the search starts from
AMPLITUDE_BOUNDS = (-7.0, 6.0)  # natural logarithms; C grows with it, and LIBSVM slows with C


class Learned(NamedTuple):
    scales: np.ndarray
    share: float
    amplitude: float  # of the kernel, beside noise of variance 1: a guide to C


class Sample(NamedTuple):
    """Rows to learn on: numeric columns divided by their starting scale, similarities of the others, goals."""

    numeric: np.ndarray  # (n_rows, n_numeric)
    similarity: np.ndarray | None  # (n_rows, n_rows)
    goals: np.ndarray  # (n_rows, n_goals), centred
    is_product: bool


def kernel_parts(theta, sample):
    """The kernel, the rbf in it, and what multiplies the rbf."""
    n_numeric = sample.numeric.shape[1]
    share = 1 / (1 + np.exp(-theta[n_numeric])) if sample.similarity is not None else 0.0
    rbf = rbf_kernel(sample.numeric * np.exp(theta[:n_numeric]), gamma=1.0)
    if sample.similarity is None:
        return rbf, rbf, 1.0, share
    if sample.is_product:
        around = share * sample.similarity + (1 - share)
        return around * rbf, rbf, around, share
    return share * sample.similarity + (1 - share) * rbf, rbf, 1 - share, share


def error_and_pull(kernel, amplitude, goals):
    """The criterion of a kernel matrix, and its gradient by that matrix; its sum over K is that by log amplitude."""
    n_rows = kernel.shape[0]
    system = amplitude * kernel + INTERCEPT_VARIANCE
    system[np.diag_indices(n_rows)] += 1.0
    inverse = cho_solve(cho_factor(system, lower=True, overwrite_a=True), np.eye(n_rows), overwrite_b=True)
    alpha = inverse @ goals
    own = np.diag(inverse)
    error = alpha / own[:, None]
    pull = inverse @ (error / own[:, None])
    by_system = (inverse * (error**2).sum(axis=1) / own) @ inverse - (pull @ alpha.T + alpha @ pull.T) / 2
    return np.mean(np.sum(error**2, axis=1)), by_system * (2 * amplitude / n_rows)


def left_out_error(theta, sample):
    """The criterion and its gradient by (log scales, logit share, log amplitude)."""
    kernel, rbf, around, share = kernel_parts(theta, sample)
    error, by_kernel = error_and_pull(kernel, np.exp(theta[-1]), sample.goals)
    gradient = np.append(by_scales(by_kernel * around * rbf, sample.numeric, theta), np.sum(by_kernel * kernel))
    if sample.similarity is not None:
        by_share = np.sum(
            by_kernel * (sample.similarity - rbf if not sample.is_product else (sample.similarity - 1) * rbf)
        )
        gradient = np.insert(gradient, -1, by_share * share * (1 - share))
    return error, gradient


def by_scales(weight, numeric, theta):
    """Gradient by log scales: -2 s_j^2 sum_ab weight_ab (x_aj - x_bj)^2, without the pairs."""
    squares = 2 * weight.sum(axis=1) @ numeric**2 - 2 * np.sum(numeric * (weight @ numeric), axis=0)
    return -2 * np.exp(2 * theta[: numeric.shape[1]]) * squares


def learned(sample, max_iter=60):
    """The best scales, share and amplitude that L-BFGS finds from even scales."""
    n_numeric = sample.numeric.shape[1]
    mixed = sample.similarity is not None
    start = np.concatenate([np.zeros(n_numeric), [0.0] * mixed, [np.log(10.0)]])
    bounds = [SCALE_BOUNDS] * n_numeric + [(-8, 8)] * mixed + [AMPLITUDE_BOUNDS]
    search = {"jac": True, "method": "L-BFGS-B", "bounds": bounds, "options": {"maxiter": max_iter}}
    with few_threads(sample.numeric.shape[0]):
        found = minimize(left_out_error, start, args=(sample,), **search).x
    share = float(1 / (1 + np.exp(-found[n_numeric]))) if mixed else 0.0
    return Learned(np.exp(found[:n_numeric]), share, float(np.exp(found[-1])))


def few_threads(n_rows):
    """A context in which BLAS keeps to one thread where the rows are few."""
    threads = 1 if n_rows < FEWEST_ROWS_FOR_THREADS else None
    return _get_threadpool_controller().limit(limits=threads, user_api="blas")


def starting_scales(numbers, weight):
    """One over the standard deviation and the root of the number of columns; zero for a constant column."""
    mean = np.average(numbers, axis=0, weights=weight) if numbers.size else np.zeros(numbers.shape[1])
    spread = np.sqrt(weight @ (numbers - mean) ** 2 / weight.sum())
    known = spread > 1e-12 * np.maximum(np.abs(mean), 1e-300)
    return np.divide(1.0, spread * np.sqrt(max(spread.size, 1)), out=np.zeros(spread.size), where=known)


def given_scales(scales, n_numeric):
    if isinstance(scales, str):
        raise ValueError(f"scales={scales!r} was asked. Give 'spread', 'learned', one number or {n_numeric} numbers.")
    found = np.asarray(scales, dtype=np.float64)
    if found.ndim > 1 or (found.ndim == 1 and found.size != n_numeric) or not np.all((found >= 0) & (found < np.inf)):
        raise ValueError(
            f"scales must be 'spread', 'learned', one number or {n_numeric} numbers of zero or more, one for each "
            f"numeric column, but found {found.tolist()}. Give one for each."
        )
    return np.broadcast_to(found, (n_numeric,)).copy()
