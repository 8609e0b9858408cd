"""Support-vector machines on similarities of categorical rows, fitted without a kernel matrix."""

import warnings
from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._raw_tables import RawTableMixin
from evenhand.estimators.machines._dual import Geometry, Problem, is_closed, one_against_rest, scores, solve
from evenhand.estimators.machines._encoding import ColumnCoder
from evenhand.estimators.machines._space import TableSpace
from evenhand.estimators.machines.similarity import check_column_weights, check_frequencies, check_measure

VALUES = {"dtype": None, "ensure_all_finite": "allow-nan"}


class PreparedCodes(NamedTuple):
    """Training rows with a weight, coded and laid out: all that does not depend on C."""

    geometry: Geometry
    goal: np.ndarray  # class number or target of each row
    cost: np.ndarray  # what multiplies C in each row
    used: np.ndarray  # which of the rows given these are


class _SimilarityMachine(RawTableMixin, BaseEstimator):
    """What the classifier and the regressor share: coding, tables, solving and scoring."""

    def fit(self, X, y, sample_weight=None, unlabelled=None):
        """Fit to rows X with targets y."""
        self._check_parameters(unlabelled)
        return self._settle(self._prepare(X, y, sample_weight, unlabelled))

    def path(self, X, y, Cs, sample_weight=None, unlabelled=None):
        """One fitted copy for each of Cs, each started from the one before; rows are coded once."""
        first = clone(self)
        first._check_parameters(unlabelled)
        prepared = first._prepare(X, y, sample_weight, unlabelled)
        fitted, starts = [], None
        for C in Cs:
            machine = copy(first).set_params(C=C)
            machine._check_parameters(unlabelled)
            fitted.append(machine._settle(prepared, starts))
            starts = machine.dual_coef_[:, prepared.used] / C
        return fitted

    def _prepare(self, X, y, sample_weight, unlabelled):
        X, y = validate_data(self, X, y, y_numeric=is_regressor(self), **VALUES)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weight > 0
        if not used.all():
            X, y, weight = X[used], y[used], weight[used]
        goal, cost = self._learn_goal(y, weight)
        codes = self._code(X, weight, unlabelled)
        return PreparedCodes(self._space.geometry(codes), goal, cost, used)

    def _settle(self, prepared, starts=None):
        """Solve every problem, and store what scoring needs; rows without weight get a coefficient of zero."""
        problems = self._problems(prepared)
        starts = [None] * len(problems) if starts is None else starts * self.C
        solutions = [self._solve(prepared.geometry, *pair) for pair in zip(problems, starts, strict=True)]
        self._weights = [found.weights for found in solutions]
        self.dual_coef_ = np.zeros((len(solutions), prepared.used.size))
        self.dual_coef_[:, prepared.used] = [found.coef for found in solutions]
        self.intercept_ = np.array([found.intercept for found in solutions])
        self.dual_objective_ = np.array([found.objective for found in solutions])
        self.duality_gap_ = np.array([found.gap for found in solutions])
        self.n_iter_ = max(found.n_iter for found in solutions)
        return self

    def _check_parameters(self, unlabelled):
        check_measure(self.measure)
        name = type(self).__name__
        if self.C <= 0:
            raise ValueError(f"C={self.C} was asked of {name}, but C must be above 0. Give the cost of one error.")
        check_frequencies(self, unlabelled)

    def _code(self, X, weight, unlabelled):
        """Learn values, counts and tables; return the codes of X's columns."""
        extra = X[:0] if unlabelled is None else validate_data(self, unlabelled, reset=False, **VALUES)
        weight = np.concatenate([weight, np.ones(extra.shape[0])])
        self._coders, counts, codes = [], [], []
        for k in range(X.shape[1]):
            column = np.concatenate([X[:, k], extra[:, k]])
            coder = self._coder(column, k)
            every = coder.encode(column)
            counts.append(np.bincount(every, weights=weight, minlength=coder.n_values))
            codes.append(every[: X.shape[0]].astype(np.min_scalar_type(coder.n_values)))
            self._coders.append(coder)
        column_weights = check_column_weights(self.column_weights, X.shape[1])
        self._space = TableSpace(self.measure, counts, max(weight.sum(), 1.0), column_weights).learn_blend(codes)
        return codes

    def _coder(self, column, k):
        try:
            return ColumnCoder(column)
        except TypeError as error:
            raise TypeError(
                f"{type(self).__name__} needs hashable values, but column {k} holds others ({error}). "
                "Turn them into strings, numbers or tuples."
            ) from error

    def _solve(self, geometry, problem, start=None):
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        found = solve(geometry, problem, tol=self.tol, max_iter=self.max_iter, rng=rng, start=start)
        if not is_closed(found, problem, self.tol):
            is_bounded = found.n_iter < self.max_iter
            remedy = "These are nearly the same for all rows, as where nothing is learned" if is_bounded else ""
            warnings.warn(
                f"{type(self).__name__} was asked for a duality gap of tol={self.tol} but stopped after {found.n_iter} "
                f"passes at {found.gap / abs(found.objective + found.gap):.2g}, where scores still moved by "
                f"{found.moved:.2g} of their spread. {remedy or 'Raise max_iter or tol, or lower C'}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found

    def _scores(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **VALUES)
        codes = [c.encode(X[:, k]).astype(np.min_scalar_type(c.n_values)) for k, c in enumerate(self._coders)]
        geometry = self._space.geometry(codes)
        return np.column_stack([scores(geometry, weights) for weights in self._weights]) + self.intercept_


@named_at(ESTIMATORS)
class SimilaritySVC(ClassifierMixin, _SimilarityMachine):
    """Support-vector classifier on the similarity of rows of categorical values.

    It solves the problem of ``SVC(kernel="precomputed")`` on `similarity_matrix` (with ``clip=True``), to a certified
    duality gap, but holds one small table of weights per column instead of the matrix, so time and memory grow in
    proportion to the rows. Lin's pair-dependent weight 1 / (a + b) is factored to a relative 1e-6.

    Parameters
    ----------
    measure : str, default="lin"
        As in `similarity_matrix`.
    C : float, default=1.0
        Cost of one error.
    class_weight : dict or "balanced", default=None
        Multiplies C per class.
    frequencies : {"train", "all"}, default="train"
        Whether values are counted over the training rows, or also over the rows given to `fit` as `unlabelled`.
        The labels of the latter are never known; that they must be at hand is the price of "all".
    column_weights : array-like of shape (n_columns,), default=None
        A weight of 2 equals the column twice.
    tol : float, default=1e-3
        Duality gap, as a share of the objective, at which to stop, once the scores of the rows rest too: between two
        looks they may move by ``sqrt(2.5 * tol)`` of their spread.
    max_iter : int, default=5000
        Passes over the rows. Fewer are made where the gap has long been closed and scores do not rest: 300 (of more
        than a million rows 300 in proportion to a million) and 20 for each pass that the gap took.
    random_state : int, RandomState or None, default=None
        Order of the passes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (1 or n_classes, n_rows)
        Signed coefficient of every training row.
    intercept_, dual_objective_, duality_gap_ : ndarray of shape (1 or n_classes,)
    n_iter_ : int
        Passes made.

    Notes
    -----
    Several classes are fitted one against the rest. A row's `sample_weight` multiplies its cost and counts in the
    frequencies, as if it were repeated. A value first seen at scoring counts as seen once, and matches nothing.
    Probabilities come from ``CalibratedClassifierCV``.

    References
    ----------
    Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML 2008.

    Examples
    --------
    >>> from evenhand.estimators import SimilaritySVC
    >>> X = [["red", "low"], ["red", "high"], ["blue", "low"], ["blue", "high"]]
    >>> SimilaritySVC("overlap").fit(X, ["no", "no", "yes", "yes"]).predict([["blue", "medium"]]).tolist()
    ['yes']
    """

    def __init__(
        self,
        measure="lin",
        *,
        C=1.0,
        class_weight=None,
        frequencies="train",
        column_weights=None,
        tol=1e-3,
        max_iter=5000,
        random_state=None,
    ):
        self.measure = measure
        self.C = C
        self.class_weight = class_weight
        self.frequencies = frequencies
        self.column_weights = column_weights
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn_goal(self, y, weight):
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of two classes or more, but found one class only, "
                f"{self.classes_.tolist()[0]!r}. Add rows of another class."
            )
        extra = {"sample_weight": weight} if self.class_weight == "balanced" else {}
        return labels, weight * compute_class_weight(self.class_weight, classes=self.classes_, y=y, **extra)[labels]

    def _problems(self, prepared):
        goals = [1] if self.classes_.size == 2 else range(self.classes_.size)
        return [one_against_rest(prepared.goal == goal, self.C * prepared.cost) for goal in goals]

    def decision_function(self, X):
        """Signed distance of rows X, of shape (n_rows,) for two classes and (n_rows, n_classes) for more."""
        found = self._scores(X)
        return found[:, 0] if self.classes_.size == 2 else found

    def predict(self, X):
        """The class of each row of X."""
        found = self.decision_function(X)
        winner = (found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)
        return self.classes_[winner]


@named_at(ESTIMATORS)
class SimilaritySVR(RegressorMixin, _SimilarityMachine):
    """Support-vector regressor on the similarity of rows of categorical values.

    It solves the problem of ``SVR(kernel="precomputed")`` on `similarity_matrix`, as `SimilaritySVC` does for classes.

    Parameters
    ----------
    measure : str, default="lin"
        As in `similarity_matrix`.
    C : float, default=1.0
        Cost of one unit of error beyond epsilon.
    epsilon : float, default=0.1
        Error that costs nothing.
    frequencies, column_weights, tol, max_iter, random_state
        As in `SimilaritySVC`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (1, n_rows)
        Signed coefficient of every training row.
    intercept_, dual_objective_, duality_gap_ : ndarray of shape (1,)
    n_iter_ : int
        Passes made.

    References
    ----------
    Ho and Lin, Large-scale linear support vector regression, JMLR 2012.

    Examples
    --------
    >>> from evenhand.estimators import SimilaritySVR
    >>> X = [["red", "low"], ["red", "high"], ["blue", "low"], ["blue", "high"]]
    >>> model = SimilaritySVR("overlap", C=10.0, epsilon=0.0, tol=1e-8).fit(X, [1.0, 2.0, 3.0, 4.0])
    >>> model.predict(X).round(2).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    def __init__(
        self,
        measure="lin",
        *,
        C=1.0,
        epsilon=0.1,
        frequencies="train",
        column_weights=None,
        tol=1e-3,
        max_iter=5000,
        random_state=None,
    ):
        self.measure = measure
        self.C = C
        self.epsilon = epsilon
        self.frequencies = frequencies
        self.column_weights = column_weights
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn_goal(self, y, weight):
        return y.astype(np.float64), weight

    def _problems(self, prepared):
        cost = self.C * prepared.cost
        return [Problem(prepared.goal, -cost, cost, float(self.epsilon))]

    def predict(self, X):
        """The predicted target of each row of X."""
        return self._scores(X)[:, 0]
