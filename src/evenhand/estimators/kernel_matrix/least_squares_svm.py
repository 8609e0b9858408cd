"""Least-squares support-vector machines: squared errors and equalities, so that a fit is one linear system."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.kernel_matrix._kernel_machine import KernelMachine, check_above_zero, class_goals, winners
from evenhand.estimators.machines._nystroem import Nystroem

MATRICES = 3  # of n x n numbers that an exact fit holds at once: the kernel's, and two while it is made


class _LeastSquaresMachine(KernelMachine):
    """What the classifier and the regressor share: the system, and features of a few rows where it is too large."""

    def fit(self, X, y, sample_weight=None, unlabelled=None):
        """Fit to rows X with targets y; frequencies of "all" are counted over unlabelled rows too."""
        check_above_zero(self, "C", "exact_below", "n_components", "memory_mb")
        X, y, weight, extra = self._read(X, y, sample_weight, unlabelled)
        goals, weight = self._learn_goals(y, weight)
        n_rows = X.shape[0]
        self.is_exact_ = n_rows <= self.exact_below
        self._check_cost(n_rows)
        self.kernel_ = self._learn_kernel(X, weight, extra)
        self.approximation_ = ""
        if self.is_exact_:
            self._solve(X, goals, self.C * weight)
        else:
            self._solve_on_features(X, goals, self.C * weight)
        return self

    def _check_cost(self, n_rows):
        if self.is_exact_:
            advice = "Lower exact_below, so that n_components rows stand for all, or get fewer rows."
            self._check_memory(MATRICES * n_rows**2, f"the kernel matrix of {n_rows:,} rows", advice)
        else:
            words = f"{self.n_components:,} features of {n_rows:,} rows"
            self._check_memory(2 * n_rows * self.n_components, words, "Lower n_components, or get fewer rows.")

    def _solve(self, X, goals, cost):
        """The system [[0, 1'], [1, K + 1/cost]] [b, alpha] = [0, y], by one Cholesky factor."""
        gram = self.kernel_(X)
        gram[np.diag_indices_from(gram)] += 1 / cost
        try:
            factor = cho_factor(gram.T, lower=True, overwrite_a=True)
        except LinAlgError as error:
            raise ValueError(
                f"{type(self).__name__} cannot solve its system with C={self.C}: the kernel's values are too large for "
                f"1/C beside them to count ({error}). Scale the columns, or lower C."
            ) from error
        found = cho_solve(factor, np.column_stack([np.ones(len(goals)), goals]))
        ones, alpha = found[:, :1], found[:, 1:]
        self.intercept_ = alpha.sum(axis=0) / ones.sum()
        self.dual_coef_ = (alpha - ones * self.intercept_).T
        self._rows = X

    def _solve_on_features(self, X, goals, cost):
        """The same problem on features of a few rows, where its primal is a small ridge regression."""
        n_landmarks = min(self.n_components, X.shape[0])
        some = check_random_state(self.random_state).choice(X.shape[0], size=n_landmarks, replace=False)
        self._features = Nystroem(self.kernel_, X[some])
        features = self._features(X)
        centre, middle = (np.average(each, axis=0, weights=cost) for each in (features, goals))
        features -= centre
        system = (features * cost[:, None]).T @ features
        system[np.diag_indices_from(system)] += 1.0
        self._coef = cho_solve(cho_factor(system), features.T @ (cost[:, None] * (goals - middle)))
        self.intercept_ = middle - centre @ self._coef
        self.approximation_ = f"features of {n_landmarks:,} rows for {X.shape[0]:,} (exact_below {self.exact_below:,})"

    def _scores(self, X):
        check_is_fitted(self)
        if self.is_exact_:
            return self._in_blocks(lambda rows: self.kernel_(rows, self._rows) @ self.dual_coef_.T, X) + self.intercept_
        return self._in_blocks(lambda rows: self._features(rows) @ self._coef, X) + self.intercept_


@named_at(ESTIMATORS)
class LeastSquaresSVC(ClassifierMixin, _LeastSquaresMachine):
    """Least-squares support-vector classifier.

    It minimises |w|^2 / 2 + C / 2 sum_i e_i^2 with w' phi(x_i) + b = y_i - e_i for y_i of -1 and 1. With a_i = C e_i
    and the kernel K that is the linear system ::

        [0   1'         ] [b]   [0]
        [1   K + I / C  ] [a] = [y]

    so every row has a coefficient: it is quick to fit and retune, but not sparse.

    Parameters
    ----------
    kernel : str, dict or callable, default="rbf"
        "rbf" or "linear" over all columns, a kernel put together of parts as in `TableKernelSVC`, or one of `Sum`,
        `Product` and their parts.
    C : float, default=1.0
        Cost of a squared error; Suykens and Vandewalle call it gamma.
    gamma : "scale", "auto" or float, default="scale"
        Of every rbf without a gamma of its own, as in ``SVC``, over the columns of that rbf.
    categorical : sequence of int, default=()
        Columns compared as values, which `similarity` kernels read.
    frequencies : {"train", "all"}, default="train"
        Whether `similarity` kernels count values in training rows only, or in the `unlabelled` rows given to `fit` too.
    class_weight : dict or "balanced", default=None
        Multiplies C per class.
    exact_below : int, default=5000
        Most rows that are fitted exactly, which takes time in n^3 and 24 n^2 bytes. More rows are fitted on the
        Nystroem features of `n_components` of them, as fixed-size LS-SVM does.
    n_components : int, default=500
        Rows that those features are made of.
    memory_mb : float, default=4096
        Fits whose matrices would take more are refused.
    random_state : int, RandomState or None, default=None
        Choice of those rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : callable
    is_exact_ : bool
    approximation_ : str
        What stands for the exact fit, in words; empty where it is exact.
    dual_coef_ : ndarray of shape (1 or n_classes, n_rows)
        The a_i, where the fit is exact.
    intercept_ : ndarray of shape (1 or n_classes,)

    Notes
    -----
    Several classes are fitted one against the rest, all with one factor of the system. A row's `sample_weight`
    multiplies C, as in weighted LS-SVM.

    References
    ----------
    Suykens and Vandewalle, Least squares support vector machine classifiers, Neural Processing Letters 9, 1999.
    Suykens et al., Least squares support vector machines, 2002 (weighted and fixed-size ones).

    Examples
    --------
    >>> from evenhand.estimators import LeastSquaresSVC
    >>> model = LeastSquaresSVC(kernel="linear", C=1e6).fit([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> model.decision_function([[2.0], [4.0]]).round(2).tolist()  # the line through -1.2, -0.6, 0.6 and 1.2
    [0.0, 1.2]
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        C=1.0,
        gamma="scale",
        categorical=(),
        frequencies="train",
        class_weight=None,
        exact_below=5000,
        n_components=500,
        memory_mb=4096.0,
        random_state=None,
    ):
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.categorical = categorical
        self.frequencies = frequencies
        self.class_weight = class_weight
        self.exact_below = exact_below
        self.n_components = n_components
        self.memory_mb = memory_mb
        self.random_state = random_state

    def _learn_goals(self, y, weight):
        member, weight = class_goals(self, y, weight)
        return np.where(member, 1.0, -1.0), weight

    def decision_function(self, X):
        """Signed distance of rows X, of shape (n_rows,) for two classes and (n_rows, n_classes) for more."""
        found = self._scores(X)
        return found[:, 0] if self.classes_.size == 2 else found

    def predict(self, X):
        """The class of each row of X."""
        return winners(self, self.decision_function(X))


@named_at(ESTIMATORS)
class LeastSquaresSVR(RegressorMixin, _LeastSquaresMachine):
    """Least-squares support-vector regressor: kernel ridge regression with an intercept that costs nothing.

    Parameters
    ----------
    kernel, C, gamma, categorical, frequencies
        As in `LeastSquaresSVC`; y_i are the targets.
    exact_below, n_components, memory_mb, random_state
        As in `LeastSquaresSVC`.

    Attributes
    ----------
    kernel_, is_exact_, approximation_
        As in `LeastSquaresSVC`.
    dual_coef_ : ndarray of shape (1, n_rows)
    intercept_ : ndarray of shape (1,)

    References
    ----------
    Suykens et al., Least squares support vector machines, 2002.

    Examples
    --------
    >>> from evenhand.estimators import LeastSquaresSVR
    >>> model = LeastSquaresSVR(kernel="linear", C=1e6).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[10.0]]).round(3).tolist()
    [21.0]
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        C=1.0,
        gamma="scale",
        categorical=(),
        frequencies="train",
        exact_below=5000,
        n_components=500,
        memory_mb=4096.0,
        random_state=None,
    ):
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.categorical = categorical
        self.frequencies = frequencies
        self.exact_below = exact_below
        self.n_components = n_components
        self.memory_mb = memory_mb
        self.random_state = random_state

    def _learn_goals(self, y, weight):
        return y.astype(np.float64)[:, None], weight

    def predict(self, X):
        """The predicted target of each row of X."""
        return self._scores(X)[:, 0]
