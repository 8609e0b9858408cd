"""Relevance vector machines: kernels as basis functions, of which the evidence keeps a few."""

import warnings

import numpy as np
from scipy.special import expit, log_expit, logsumexp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.kernel_matrix._evidence import ClassTarget, NumericTarget, greatest_evidence
from evenhand.estimators.kernel_matrix._kernel_machine import KernelMachine, check_above_zero, class_goals, winners
from evenhand.estimators.machines._encoding import ColumnCoder

MATRICES = 3  # of n x max_basis numbers: the basis, its copy with weights, and what a kernel needs on the way


class _RelevanceVectorMachine(KernelMachine):
    """What the classifier and the regressor share: the basis, one evidence a goal, and what is kept of it."""

    def fit(self, X, y, sample_weight=None, unlabelled=None):
        """Fit to rows X with targets y; frequencies of "all" are counted over unlabelled rows too."""
        check_above_zero(self, "tol", "max_iter", "prune_above", "max_basis", "memory_mb")
        X, y, weight, extra = self._read(X, y, sample_weight, unlabelled)
        goals, weight = self._learn_goals(y, weight)
        self.kernel_ = self._learn_kernel(X, weight, extra)
        rows = self._basis_rows(X)
        basis, size = self._basis(X, rows, weight)
        found = [self._greatest(basis, goal, weight) for goal in goals.T]
        self._keep(rows, found, size)
        self.relevance_vectors_ = X[self.relevance_]
        return self

    def _basis_rows(self, X):
        """Places of different rows, of which so many are drawn where there are more than max_basis."""
        codes = [ColumnCoder(column).encode(column) if X.dtype == object else column for column in X.T]
        rows = np.sort(np.unique(np.column_stack(codes), axis=0, return_index=True)[1])
        self.approximation_ = ""
        if rows.size > self.max_basis:
            self.approximation_ = f"{self.max_basis:,} basis functions of {rows.size:,} different rows (max_basis)"
            rows = np.sort(check_random_state(self.random_state).choice(rows, size=self.max_basis, replace=False))
        advice = "Lower max_basis, or get fewer rows."
        self._check_memory(
            MATRICES * X.shape[0] * rows.size, f"{rows.size:,} basis functions of {X.shape[0]:,} rows", advice
        )
        return rows

    def _basis(self, X, rows, weight):
        """The intercept and the kernel with each basis row, of mean square 1, and what each was divided by."""
        basis = np.column_stack([np.ones(X.shape[0]), self.kernel_(X, X[rows])])
        size = np.sqrt(np.average(basis**2, axis=0, weights=weight))
        return basis / np.where(size > 0, size, 1.0), np.where(size > 0, size, 1.0)

    def _greatest(self, basis, goal, weight):
        found = greatest_evidence(
            self._likelihood(basis, goal, weight), basis.shape[1], self.tol, self.max_iter, self.prune_above
        )
        if not found.is_settled:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} steps with {found.kept.size} basis "
                "functions before the evidence rested. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def _keep(self, rows, found, size):
        """Weights of the intercept and of the rows that any goal needs."""
        full = np.zeros((len(found), size.size))
        for place, each in enumerate(found):
            full[place, each.kept] = each.weights / size[each.kept]
        used = np.flatnonzero(np.any(full[:, 1:] != 0, axis=0))
        self.intercept_, self.coef_ = full[:, 0], full[:, 1:][:, used]
        self.relevance_ = rows[used]
        self.n_relevance_ = np.count_nonzero(full[:, 1:], axis=1)
        self.n_iter_ = max(each.n_iter for each in found)

    def _scores(self, X):
        check_is_fitted(self)
        if not self.relevance_.size:
            return self._in_blocks(lambda rows: np.zeros((len(rows), len(self.intercept_))), X) + self.intercept_
        return (
            self._in_blocks(lambda rows: self.kernel_(rows, self.relevance_vectors_) @ self.coef_.T, X)
            + self.intercept_
        )


@named_at(ESTIMATORS)
class RelevanceVectorClassifier(ClassifierMixin, _RelevanceVectorMachine):
    """Relevance vector machine for classes.

    A logistic regression on the kernel with each training row, in which every weight has a Gaussian prior of its own;
    the precisions of the priors maximise the evidence in Laplace's approximation, and most of them grow without bound,
    so that few rows, the relevance vectors, are left. There is no C to tune, and scores are probabilities.

    Parameters
    ----------
    kernel : str, dict or callable, default="rbf"
        "rbf" or "linear" over all columns, a kernel put together of parts as in `TableKernelSVC`, or one of `Sum`,
        `Product` and their parts.
    gamma : "scale", "auto" or float, default="scale"
        Of every rbf without a gamma of its own, as in ``SVC``, over the columns of that rbf.
    categorical : sequence of int, default=()
        Columns compared as values, which `similarity` kernels read.
    frequencies : {"train", "all"}, default="train"
        Whether `similarity` kernels count values in training rows only, or in the `unlabelled` rows given to `fit` too.
    class_weight : dict or "balanced", default=None
        Multiplies the rows of each class.
    tol : float, default=1e-3
        The fit ends where no logarithm of a precision moves by more.
    max_iter : int, default=5000
        Steps of the precisions.
    prune_above : float, default=1e9
        Precision at which a basis function, brought to a mean square of 1, is left out.
    max_basis : int, default=200
        Most rows that basis functions stand on; of more different rows, so many are drawn. Time grows with its square
        for each row, and with its cube.
    memory_mb : float, default=4096
        Fits whose matrices would take more are refused.
    random_state : int, RandomState or None, default=None
        Choice of those rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : callable
    relevance_ : ndarray of shape (n_relevance,)
        Which of the training rows with a weight any class needs.
    relevance_vectors_ : ndarray of shape (n_relevance, n_features)
    n_relevance_ : ndarray of shape (1 or n_classes,)
        How many of them each class needs.
    coef_ : ndarray of shape (1 or n_classes, n_relevance)
    intercept_ : ndarray of shape (1 or n_classes,)
    approximation_ : str
        How many basis functions stand for all rows, in words; empty where every different row has one.
    n_iter_ : int

    Notes
    -----
    Several classes are fitted one against the rest, and their probabilities brought to a sum of 1. Rows that are alike
    share a basis function; a row's `sample_weight` is a number of repetitions.

    References
    ----------
    Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1, 2001.

    Examples
    --------
    >>> from evenhand.estimators import RelevanceVectorClassifier
    >>> X = [[0.0], [0.5], [1.0], [3.0], [3.5], [4.0]]
    >>> model = RelevanceVectorClassifier(gamma=0.5).fit(X, ["no", "no", "no", "yes", "yes", "yes"])
    >>> model.predict([[0.2], [3.8]]).tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        categorical=(),
        frequencies="train",
        class_weight=None,
        tol=1e-3,
        max_iter=5000,
        prune_above=1e9,
        max_basis=200,
        memory_mb=4096.0,
        random_state=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.categorical = categorical
        self.frequencies = frequencies
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.prune_above = prune_above
        self.max_basis = max_basis
        self.memory_mb = memory_mb
        self.random_state = random_state

    def _learn_goals(self, y, weight):
        return class_goals(self, y, weight)

    def _likelihood(self, basis, goal, weight):
        return ClassTarget(basis, goal, weight, min(1e-6, self.tol))

    def decision_function(self, X):
        """Log odds of rows X, of shape (n_rows,) for two classes and (n_rows, n_classes) for more."""
        found = self._scores(X)
        return found[:, 0] if self.classes_.size == 2 else found

    def predict_proba(self, X):
        """The probability of each class, by the mode of the posterior."""
        found = self.decision_function(X)
        if found.ndim == 1:
            return np.column_stack([expit(-found), expit(found)])
        logs = log_expit(found)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

    def predict(self, X):
        """The class of each row of X."""
        return winners(self, self.decision_function(X))


@named_at(ESTIMATORS)
class RelevanceVectorRegressor(RegressorMixin, _RelevanceVectorMachine):
    """Relevance vector machine for numbers, whose predictions have a standard deviation.

    Parameters
    ----------
    kernel, gamma, categorical, frequencies
        As in `RelevanceVectorClassifier`.
    tol, max_iter, prune_above, max_basis, memory_mb, random_state
        As in `RelevanceVectorClassifier`, but for max_basis, which is 500. The target is centred and brought to a
        variance of 1 inside; noise below a ten-thousandth of its spread is taken for that much.

    Attributes
    ----------
    kernel_, relevance_, relevance_vectors_, n_relevance_, coef_, intercept_, approximation_, n_iter_
        As in `RelevanceVectorClassifier`.
    noise_ : float
        Standard deviation of the noise.
    alpha_ : ndarray of shape (n_kept,)
        Precisions of the weights that were kept, for basis functions of mean square 1 and a target of variance 1.
    sigma_ : ndarray of shape (1 + n_relevance, 1 + n_relevance)
        Covariance of the intercept and the weights.

    References
    ----------
    Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1, 2001.

    Examples
    --------
    >>> from evenhand.estimators import RelevanceVectorRegressor
    >>> x = np.linspace(-3, 3, 40)[:, None]
    >>> model = RelevanceVectorRegressor(gamma=0.5).fit(x, np.sin(x[:, 0]))
    >>> model.predict([[-1.5], [1.5]]).round(2).tolist(), model.relevance_.size < 15
    ([-1.0, 1.0], True)
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        categorical=(),
        frequencies="train",
        tol=1e-3,
        max_iter=5000,
        prune_above=1e9,
        max_basis=500,
        memory_mb=4096.0,
        random_state=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.categorical = categorical
        self.frequencies = frequencies
        self.tol = tol
        self.max_iter = max_iter
        self.prune_above = prune_above
        self.max_basis = max_basis
        self.memory_mb = memory_mb
        self.random_state = random_state

    def _learn_goals(self, y, weight):
        y = y.astype(np.float64)
        self._centre = np.average(y, weights=weight)
        spread = np.sqrt(np.average((y - self._centre) ** 2, weights=weight))
        self._spread = spread if spread > 1e-12 * abs(self._centre) else 1.0
        return ((y - self._centre) / self._spread)[:, None], weight

    def _likelihood(self, basis, goal, weight):
        return NumericTarget(basis, goal, weight)

    def _keep(self, rows, found, size):
        super()._keep(rows, found, size)
        (one,) = found
        self.intercept_ = self.intercept_ * self._spread + self._centre
        self.coef_ = self.coef_ * self._spread
        self.alpha_, self.noise_ = one.alpha, float(self._spread / np.sqrt(one.beta))
        covariance = np.zeros((size.size, size.size))
        covariance[np.ix_(one.kept, one.kept)] = one.covariance / np.outer(size[one.kept], size[one.kept])
        places = np.r_[0, 1 + np.searchsorted(rows, self.relevance_)]
        self.sigma_ = covariance[np.ix_(places, places)] * self._spread**2

    def predict(self, X, return_std=False):
        """The predicted target of each row of X, with its standard deviation where that is asked for."""
        found = self._scores(X)[:, 0]
        return (found, self._deviation(X)) if return_std else found

    def _deviation(self, X):
        """Of noise and weights together."""

        def of(rows):
            ones = np.ones((len(rows), 1))
            basis = np.hstack([ones, self.kernel_(rows, self.relevance_vectors_)]) if self.relevance_.size else ones
            return np.sqrt(self.noise_**2 + np.einsum("ij,jk,ik->i", basis, self.sigma_, basis))

        return self._in_blocks(of, X)
