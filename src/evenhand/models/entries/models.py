"""The model families: one entry each, with all that any room needs to know of them. Nothing heavy is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evenhand.errors import ConfError

Values = list[Any]
FORMS = ("codes", "sparse", "columns", "blocks")
Input = Literal["numbers", "counts", "codes", "codes and numbers"]


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """A model family.

    Parameters
    ----------
    name : what study files call it.
    home : package.module.Class of the scikit-learn estimator; imported when a study uses it.
    task : classification or regression.
    takes : what its columns may be: any numbers, counts (nothing below 0), codes, or codes beside numbers.
    ranges : usual values of each parameter that it is tuned over; {} where nothing is worth tuning.
    cost : time of one fit, where that of a naive Bayes is 1: decides what is fitted first and which is simplest.
    defaults : parameters that are set unless the study sets them.
    target_transform : what is done to the target of a regression before the fit.
    trusted : types beside the package of `home` that stand in its fitted estimators, by their full names.
    forms : in which forms beside a dense matrix it learns the same from many rows: codes (small whole numbers), sparse,
        columns (a few at a time, see packing.by_columns), blocks (of rows, see packing.linear_blocks).
    limit : what happens beyond how many rows, in words that the list of candidates shows; "" where nothing does.
    """

    name: str
    home: str
    task: Literal["classification", "regression"]
    takes: Input
    ranges: Mapping[str, Values]
    cost: float
    defaults: Mapping[str, Any] = field(default_factory=dict)
    target_transform: str = "none"
    trusted: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    limit: str = ""

    def __post_init__(self) -> None:
        if self.task not in {"classification", "regression"}:
            raise ConfError(f"the model entry '{self.name}' has task {self.task!r}. Give classification or regression.")
        if unknown := [form for form in self.forms if form not in FORMS]:
            raise ConfError(
                f"the model entry '{self.name}' has form {unknown[0]!r}, which is none. Give some of "
                f"{', '.join(FORMS)}."
            )
        if "." not in self.home:
            raise ConfError(f"the model entry '{self.name}' has home {self.home!r}. Give package.module.Class.")
        if empty := [key for key, values in self.ranges.items() if not values]:
            raise ConfError(f"the model entry '{self.name}' has no values for {empty[0]}. List some, or leave it out.")


def _powers(base: float, first: int, last: int, step: int = 1) -> Values:
    return [float(base) ** power for power in range(first, last + 1, step)]


# C and gamma of a kernel as in Hsu, Chang and Lin, "A practical guide to support vector classification", 2003.
KERNEL_C, KERNEL_GAMMA = _powers(2, -5, 15, 2), _powers(2, -15, 3, 2)
LINEAR_C, TUBE, SMOOTHING = _powers(2, -13, 5, 2), _powers(2, -8, 0), _powers(2, -10, 4, 2)
NEIGHBOURS, RIDGE = [1, 3, 5, 7, 11, 15, 21, 31, 45, 65], _powers(10, -4, 4)
DEPTHS, LEAVES = [2, 3, 4, 6, 8, 12, 16], [1, 2, 5, 10, 20, 50]
TREE: dict[str, Values] = {"max_depth": DEPTHS, "min_samples_leaf": LEAVES}
FOREST: dict[str, Values] = {"max_features": [0.1, 0.2, 0.4, 0.7, 1.0], "min_samples_leaf": LEAVES}
BOOSTING: dict[str, Values] = {
    "learning_rate": _powers(2, -6, -1),
    "max_leaf_nodes": [4, 8, 16, 31, 63],
    "min_samples_leaf": [5, 20, 50, 100],
}
KNN: dict[str, Values] = {"n_neighbors": NEIGHBOURS, "weights": ["uniform", "distance"]}
KERNEL: dict[str, Values] = {"C": KERNEL_C, "gamma": KERNEL_GAMMA}
CACHE = {"cache_size": 500}


def _classifier(
    name: str, home: str, takes: Input, ranges: Mapping[str, Values], cost: float, **more: Any
) -> ModelEntry:
    return ModelEntry(name=name, home=home, task="classification", takes=takes, ranges=ranges, cost=cost, **more)


def _regressor(
    name: str, home: str, takes: Input, ranges: Mapping[str, Values], cost: float, **more: Any
) -> ModelEntry:
    return ModelEntry(name=name, home=home, task="regression", takes=takes, ranges=ranges, cost=cost, **more)


_ALPHA = {"alpha": SMOOTHING}
_ONE_CLASS = {"nu": [0.005, 0.01, 0.02, 0.05, 0.1, 0.2], "gamma": KERNEL_GAMMA}
_NU = {"nu": [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5], "gamma": KERNEL_GAMMA}
_INTERVALS = {"n_intervals": [5, 10, 20, 40, 80], "alpha": SMOOTHING}
_WIDTH = {"gamma": KERNEL_GAMMA}
_FEATURES = "exact to 5,000 training rows (exact_below); more are fitted on features of 500 of them (n_components)"
_FEW_BASES = "a basis function on each of {} different training rows (max_basis); of more, so many are drawn"
_SCALED = {"target_transform": "standard"}
ENTRIES = (
    _classifier(
        "gaussian_nb",
        "sklearn.naive_bayes.GaussianNB",
        "numbers",
        {"var_smoothing": _powers(10, -12, -1)},
        1,
        forms=("columns",),
    ),
    _classifier("bernoulli_nb", "sklearn.naive_bayes.BernoulliNB", "numbers", _ALPHA, 1),
    _classifier("multinomial_nb", "sklearn.naive_bayes.MultinomialNB", "counts", _ALPHA, 1),
    _classifier("complement_nb", "sklearn.naive_bayes.ComplementNB", "counts", _ALPHA, 1),
    _classifier("categorical_nb", "sklearn.naive_bayes.CategoricalNB", "codes", _ALPHA, 1),
    _classifier(
        "mixed_nb",
        "evenhand.estimators.MixedNB",
        "codes and numbers",
        {**_ALPHA, "density": ["gaussian", "kernel"]},
        1,
        forms=("codes",),
    ),
    _classifier(
        "selective_nb", "evenhand.estimators.SelectiveNB", "codes and numbers", {"m": _powers(2, -2, 8, 2)}, 10
    ),
    _classifier(
        "one_dependence_nb",
        "evenhand.estimators.OneDependenceNB",
        "codes and numbers",
        {"m": _powers(2, -1, 7, 2), "n_bins": [4, 6, 8, 12]},
        4,
    ),
    _classifier("knn", "sklearn.neighbors.KNeighborsClassifier", "numbers", KNN, 50),
    _classifier("svm", "sklearn.svm.SVC", "numbers", KERNEL, 100, defaults=CACHE),
    _classifier("linear_svm", "sklearn.svm.LinearSVC", "numbers", {"C": LINEAR_C}, 5, forms=("sparse", "blocks")),
    _classifier("budget_svm", "evenhand.estimators.BudgetSVC", "numbers", KERNEL, 100, forms=("sparse",)),
    _classifier("nu_svm", "sklearn.svm.NuSVC", "numbers", _NU, 100, defaults=CACHE),
    _classifier("one_class_svm", "evenhand.estimators.OutlierClassifier", "numbers", _ONE_CLASS, 100),
    _classifier(
        "similarity_svm", "evenhand.estimators.SimilaritySVC", "codes", {"C": KERNEL_C[:8]}, 10, forms=("codes",)
    ),
    _classifier(
        "table_kernel_svm", "evenhand.estimators.TableKernelSVC", "codes and numbers", {"C": KERNEL_C[:8]}, 100
    ),
    _classifier("ls_svm", "evenhand.estimators.LeastSquaresSVC", "codes and numbers", KERNEL, 50, limit=_FEATURES),
    _classifier(
        "rvm",
        "evenhand.estimators.RelevanceVectorClassifier",
        "codes and numbers",
        _WIDTH,
        200,
        limit=_FEW_BASES.format(200),
    ),
    _classifier(
        "perceptron",
        "sklearn.linear_model.Perceptron",
        "numbers",
        {"alpha": _powers(10, -6, -1), "penalty": [None, "l2", "l1"]},
        1,
    ),
    _classifier(
        "logistic",
        "sklearn.linear_model.LogisticRegression",
        "numbers",
        {"C": LINEAR_C},
        5,
        defaults={"max_iter": 1000},
    ),
    _classifier("decision_tree", "sklearn.tree.DecisionTreeClassifier", "numbers", TREE, 2),
    _classifier("random_forest", "sklearn.ensemble.RandomForestClassifier", "numbers", FOREST, 30),
    _classifier("extra_trees", "sklearn.ensemble.ExtraTreesClassifier", "numbers", FOREST, 25),
    _classifier("bagged_boosting", "evenhand.estimators.BaggedBoostingClassifier", "numbers", BOOSTING, 40),
    _classifier("boosting", "sklearn.ensemble.HistGradientBoostingClassifier", "numbers", BOOSTING, 10),
    _classifier("dummy", "sklearn.dummy.DummyClassifier", "numbers", {}, 0.1, defaults={"strategy": "prior"}),
    _regressor("knn_regressor", "sklearn.neighbors.KNeighborsRegressor", "numbers", KNN, 50),
    _regressor("svr", "sklearn.svm.SVR", "numbers", {**KERNEL, "epsilon": TUBE}, 100, defaults=CACHE, **_SCALED),
    _regressor("linear_svr", "sklearn.svm.LinearSVR", "numbers", {"C": LINEAR_C, "epsilon": TUBE}, 5, **_SCALED),
    _regressor(
        "similarity_svr",
        "evenhand.estimators.SimilaritySVR",
        "codes",
        {"C": KERNEL_C[:8], "epsilon": TUBE},
        10,
        **_SCALED,
    ),
    _regressor(
        "table_kernel_svr",
        "evenhand.estimators.TableKernelSVR",
        "codes and numbers",
        {"C": KERNEL_C[:8], "epsilon": TUBE},
        100,
        **_SCALED,
    ),
    _regressor(
        "ls_svr", "evenhand.estimators.LeastSquaresSVR", "codes and numbers", KERNEL, 50, limit=_FEATURES, **_SCALED
    ),
    _regressor(
        "rvr",
        "evenhand.estimators.RelevanceVectorRegressor",
        "codes and numbers",
        _WIDTH,
        200,
        limit=_FEW_BASES.format(500),
    ),
    _regressor("kernel_ridge", "sklearn.kernel_ridge.KernelRidge", "numbers", {"alpha": RIDGE}, 100, **_SCALED),
    _regressor("interval_nb_regressor", "evenhand.estimators.IntervalNBRegressor", "codes and numbers", _INTERVALS, 2),
    _regressor("linear_regression", "evenhand.estimators.OrdinaryLeastSquares", "numbers", {}, 1),
    _regressor("ridge", "sklearn.linear_model.Ridge", "numbers", {"alpha": RIDGE}, 1),
    _regressor("decision_tree_regressor", "sklearn.tree.DecisionTreeRegressor", "numbers", TREE, 2),
    _regressor("random_forest_regressor", "sklearn.ensemble.RandomForestRegressor", "numbers", FOREST, 30),
    _regressor("extra_trees_regressor", "sklearn.ensemble.ExtraTreesRegressor", "numbers", FOREST, 25),
    _regressor("bagged_boosting_regressor", "evenhand.estimators.BaggedBoostingRegressor", "numbers", BOOSTING, 40),
    _regressor("boosting_regressor", "sklearn.ensemble.HistGradientBoostingRegressor", "numbers", BOOSTING, 10),
    _regressor("dummy_regressor", "sklearn.dummy.DummyRegressor", "numbers", {}, 0.1),
)
