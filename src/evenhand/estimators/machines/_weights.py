"""Scales of rbf kernels and weights of sums, learned together by the gradient of a leave-one-out error.

Each part of a kernel gives its Gram matrix at theta, and takes the pull of the error on that matrix back to theta.
"""

from dataclasses import replace

import numpy as np
from numpy.polynomial import Polynomial as Polynomial1d
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from evenhand.estimators.machines._scales import (
    AMPLITUDE_BOUNDS,
    SCALE_BOUNDS,
    by_scales,
    error_and_pull,
    few_threads,
)
from evenhand.estimators.machines.composition import GROUPS, checked_numbers
from evenhand.estimators.machines.kernels import OnColumns, Product, Rbf, Scaled, Sum

SHARE_BOUNDS = (-8.0, 8.0)


def learn_weights(node, kernel, X, goals, max_iter=60):
    """The kernel with the scales of each rbf without a gamma and the shares in each sum that predict rows left out.

    Returns it with its amplitude: the factor of the whole kernel, beside noise of variance 1.
    """
    bounds = []
    part = _part(node, kernel, X, bounds)
    start = np.append(np.zeros(len(bounds)), np.log(10.0))

    def criterion(theta):
        amplitude = np.exp(theta[-1])
        gram = part.gram(theta)
        error, pull = error_and_pull(gram, amplitude, goals)
        gradient = np.zeros(theta.size)
        part.take(theta, pull, gradient)
        gradient[-1] = np.sum(pull * gram)
        return error, gradient

    search = {
        "jac": True,
        "method": "L-BFGS-B",
        "bounds": [*bounds, AMPLITUDE_BOUNDS],
        "options": {"maxiter": max_iter},
    }
    with few_threads(X.shape[0]):
        theta = minimize(criterion, start, **search).x
    return part.kernel(theta), float(np.exp(theta[-1]))


def _part(node, kernel, X, bounds):
    if not _has_free(node):
        return _Known(kernel, X)
    if node.kind == "rbf":
        return _Scaled(kernel, X, bounds)
    if node.kind in GROUPS:
        place = slice(len(bounds), len(bounds) + len(node.parts))
        if node.kind == "sum":
            bounds += [SHARE_BOUNDS] * len(node.parts)
        inner = [_part(*pair, X, bounds) for pair in zip(node.parts, kernel.kernels, strict=True)]
        return _Shared(inner, place) if node.kind == "sum" else _Multiplied(inner)
    inner = _part(node.parts[0], kernel.kernel, X, bounds)
    return _Around(inner, kernel)


def _has_free(node):
    return (node.kind == "rbf" and node.value is None) or node.kind == "sum" or any(map(_has_free, node.parts))


class _Known:
    """A kernel without anything to learn."""

    def __init__(self, kernel, X):
        self.made, self.known = kernel, kernel(X)

    def gram(self, theta):
        return self.known

    def take(self, theta, pull, gradient):
        """Nothing hangs on theta."""

    def kernel(self, theta):
        return self.made


class _Scaled:
    """An rbf with a free scale for each column."""

    def __init__(self, kernel, X, bounds):
        self.columns, self.scales = kernel.columns, kernel.kernel.scales
        self.numbers = checked_numbers(X, kernel.columns) * self.scales
        self.place = slice(len(bounds), len(bounds) + self.numbers.shape[1])
        bounds += [SCALE_BOUNDS] * self.numbers.shape[1]

    def gram(self, theta):
        self.known = rbf_kernel(self.numbers * np.exp(theta[self.place]), gamma=1.0)
        return self.known

    def take(self, theta, pull, gradient):
        gradient[self.place] += by_scales(pull * self.known, self.numbers, theta[self.place])

    def kernel(self, theta):
        return OnColumns(Rbf(self.scales * np.exp(theta[self.place])), self.columns)


class _Shared:
    """A sum whose weights add up to 1."""

    def __init__(self, inner, place):
        self.inner, self.place = inner, place

    def shares(self, theta):
        raised = np.exp(theta[self.place] - theta[self.place].max())
        return raised / raised.sum()

    def gram(self, theta):
        self.grams = [each.gram(theta) for each in self.inner]
        return sum(share * gram for share, gram in zip(self.shares(theta), self.grams, strict=True))

    def take(self, theta, pull, gradient):
        shares = self.shares(theta)
        by_share = np.array([np.sum(pull * gram) for gram in self.grams])
        gradient[self.place] += shares * (by_share - shares @ by_share)
        for each, share in zip(self.inner, shares, strict=True):
            each.take(theta, share * pull, gradient)

    def kernel(self, theta):
        pairs = zip(self.inner, self.shares(theta).tolist(), strict=True)
        return Sum(tuple(Scaled(each.kernel(theta), share) for each, share in pairs))


class _Multiplied:
    """A product of which some part is free."""

    def __init__(self, inner):
        self.inner = inner

    def gram(self, theta):
        self.grams = [each.gram(theta) for each in self.inner]
        return np.prod(self.grams, axis=0)

    def take(self, theta, pull, gradient):
        for k, each in enumerate(self.inner):
            others = self.grams[:k] + self.grams[k + 1 :]
            each.take(theta, pull * np.prod(others, axis=0) if others else pull, gradient)

    def kernel(self, theta):
        return Product(tuple(each.kernel(theta) for each in self.inner))


class _Around:
    """A multiple, a polynomial or the exponential of a kernel with something to learn."""

    def __init__(self, inner, outer):
        self.inner, self.outer = inner, outer
        raised = [0.0, outer.weight] if isinstance(outer, Scaled) else getattr(outer, "coefficients", None)
        self.polynomial = None if raised is None else Polynomial1d(np.asarray(raised, dtype=float))

    def gram(self, theta):
        self.known = self.inner.gram(theta)
        return np.exp(self.known) if self.polynomial is None else self.polynomial(self.known)

    def take(self, theta, pull, gradient):
        slope = np.exp(self.known) if self.polynomial is None else self.polynomial.deriv()(self.known)
        self.inner.take(theta, pull * slope, gradient)

    def kernel(self, theta):
        return replace(self.outer, kernel=self.inner.kernel(theta))
