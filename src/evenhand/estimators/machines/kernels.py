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
    """exp(-sum_j (scales[j] (x_j - y_j))^2), with one scale for each column or one for all.

    Parameters
    ----------
    scales : float or ndarray of shape (n_columns,), default=1.0
        The square of one scale for all is the gamma of scikit-learn.

    Examples
    --------
    >>> from evenhand.estimators import Rbf
    >>> Rbf(0.5)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    scales: float | np.ndarray = 1.0

    def __call__(self, X, Y=None):
        left = np.asarray(X, dtype=np.float64) * self.scales
        return rbf_kernel(left, None if Y is None else np.asarray(Y, dtype=np.float64) * self.scales, gamma=1.0)


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Linear:
    """The inner product of rows of numbers.

    Examples
    --------
    >>> from evenhand.estimators import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 0.0]])
    array([[5., 3.],
           [3., 9.]])
    """

    def __call__(self, X, Y=None):
        left = np.asarray(X, dtype=np.float64)
        return left @ (left if Y is None else np.asarray(Y, dtype=np.float64)).T


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Similarity:
    """A measure of `similarity_matrix`, made positive semidefinite, with the value counts that it goes by.

    Parameters
    ----------
    measure : str
        As in `similarity_matrix`.
    counts : list of n_columns dicts {value: count}
        As `counted` learns them from rows.

    Examples
    --------
    >>> from evenhand.estimators import Similarity
    >>> X = [["red", "low"], ["red", "high"], ["blue", "low"]]
    >>> Similarity.counted("overlap", X)(X)
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0. ],
           [0.5, 0. , 1. ]])
    """

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
    """A kernel that sees some columns only.

    Parameters
    ----------
    kernel : callable
        A kernel of this module.
    columns : sequence of int
        Positions of the columns.

    Examples
    --------
    >>> from evenhand.estimators import Linear, OnColumns
    >>> OnColumns(Linear(), [1])([[5.0, 1.0], [7.0, 2.0]])
    array([[1., 2.],
           [2., 4.]])
    """

    kernel: Kernel
    columns: Sequence[int]

    def __call__(self, X, Y=None):
        X = np.asarray(X)[:, self.columns]
        return self.kernel(X) if Y is None else self.kernel(X, np.asarray(Y)[:, self.columns])


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Constant:
    """The same similarity for every pair.

    Parameters
    ----------
    value : float
        Zero or more.

    Examples
    --------
    >>> from evenhand.estimators import Constant
    >>> Constant(2.0)([[0.0], [1.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    value: float

    def __post_init__(self):
        check_not_negative("Constant", [self.value])

    def __call__(self, X, Y=None):
        return np.full((len(X), len(X if Y is None else Y)), float(self.value))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Sum:
    """k1 + k2 + ...: rows are alike where any part finds them so.

    Parameters
    ----------
    kernels : sequence of callables
        One or more kernels.

    References
    ----------
    Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 3.4.

    Examples
    --------
    >>> from evenhand.estimators import Constant, Linear, Sum
    >>> Sum([Linear(), Constant(1.0)])([[1.0], [3.0]])
    array([[ 2.,  4.],
           [ 4., 10.]])
    """

    kernels: Sequence[Kernel]

    def __call__(self, X, Y=None):
        return reduce(np.add, (kernel(X, Y) for kernel in self.kernels))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Product:
    """k1 k2 ..., entry by entry: rows are alike where every part finds them so.

    Parameters
    ----------
    kernels : sequence of callables
        One or more kernels.

    Examples
    --------
    >>> from evenhand.estimators import Linear, Product
    >>> Product([Linear(), Linear()])([[1.0], [3.0]])
    array([[ 1.,  9.],
           [ 9., 81.]])
    """

    kernels: Sequence[Kernel]

    def __call__(self, X, Y=None):
        return reduce(np.multiply, (kernel(X, Y) for kernel in self.kernels))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Scaled:
    """weight k, for a weight of zero or more.

    Parameters
    ----------
    kernel : callable
        A kernel.
    weight : float
        Zero or more.

    Examples
    --------
    >>> from evenhand.estimators import Linear, Scaled
    >>> Scaled(Linear(), 0.5)([[1.0], [3.0]])
    array([[0.5, 1.5],
           [1.5, 4.5]])
    """

    kernel: Kernel
    weight: float

    def __post_init__(self):
        check_not_negative("Scaled", [self.weight])

    def __call__(self, X, Y=None):
        return self.weight * self.kernel(X, Y)


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Exponential:
    """exp(k), the sum of all powers of k over their factorials.

    Parameters
    ----------
    kernel : callable
        A kernel.

    Examples
    --------
    >>> from evenhand.estimators import Constant, Exponential
    >>> Exponential(Constant(0.0))([[5.0], [7.0]])
    array([[1., 1.],
           [1., 1.]])
    """

    kernel: Kernel

    def __call__(self, X, Y=None):
        return np.exp(self.kernel(X, Y))


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Polynomial:
    """coefficients[0] + coefficients[1] k + coefficients[2] k^2 + ..., none of them negative.

    Parameters
    ----------
    kernel : callable
        A kernel.
    coefficients : sequence of float
        From that of the constant upwards.

    Examples
    --------
    >>> from evenhand.estimators import Linear, Polynomial
    >>> Polynomial(Linear(), [1.0, 2.0, 1.0])([[1.0], [3.0]])  # (1 + x y)^2
    array([[  4.,  16.],
           [ 16., 100.]])
    """

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
