"""Support-vector machines on tables of categories and numbers."""

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.svm import SVC, SVR
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._raw_tables import RawTableMixin
from evenhand.estimators.machines._dual import Problem, one_against_rest
from evenhand.estimators.machines._nystroem import ROWS_AT_ONCE, LinearMachine, Nystroem
from evenhand.estimators.machines._scales import Sample, given_scales, learned, starting_scales
from evenhand.estimators.machines._weights import learn_weights
from evenhand.estimators.machines.composition import (
    check_counts,
    checked_kernel,
    checked_numbers,
    counted_rows,
    learned_kernel,
    rows_for,
)
from evenhand.estimators.machines.kernels import OnColumns, Rbf, Scaled, Similarity, mixed
from evenhand.estimators.machines.similarity import FREQUENCIES, check_frequencies, check_measure

COMBINATIONS = ("sum", "product")


class _TableKernelMachine(RawTableMixin, BaseEstimator):
    """What the classifier and the regressor share: the kernel, how it is learned, and how rows are shown to LIBSVM."""

    composes_kernels = True
    _parameter_constraints = FREQUENCIES  # other parameters are checked in fit

    def fit(self, X, y, sample_weight=None, unlabelled=None):
        """Fit to rows X with targets y; frequencies of "all" are counted over unlabelled rows too."""
        self._check_parameters()
        check_frequencies(self, unlabelled)
        X, y = validate_data(self, X, y, **self._reading())
        extra = None if unlabelled is None else validate_data(self, unlabelled, reset=False, **self._reading())
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        goals = self._learn_goals(y)
        rng = check_random_state(self.random_state)
        self.kernel_ = self._learn_kernel(X, goals, weight, rng, extra)
        self._settle(X, y, weight, rng)
        return self

    def _check_parameters(self):
        check_measure(self.measure)
        name = type(self).__name__
        if self.combination not in COMBINATIONS:
            raise ValueError(f"combination={self.combination!r} was asked of {name}. Choose 'sum' or 'product'.")
        if not 0 <= self.categorical_weight <= 1:
            raise ValueError(
                f"categorical_weight={self.categorical_weight} was asked of {name}. "
                "Give the share of the similarity kernel, from 0 to 1."
            )
        if self.C <= 0:
            raise ValueError(f"C={self.C} was asked of {name}, but C must be above 0. Give the cost of one error.")

    def _reading(self):
        if len(self.categorical) == 0:
            return {"dtype": np.float64}
        return {"dtype": None, "ensure_all_finite": "allow-nan"}

    def _learn_kernel(self, X, goals, weight, rng, extra):
        if self.kernel is not None:
            return self._compose_kernel(X, goals, weight, rng, extra)
        categorical = check_categorical(self.categorical, X.shape[1])
        numeric = np.setdiff1d(np.arange(X.shape[1]), categorical)
        numbers = checked_numbers(X, numeric)
        if self.frequencies == "all" and not categorical.size:
            raise ValueError(
                "frequencies='all' was asked, but no columns are compared as values. Name some in categorical, or "
                "leave frequencies out."
            )
        counted = counted_rows(X, extra)[:, categorical]
        similarity = Similarity.counted(self.measure, counted) if categorical.size else None
        spread = starting_scales(numbers, weight)
        self.categorical_weight_, self.amplitude_ = float(self.categorical_weight), 1.0
        if not isinstance(self.scales, str) or self.scales not in ("spread", "learned"):
            self.scales_ = given_scales(self.scales, numeric.size)
        elif self.scales == "learned" and numeric.size:
            self.scales_ = self._learn_scales(X[:, categorical], numbers, goals, spread, similarity, weight, rng)
        else:
            self.scales_ = spread
        joined = mixed(
            OnColumns(similarity, categorical) if categorical.size else None,
            OnColumns(Rbf(self.scales_), numeric) if numeric.size else None,
            self.categorical_weight_,
            self.combination,
        )
        return Scaled(joined, self.amplitude_)

    def _compose_kernel(self, X, goals, weight, rng, extra):
        """The kernel that was given, with scales and counts of these rows, and learned weights where asked for."""
        if not isinstance(self.scales, str) or self.scales not in ("spread", "learned"):
            raise ValueError(
                f"scales={self.scales!r} was asked beside a kernel. "
                "Give each rbf a gamma, or scales 'spread' or 'learned'."
            )
        node = checked_kernel(self.kernel)
        check_counts(node, self.frequencies)
        codes = check_categorical(self.categorical, X.shape[1])
        kernel = learned_kernel(node, rows_for(self.kernel, X, weight, codes, unlabelled=extra))
        self.scales_, self.categorical_weight_, self.amplitude_ = None, None, 1.0
        if self.scales == "learned":
            some, centred = self._learning_rows(goals, weight, rng)
            kernel, self.amplitude_ = learn_weights(node, kernel, X[some], centred)
        return Scaled(kernel, self.amplitude_)

    def _learning_rows(self, goals, weight, rng):
        """A sample of rows to learn scales from, and their goals, centred and of unit variance."""
        n_rows = min(self.n_learning, np.count_nonzero(weight))
        some = rng.choice(weight.size, size=n_rows, replace=False, p=weight / weight.sum())
        centred = goals[some] - goals[some].mean(axis=0)
        centred /= max(np.sqrt(np.mean(centred**2)), 1e-300)
        return some, centred

    def _learn_scales(self, values, numbers, goals, spread, similarity, weight, rng):
        """Scales from a sample of rows; the share of the categories is learned with them."""
        some, centred = self._learning_rows(goals, weight, rng)
        alike = None if similarity is None else similarity(values[some])
        found = learned(Sample(numbers[some] * spread, alike, centred, self.combination == "product"))
        self.amplitude_ = found.amplitude
        if similarity is not None:
            self.categorical_weight_ = found.share
        return spread * found.scales

    def _settle(self, X, y, weight, rng):
        """Fit LIBSVM on the exact kernel, or linear machines on features whose products come near it."""
        self.is_exact_ = X.shape[0] <= self.exact_below
        if self.is_exact_:
            return self._settle_exactly(X, y, weight)
        some = rng.choice(X.shape[0], size=min(self.n_components, X.shape[0]), replace=False)
        self._view = Nystroem(self.kernel_, X[some])
        order = np.random.default_rng(rng.randint(2**31))
        self._machine = LinearMachine(self._view(X), self._problems(y, self.C * weight), self.tol, order)
        return self

    def _settle_exactly(self, X, y, weight):
        """LIBSVM needs no matrix where all columns are numbers, and takes the amplitude as a part of C."""
        if len(self.categorical) == 0 and self.kernel is None:
            self._view = partial(np.multiply, self.scales_)
            changed = {"C": self.C * self.amplitude_}
            self._machine = self._exact_machine().set_params(**changed).fit(self._view(X), y, sample_weight=weight)
            return self
        machine = self._exact_machine().set_params(kernel="precomputed")
        self._machine = machine.fit(self.kernel_(X), y, sample_weight=weight)
        self._view = SupportColumns(self.kernel_, X[machine.support_], machine.support_, X.shape[0])
        return self

    def _ask(self, question, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._reading())
        if self.kernel is None:
            checked_numbers(X, np.setdiff1d(np.arange(X.shape[1]), self.categorical))
        blocks = [self._view(X[rows]) for rows in gen_batches(X.shape[0], ROWS_AT_ONCE)]
        return np.concatenate([getattr(self._machine, question)(block) for block in blocks])

    def _takes_raw_columns(self):
        return len(self.categorical) > 0


def check_categorical(categorical, n_columns):
    columns = np.unique(np.asarray(categorical, dtype=np.int64)) if len(categorical) else np.zeros(0, dtype=np.int64)
    if columns.size and not 0 <= columns[0] <= columns[-1] < n_columns:
        raise ValueError(
            f"categorical={columns.tolist()} was asked, but X has the columns 0 to {n_columns - 1}. Name some of those."
        )
    return columns


@named_at(ESTIMATORS)
class SupportColumns:
    """A Gram matrix as LIBSVM reads it when scoring: only the columns of support vectors are filled."""

    def __init__(self, kernel, rows, columns, n_columns):
        self.kernel, self.rows, self.columns, self.n_columns = kernel, rows, columns, n_columns

    def __call__(self, X):
        gram = np.zeros((X.shape[0], self.n_columns))
        gram[:, self.columns] = self.kernel(X, self.rows)
        return gram


@named_at(ESTIMATORS)
class TableKernelSVC(ClassifierMixin, _TableKernelMachine):
    """Support-vector classifier whose kernel joins a similarity of categories and an rbf with a scale for each number.

    With s the similarity over the categorical columns, r = exp(-sum_j (scale_j (x_j - y_j))^2) over the others and w
    the weight of the categories, the kernel is w s + (1 - w) r, or (w s + 1 - w) r as a product. A table of one kind of
    column only has that kernel alone.

    Parameters
    ----------
    categorical : sequence of int, default=()
        Columns compared as values; the others must be numbers without missing ones.
    kernel : callable, str or dict, default=None
        A kernel in place of that above: one of `Sum`, `Product` and their parts, or words and lists as in a study file,
        with columns by position, such as ``{"sum": [{"rbf": [0, 2]}, {"similarity": {"lin": [1]}}, "linear"]}``.
        `measure`, `combination` and `categorical_weight` are not used then. Scales "learned" are those of each rbf
        without a gamma, beside weights for the parts of every sum, which add up to 1.
    measure : str, default="overlap"
        As in `similarity_matrix`.
    frequencies : {"train", "all"}, default="train"
        Whether values are counted in training rows only, or in the `unlabelled` rows given to `fit` as well.
    combination : {"sum", "product"}, default="sum"
        How the two kernels are joined.
    categorical_weight : float, default=0.5
        The weight w, from 0 to 1; learned with the scales where these are learned.
    scales : "spread", "learned", float or array-like of shape (n_numeric,), default="spread"
        Factors of the numeric columns, or how they are found. "spread" is one over the standard deviation and the root
        of the number of numeric columns. "learned" starts there and follows the gradient of the leave-one-out error of
        kernel ridge regression on a sample of the training rows; it also finds a factor for the whole kernel, so that
        C = 1 weighs errors about as much as that regression does on goals of unit variance.
    C : float, default=1.0
        Cost of one error.
    class_weight : dict or "balanced", default=None
        Multiplies C per class.
    n_learning : int, default=2000
        Rows of that sample; its time grows with the cube.
    exact_below : int, default=20_000
        Most rows fitted with the exact kernel, which takes 8 n^2 bytes if there are categories. More rows are fitted on
        Nystroem features, one class against the rest.
    n_components : int, default=500
        Rows that the Nystroem features are made of.
    tol : float, default=1e-3
        When LIBSVM stops, or the duality gap at which the machine on features does.
    random_state : int, RandomState or None, default=None
        Choice of rows for learning and for the features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    scales_ : ndarray of shape (n_numeric,)
    categorical_weight_, amplitude_ : float
        Weight of the categories, factor of the whole kernel.
    kernel_ : callable
        The kernel, as made of the parts in `kernels`.
    is_exact_ : bool
        Whether the exact kernel was used.

    References
    ----------
    Sundararajan and Keerthi, Predictive approaches for choosing hyperparameters in Gaussian processes, 2001.
    Williams and Seeger, Using the Nystroem method to speed up kernel machines, NIPS 2000.

    Examples
    --------
    >>> from evenhand.estimators import TableKernelSVC
    >>> X = [["red", 0.1], ["red", 0.9], ["blue", 0.2], ["blue", 0.8]]
    >>> model = TableKernelSVC(categorical=[0], C=10.0).fit(X, ["no", "yes", "no", "yes"])
    >>> model.predict([["red", 1.0], ["green", 0.0]]).tolist()
    ['yes', 'no']
    """

    def __init__(
        self,
        categorical=(),
        *,
        kernel=None,
        measure="overlap",
        frequencies="train",
        combination="sum",
        categorical_weight=0.5,
        scales="spread",
        C=1.0,
        class_weight=None,
        n_learning=2000,
        exact_below=20_000,
        n_components=500,
        tol=1e-3,
        random_state=None,
    ):
        self.categorical = categorical
        self.kernel = kernel
        self.measure = measure
        self.frequencies = frequencies
        self.combination = combination
        self.categorical_weight = categorical_weight
        self.scales = scales
        self.C = C
        self.class_weight = class_weight
        self.n_learning = n_learning
        self.exact_below = exact_below
        self.n_components = n_components
        self.tol = tol
        self.random_state = random_state

    def _learn_goals(self, y):
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of two classes or more, but found one class only, "
                f"{self.classes_.tolist()[0]!r}. Add rows of another class."
            )
        return np.eye(self.classes_.size)[labels]

    def _exact_machine(self):
        return SVC(
            C=self.C,
            gamma=1.0,
            class_weight=self.class_weight,
            break_ties=True,
            tol=self.tol,
            cache_size=500,
        )

    def _problems(self, y, cost):
        each = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        cost = cost * each[np.searchsorted(self.classes_, y)]
        goals = self.classes_ if self.classes_.size > 2 else self.classes_[1:]
        return [one_against_rest(y == goal, cost) for goal in goals]

    def decision_function(self, X):
        """Signed distance of rows X, of shape (n_rows,) for two classes and (n_rows, n_classes) for more."""
        found = self._ask("decision_function", X)
        return found[:, 0] if found.shape[1:] == (1,) else found

    def predict(self, X):
        """The class of each row of X."""
        check_is_fitted(self)
        if self.is_exact_:
            return self._ask("predict", X)
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]


@named_at(ESTIMATORS)
class TableKernelSVR(RegressorMixin, _TableKernelMachine):
    """Support-vector regressor with the kernel of `TableKernelSVC`.

    Parameters
    ----------
    categorical, kernel, measure, frequencies, combination, categorical_weight, scales
        As in `TableKernelSVC`.
    C : float, default=1.0
        Cost of one unit of error beyond epsilon.
    epsilon : float, default=0.1
        Error that costs nothing.
    n_learning, exact_below, n_components, tol, random_state
        As in `TableKernelSVC`.

    Attributes
    ----------
    scales_ : ndarray of shape (n_numeric,)
    categorical_weight_, amplitude_ : float
    kernel_ : callable
    is_exact_ : bool

    References
    ----------
    Sundararajan and Keerthi, Predictive approaches for choosing hyperparameters in Gaussian processes, 2001.

    Examples
    --------
    >>> from evenhand.estimators import TableKernelSVR
    >>> X = [["red", 0.0], ["red", 1.0], ["blue", 0.0], ["blue", 1.0]]
    >>> model = TableKernelSVR(categorical=[0], C=100.0, epsilon=0.0).fit(X, [0.0, 1.0, 2.0, 3.0])
    >>> (model.predict([["red", 0.5], ["blue", 0.5]]) + 1e-9).round(1).tolist()
    [0.5, 2.5]
    """

    def __init__(
        self,
        categorical=(),
        *,
        kernel=None,
        measure="overlap",
        frequencies="train",
        combination="sum",
        categorical_weight=0.5,
        scales="spread",
        C=1.0,
        epsilon=0.1,
        n_learning=2000,
        exact_below=20_000,
        n_components=500,
        tol=1e-3,
        random_state=None,
    ):
        self.categorical = categorical
        self.kernel = kernel
        self.measure = measure
        self.frequencies = frequencies
        self.combination = combination
        self.categorical_weight = categorical_weight
        self.scales = scales
        self.C = C
        self.epsilon = epsilon
        self.n_learning = n_learning
        self.exact_below = exact_below
        self.n_components = n_components
        self.tol = tol
        self.random_state = random_state

    def _learn_goals(self, y):
        return y.astype(np.float64)[:, None]

    def _exact_machine(self):
        return SVR(C=self.C, gamma=1.0, epsilon=self.epsilon, tol=self.tol, cache_size=500)

    def _problems(self, y, cost):
        return [Problem(y.astype(np.float64), -cost, cost, float(self.epsilon))]

    def predict(self, X):
        """The predicted target of each row of X."""
        check_is_fitted(self)
        return self._ask("predict", X) if self.is_exact_ else self._ask("decision_function", X)[:, 0]
