"""A support-vector machine that keeps to a budget of work, counted in the seconds that a usual machine takes for it."""

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.machines._budget import CACHE_MB, area, cost_at, drawn, evenly_drawn, kernel_width
from evenhand.estimators.machines._nystroem import Nystroem
from evenhand.estimators.machines._squared_hinge import SquaredHingeSVC
from evenhand.estimators.machines._work import exact_seconds, linear_seconds, nystroem_seconds

WAYS = ("auto", "exact", "linear", "nystroem", "subsample")
AS_PILOT = {"subsample": "exact"}
EXACT_AT_ONCE = 2_000
PILOT, FIRST_PILOT, HELD = 4_000, 500, 5_000
LANDMARKS = (1600, 800, 400, 200, 100, 50)
PILOT_LANDMARKS = 100
MOST_BYTES = 512 * 2**20
AS_GOOD = 0.002
SAFETY = 1.3
PILOT_SHARE = 0.1


@named_at(ESTIMATORS)
class BudgetSVC(ClassifierMixin, BaseEstimator):
    """A support-vector classifier with an RBF kernel that is fitted in the way its budget of work allows.

    The cost of the exact machine is estimated from fits on growing samples of the rows. If that is too much, what is
    best on rows left out of the samples is taken among: a linear machine, a machine on Nystroem features, and the exact
    machine on as many rows as the budget is enough for; of those that are as good, the simplest. Work is counted (cells
    of kernels, steps, sums) and no clock is read, so that the same rows and seed give the same machine.

    Parameters
    ----------
    budget : float, default=60.0
        Seconds of work that `fit` may take, at what one core of a usual machine does in a second; a slow or a busy one
        takes longer by the clock.
    C : float, default=1.0
    gamma : float or {"scale", "auto"}, default="scale"
    class_weight : dict, "balanced" or None, default=None
    way : {"auto", "exact", "linear", "nystroem", "subsample"}, default="auto"
        How to fit; "auto" chooses by the budget. Any other way keeps to no budget.
    size : int or None, default=None
        Landmarks of "nystroem", or rows of "subsample", where `way` is one of these; None takes 400 or 4,000.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    choice_ : str
        How the machine was fitted, in words.
    predicted_seconds_ : dict of str to float
        The work that each way was estimated to take, as `budget` counts it; empty where nothing had to be chosen.
    pilot_scores_ : dict of str to float
        The area under the ROC curve of each way on rows left out of the samples; empty where exact was affordable.
    settled_params_ : dict
        `way` and `size` that repeat the fit without choosing again.
    machine_ : the fitted machine

    Notes
    -----
    The linear machine and the one on Nystroem features minimise the squared hinge loss.

    References
    ----------
    Williams and Seeger, Using the Nystroem method to speed up kernel machines, NIPS 13 (2000).
    Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale linear SVMs, JMLR 6 (2005).

    Examples
    --------
    >>> X = np.array([[0.0], [0.2], [2.0], [2.2]])
    >>> machine = BudgetSVC(budget=5.0).fit(X, ["calm", "calm", "storm", "storm"])
    >>> machine.predict([[0.1], [2.1]]).tolist(), machine.choice_
    (['calm', 'storm'], 'exact')
    """

    def __init__(
        self, budget=60.0, *, C=1.0, gamma="scale", class_weight=None, way="auto", size=None, random_state=None
    ):
        self.budget = budget
        self.C = C
        self.gamma = gamma
        self.class_weight = class_weight
        self.way = way
        self.size = size
        self.random_state = random_state

    def fit(self, X, y):
        """Choose a way that the budget allows, and fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("BudgetSVC separates classes, but y has one class only.")
        self._rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.predicted_seconds_, self.pilot_scores_ = {}, {}
        way, size = (self.way, self.size) if self.way != "auto" else self._chosen(X, codes)
        self.machine_ = self._fitted(way, size, X, codes)
        self.settled_params_ = {"way": way, "size": size}
        self.choice_ = {
            "nystroem": f"nystroem with {size or LANDMARKS[2]} landmarks",
            "subsample": f"exact on a subsample of {size or PILOT:,} of {X.shape[0]:,} rows",
        }.get(way, way)
        del self._rng
        return self

    def decision_function(self, X):
        """Two classes: one score for each row, above 0 for `classes_[1]`; more classes: one score for each."""
        check_is_fitted(self)
        return self.machine_.decision_function(
            validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        )

    def predict(self, X):
        """The class of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _check_parameters(self):
        if self.way not in WAYS:
            raise ValueError(f"way={self.way!r} was asked of BudgetSVC. Choose one of {', '.join(WAYS)}.")
        if not self.budget > 0:
            raise ValueError(f"budget={self.budget} was asked of BudgetSVC. Give seconds above 0.")
        if not self.C > 0:
            raise ValueError(f"C={self.C} was asked of BudgetSVC, but C must be above 0.")

    def _chosen(self, X, y):
        """The way and its size; rows that make next to no work are fitted exactly at once."""
        if X.shape[0] <= EXACT_AT_ONCE:
            return "exact", None
        pilots = self._pilots(X, y)
        left = self.budget - sum(seconds for _, seconds, _ in pilots)
        exact = SAFETY * cost_at(X.shape[0], pilots)
        self.predicted_seconds_ = {"exact": exact}
        if exact <= left:
            return "exact", None
        sizes = {"linear": None, "nystroem": self._landmarks(X), "subsample": None}
        left = self._try_ways(X, y, pilots, sizes, left)
        affordable = [way for way in sizes if self.predicted_seconds_[way] <= left] or ["subsample"]
        best = max(self.pilot_scores_[way] for way in affordable)
        way = next(way for way in affordable if self.pilot_scores_[way] >= best - AS_GOOD)
        return way, sizes[way]

    def _pilots(self, X, y):
        """Rows, seconds of work and support vectors of exact fits on samples that double while they cost little."""
        found, n_rows, spent = [], FIRST_PILOT, 0.0
        while n_rows <= X.shape[0] // 2:
            some = drawn(y, n_rows, self._rng)
            machine = self._exact(X[some], y[some])
            found.append((len(some), exact_seconds(machine, X[some]), machine.n_support_.sum()))
            spent += found[-1][1]
            estimated = 4 * found[-1][1]
            if len(found) >= 3 and (estimated > PILOT_SHARE * self.budget or spent + estimated > self.budget):
                break
            n_rows *= 2
        return found

    def _landmarks(self, X):
        return next((m for m in LANDMARKS if m <= X.shape[0] // 2 and X.shape[0] * m * 8 <= MOST_BYTES), LANDMARKS[-1])

    def _try_ways(self, X, y, pilots, sizes, left):
        """Fit each way on a sample, estimate its work on all rows, score it on others; what is left of the budget."""
        order = self._rng.permutation(len(y))
        some = drawn(y, min(PILOT, len(y) // 2), self._rng, order)
        held = drawn(y, HELD, self._rng, order[~np.isin(order, some)])
        n_landmarks = min(PILOT_LANDMARKS, len(some))
        machines = {way: self._fitted(AS_PILOT.get(way, way), n_landmarks, X[some], y[some]) for way in sizes}
        for way, machine in machines.items():
            self.pilot_scores_[way] = area(y[held], machine.decision_function(X[held]))
        left -= linear_seconds(machines["linear"], X[some]) + nystroem_seconds(n_landmarks, X[some])
        left -= exact_seconds(machines["subsample"], X[some])
        self.predicted_seconds_["linear"] = SAFETY * linear_seconds(machines["linear"], X)
        sizes["nystroem"], self.predicted_seconds_["nystroem"] = self._affordable_landmarks(sizes["nystroem"], X, left)
        sizes["subsample"], self.predicted_seconds_["subsample"] = self._affordable_rows(X.shape[0], pilots, left)
        return left

    def _affordable_landmarks(self, most, X, left):
        """The most landmarks that what is left is enough for."""
        estimated = {m: SAFETY * nystroem_seconds(m, X) for m in LANDMARKS if m <= most}
        return next(((m, cost) for m, cost in estimated.items() if cost <= left), min(estimated.items()))

    def _affordable_rows(self, n_rows, pilots, left):
        """The largest halving of the rows that what is left is enough for an exact fit of."""
        while n_rows > 2 * FIRST_PILOT:
            n_rows //= 2
            if SAFETY * cost_at(n_rows, pilots) <= left:
                break
        return n_rows, SAFETY * cost_at(n_rows, pilots)

    def _fitted(self, way, size, X, y):
        if way == "subsample":
            some = drawn(y, min(size or PILOT, X.shape[0]), np.random.default_rng(self._seed()))
            return self._exact(X[some], y[some], self._shares(y, some))
        if way == "exact":
            return self._exact(X, y)
        if way == "linear":
            machine = LinearSVC(C=self.C, class_weight=self._class_weight(y), random_state=self._seed())
            return machine.fit(X, y)
        some = evenly_drawn(y, size or LANDMARKS[2], np.random.default_rng(self._seed()))
        features = Nystroem(partial(rbf_kernel, gamma=kernel_width(X, self.gamma)), X[some])
        return SquaredHingeSVC(features, self.C, self._row_weights(y)).fit(X, y)

    def _exact(self, X, y, weights=None):
        width, classes = kernel_width(X, self.gamma), self._class_weight(y)
        machine = SVC(C=self.C, gamma=width, class_weight=classes, cache_size=CACHE_MB)
        return machine.fit(X, y, sample_weight=weights)

    def _seed(self):
        return check_random_state(self.random_state).randint(2**31)

    def _shares(self, y, some):
        """Rows of a class that lost fewer rows to the sample than others weigh less, so that C means the same."""
        whole, kept = np.bincount(y), np.bincount(y[some], minlength=len(self.classes_))
        return (whole / kept)[y[some]] * (len(some) / len(y))

    def _class_weight(self, y):
        if self.class_weight is None:
            return None
        names = np.arange(len(self.classes_))
        given = self.class_weight
        if not isinstance(given, str):
            given = {k: given[name] for k, name in enumerate(self.classes_.tolist()) if name in given}
        return dict(zip(names.tolist(), compute_class_weight(given, classes=names, y=y).tolist(), strict=True))

    def _row_weights(self, y):
        weights = self._class_weight(y)
        return np.ones(len(y)) if weights is None else np.array(list(weights.values()))[y]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
