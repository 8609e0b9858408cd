"""What makes models faster: scikit-learn-intelex and threads of boosting where they pay, trees and SVMs asked anew."""

from contextlib import AbstractContextManager
from copy import copy
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.utils import gen_batches, get_tags
from sklearn.utils.parallel import _get_threadpool_controller
from sklearn.utils.validation import validate_data

THREADS_PAY_FROM = 5_000_000  # cells
PAYS_FROM = {"svm": 500_000, "neighbors": 1_000_000}
HOMES = {"SVC": "svm", "SVR": "svm", "KNeighborsClassifier": "neighbors", "KNeighborsRegressor": "neighbors"}
FEW_ROWS = 200  # up to which the trees of a forest are asked in turn
ONE_STEP_ROWS = 16  # up to which all trees of boosting go one step down at a time
FORESTS = {  # by name, as all below: who serves no forest does not import any
    f"sklearn.ensemble._forest.{name}{kind}"
    for name in ("RandomForest", "ExtraTrees")
    for kind in ("Classifier", "Regressor")
}
BOOSTING = {
    f"sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoosting{kind}"
    for kind in ("Classifier", "Regressor")
}
BAGS = {f"evenhand.estimators.BaggedBoosting{kind}" for kind in ("Classifier", "Regressor")}
SVMS = {"sklearn.svm._classes.SVC", "sklearn.svm._classes.SVR"}
KERNEL_BLOCK = 500_000  # values of a kernel at a time
LEARNED_BY_SVM = (
    "n_features_in_",
    "classes_",
    "class_weight_",
    "_gamma",
    "support_",
    "support_vectors_",
    "_sparse",
    "fit_status_",
    "shape_fit_",
    "_n_support",
    "n_iter_",
)


def few_threads(X: Any) -> AbstractContextManager[Any]:
    """A context in which boosting works with one thread, unless rows are many.

    Its threads meet several times for each node of a tree. Where other work has the other core they wait there: on 500
    rows and a busy machine a fit took 18 s on two threads and 0.7 s on one, and 45 times the processor time.
    """
    limit = 1 if X.shape[0] * X.shape[1] < THREADS_PAY_FROM else None
    return _get_threadpool_controller().limit(limits=limit, user_api="openmp")


def one_thread_for_products() -> AbstractContextManager[Any]:
    """A context in which a product of matrices takes one thread.

    Those of blocks are so small that several wait for each other: 200,000 rows beside 1,645 support vectors took two
    threads 6.0 s of the processor and one 0.8.
    """
    return _get_threadpool_controller().limit(limits=1, user_api="blas")


def _name_of(estimator: Any) -> str:
    return f"{type(estimator).__module__}.{type(estimator).__name__}"


def asked_of_few(estimator: Any, X: Any) -> np.ndarray | None:
    """What `predict_proba`, or of numbers `predict`, gives, to the last digit: of few rows, by forests and boosting.

    None for other models and for more rows: the estimator is to be asked itself.
    """
    if not isinstance(X, np.ndarray) or not len(X):
        return None
    name = _name_of(estimator)
    if name in FORESTS:
        return _asked_of_trees(estimator, X) if len(X) <= FEW_ROWS and estimator.n_outputs_ == 1 else None
    if len(X) > ONE_STEP_ROWS:
        return None
    if name in BAGS and all(map(_can_step, estimator.bags_)):
        rows = validate_data(estimator, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return np.mean([_asked_in_steps(bag, rows) for bag in estimator.bags_], axis=0)
    return _asked_in_steps(estimator, X) if name in BOOSTING and _can_step(estimator) else None


def _asked_of_trees(forest: Any, X: np.ndarray) -> np.ndarray:
    """The answer of a forest by its trees in turn.

    What scikit-learn does around each of 200 trees takes it about 6 ms for one row, the trees themselves a tenth.
    """
    finite = "allow-nan" if get_tags(forest.estimators_[0]).input_tags.allow_nan else True
    rows = validate_data(forest, X, dtype=np.float32, reset=False, ensure_all_finite=finite)
    has_classes = hasattr(forest, "predict_proba")
    total = np.zeros((len(rows), forest.n_classes_ if has_classes else 1))
    for tree in forest.estimators_:
        total += tree.tree_.predict(rows).reshape(total.shape)
    total /= len(forest.estimators_)
    return total if has_classes else total[:, 0]


def _can_step(boosting: Any) -> bool:
    """Whether its splits are all by order, none by sets of categories."""
    return boosting.is_categorical_ is None


def _asked_in_steps(boosting: Any, X: np.ndarray) -> np.ndarray:
    """The answer of gradient boosting, all its trees going one step down at a time.

    scikit-learn asks one tree after the other, which takes 10 ms for one row and 1,500 trees; steps take .4.
    """
    rows = validate_data(boosting, X, dtype=np.float64, ensure_all_finite=False, reset=False)
    trees = _trees_of(boosting)
    row, at = np.divmod(np.arange(len(rows) * len(trees["root"])), len(trees["root"]))
    at = trees["root"][at]
    moving = np.flatnonzero(trees["left"][at] != at)
    while len(moving):
        node = at[moving]
        value = rows[row[moving], trees["column"][node]]
        is_left = np.where(np.isnan(value), trees["missing_left"][node], value <= trees["threshold"][node])
        node = np.where(is_left, trees["left"][node], trees["right"][node])
        at[moving] = node
        moving = moving[trees["left"][node] != node]
    parts = trees["value"][at].reshape(len(rows), len(boosting._predictors), boosting.n_trees_per_iteration_)
    start = np.broadcast_to(boosting._baseline_prediction, (len(rows), parts.shape[2]))
    raw = np.add.accumulate(np.concatenate([start[:, None], parts], axis=1), axis=1)[:, -1]  # in the order of trees
    if hasattr(boosting, "classes_"):
        return boosting._loss.predict_proba(np.asfortranarray(raw))
    return boosting._loss.link.inverse(raw[:, 0])


_STEPS: WeakKeyDictionary[Any, tuple[Any, dict[str, np.ndarray]]] = WeakKeyDictionary()


def _trees_of(boosting: Any) -> dict[str, np.ndarray]:
    """The nodes of all trees one behind the other, a leaf being its own successor; kept while the model is."""
    learned, trees = _STEPS.get(boosting, (None, {}))
    if learned is not boosting._predictors:
        each = [tree.nodes for of_iteration in boosting._predictors for tree in of_iteration]
        root = np.cumsum([0, *map(len, each)])
        nodes, place = np.concatenate(each), np.arange(root[-1])
        shift, is_leaf = np.repeat(root[:-1], np.diff(root)), nodes["is_leaf"].astype(bool)
        trees = {
            "root": root[:-1],
            "column": nodes["feature_idx"].astype(np.intp),
            "threshold": nodes["num_threshold"].copy(),
            "missing_left": nodes["missing_go_to_left"].astype(bool),
            "left": np.where(is_leaf, place, nodes["left"] + shift),
            "right": np.where(is_leaf, place, nodes["right"] + shift),
            "value": nodes["value"].copy(),
        }
        _STEPS[boosting] = (boosting._predictors, trees)
    return trees


def is_radial(estimator: Any, X: Any) -> bool:
    """Whether an estimator is scikit-learn's SVR, or SVC of two classes, with the kernel rbf, and rows are dense."""
    if _name_of(estimator) not in SVMS or not isinstance(X, np.ndarray):
        return False
    is_one_machine = len(getattr(estimator, "classes_", (0, 1))) == 2
    return is_one_machine and estimator.kernel == "rbf" and not sparse.issparse(estimator.support_vectors_)


def asked_of_vectors(machine: Any, X: np.ndarray) -> np.ndarray:
    """What `decision_function` of an SVC of two classes, or `predict` of an SVR, gives, but for rounding.

    LIBSVM takes one pair of rows after the other: a million rows beside 2,000 support vectors take it 57 s, blocks 5.
    Rows are centred first, so that products of large numbers lose no digits.
    """
    centre = machine.support_vectors_.mean(axis=0)
    vectors, found = machine.support_vectors_ - centre, np.full(len(X), machine.intercept_[0])
    lengths = np.einsum("ij,ij->i", vectors, vectors)
    for rows in gen_batches(len(X), max(1, KERNEL_BLOCK // max(1, len(vectors)))):
        block = X[rows] - centre
        kernel = 2 * block @ vectors.T  # then in place: what passes through memory takes longer than what is computed
        kernel -= lengths
        kernel -= np.einsum("ij,ij->i", block, block)[:, None]
        kernel *= machine._gamma
        found[rows] += np.exp(kernel, out=kernel) @ machine.dual_coef_[0]
    return found


@cache
def available() -> bool:
    """Whether scikit-learn-intelex is installed."""
    return find_spec("sklearnex") is not None


def accelerated(estimator: Any, X: Any) -> Any:
    """The same estimator from scikit-learn-intelex where it is installed, does the same and is faster.

    What counts is the number of cells: below the limits two single-threaded scikit-learn fits side by side take as long
    as two fits that each want all cores; at 5,333 x 900 an SVM takes a quarter of LIBSVM's time.
    """
    if sparse.issparse(X) or not available():
        return estimator
    if isinstance(estimator, TransformedTargetRegressor):
        return estimator.set_params(regressor=accelerated(estimator.regressor, X))
    name = type(estimator).__name__
    if name not in HOMES or not type(estimator).__module__.startswith("sklearn.") or not _same_meaning(estimator):
        return estimator
    if X.shape[0] * X.shape[1] < PAYS_FROM[HOMES[name]]:
        return estimator
    twin = getattr(import_module(f"sklearnex.{HOMES[name]}"), name)()
    known = twin.get_params()
    return twin.set_params(**{key: value for key, value in estimator.get_params().items() if key in known})


def solver_of(estimator: Any) -> str:
    """The package whose code did the fitting."""
    inner = getattr(estimator, "regressor_", estimator)
    return str(getattr(inner, "solved_by_", type(inner).__module__.partition(".")[0]))


def plain(fitted: Any) -> Any:
    """What scikit-learn-intelex learned, as the scikit-learn estimator of the same name; others come back as they are.

    Its own objects hold native handles that no safe format can store and that only machines with the package can load.
    """
    if solver_of(fitted) != "sklearnex":
        return fitted
    if isinstance(fitted, TransformedTargetRegressor):
        copied = copy(fitted)
        copied.regressor_ = plain(fitted.regressor_)
        copied.regressor = clone(copied.regressor_)
        return copied
    name = type(fitted).__name__
    twin = getattr(import_module(f"sklearn.{HOMES[name]}"), name)()
    known = twin.get_params()
    twin.set_params(**{key: value for key, value in fitted.get_params().items() if key in known})
    if HOMES[name] == "neighbors":
        return twin.fit(np.asarray(fitted._fit_X), _seen_target(fitted))
    return _svm_copy(fitted, twin)


def _seen_target(fitted: Any) -> np.ndarray:
    target = np.asarray(fitted._y)
    return fitted.classes_[target.ravel().astype(int)] if hasattr(fitted, "classes_") else target


def _svm_copy(fitted: Any, twin: Any) -> Any:
    for name in LEARNED_BY_SVM:
        if hasattr(fitted, name):
            setattr(twin, name, getattr(fitted, name))
    is_binary = len(getattr(fitted, "classes_", ())) == 2
    sign = -1.0 if is_binary else 1.0
    twin.dual_coef_, twin.intercept_ = np.asarray(fitted.dual_coef_), np.asarray(fitted.intercept_)
    twin._dual_coef_ = np.ascontiguousarray(sign * twin.dual_coef_)
    twin._intercept_ = np.ascontiguousarray(sign * twin.intercept_)
    twin.support_ = np.asarray(fitted.support_, dtype=np.int32)
    twin.support_vectors_ = np.ascontiguousarray(fitted.support_vectors_)
    counts = fitted._n_support if hasattr(fitted, "classes_") else [len(twin.support_), 0]
    twin._n_support = np.asarray(counts, dtype=np.int32)
    twin._probA = twin._probB = np.empty(0)
    return twin


def _same_meaning(estimator: Any) -> bool:
    """Whether every parameter is one that both packages read alike."""
    params = estimator.get_params()
    if "kernel" in params:
        return params["kernel"] in {"rbf", "linear", "poly", "sigmoid"} and not params.get("break_ties")
    return params["weights"] in {"uniform", "distance"} and params["metric"] in {"minkowski", "euclidean"}
