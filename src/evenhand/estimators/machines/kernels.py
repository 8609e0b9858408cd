"""Kernels and the ways of combining them that keep them positive semidefinite.

A kernel is called with rows X and, for rows of two kinds, Y, and returns their Gram matrix; so it can be given to
``SVC(kernel=...)``. All are plain values that can be pickled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.machines.similarity import similarity_matrix, value_counts

Kernel = Callable[..., np.ndarray]


def mixed(similarity, rbf, share, combination):
    """share s + (1 - share) r, or (share s + 1 - share) r as a product; the other kernel alone where one is None."""
    if similarity is None or rbf is None:
        return similarity or rbf
    if combination == "product":
        return Product((Sum((Scaled(similarity, share), Constant(1 - share))), rbf))
    return Sum((Scaled(similarity, share), Scaled(rbf, 1 - share)))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Rbf:
    """exp(-sum_j (scales[j] (x_j - y_j))^2), with one scale for each column or one for all."""

    scales: float | np.ndarray = 1.0

    def __call__(self, X, Y=None):
        left = np.asarray(X, dtype=np.float64) * self.scales
        return rbf_kernel(left, None if Y is None else np.asarray(Y, dtype=np.float64) * self.scales, gamma=1.0)


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Similarity:
    """A measure of `similarity_matrix`, made positive semidefinite, with the value counts that it goes by."""

    measure: str
    counts: list

    @classmethod
    def counted(cls, measure, X):
        """The measure with the value counts of X."""
        return cls(measure, value_counts(X))

    def __call__(self, X, Y=None):
        return similarity_matrix(X, Y, measure=self.measure, counts=self.counts, clip=True)


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class OnColumns:
    """A kernel that sees some columns only."""

    kernel: Kernel
    columns: Sequence[int]

    def __call__(self, X, Y=None):
        X = np.asarray(X)[:, self.columns]
        return self.kernel(X) if Y is None else self.kernel(X, np.asarray(Y)[:, self.columns])


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Constant:
    """The same similarity for every pair."""

    value: float

    def __post_init__(self):
        check_not_negative("Constant", [self.value])

    def __call__(self, X, Y=None):
        return np.full((len(X), len(X if Y is None else Y)), float(self.value))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Sum:
    """k1 + k2 + ..."""

    kernels: Sequence[Kernel]

    def __call__(self, X, Y=None):
        return reduce(np.add, (kernel(X, Y) for kernel in self.kernels))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Product:
    """k1 k2 ..., entry by entry."""

    kernels: Sequence[Kernel]

    def __call__(self, X, Y=None):
        return reduce(np.multiply, (kernel(X, Y) for kernel in self.kernels))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Scaled:
    """weight k, for a weight of zero or more."""

    kernel: Kernel
    weight: float

    def __post_init__(self):
        check_not_negative("Scaled", [self.weight])

    def __call__(self, X, Y=None):
        return self.weight * self.kernel(X, Y)


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Exponential:
    """exp(k), the sum of all powers of k over their factorials."""

    kernel: Kernel

    def __call__(self, X, Y=None):
        return np.exp(self.kernel(X, Y))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Polynomial:
    """coefficients[0] + coefficients[1] k + coefficients[2] k^2 + ..., none of them negative."""

    kernel: Kernel
    coefficients: Sequence[float]

    def __post_init__(self):
        check_not_negative("Polynomial", self.coefficients)

    def __call__(self, X, Y=None):
        return np.polynomial.polynomial.polyval(self.kernel(X, Y), np.asarray(self.coefficients, dtype=float))


def check_not_negative(name, numbers):
    """A negative multiple of a kernel is no kernel."""
    numbers = [float(number) for number in numbers]
    if not numbers or not all(0 <= number < np.inf for number in numbers):
        raise ValueError(f"{name} was asked for {numbers}, which is no kernel. Give numbers of zero or more.")
