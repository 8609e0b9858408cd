from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import skops.io
from makers import make_plan, numeric_outputs
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.multiclass import OneVsOneClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from threadpoolctl import threadpool_info, threadpool_limits

from evenhand.estimators.distances import inverse_square
from evenhand.models import acceleration
from evenhand.models.acceleration import accelerated, available, plain, solver_of
from evenhand.models.fitting import fitted_model, scores_of
from evenhand.models.serialization import read_model
from evenhand.records.pipeline import Balanced, Training
from evenhand.records.reference import NOWHERE

with_package = pytest.mark.skipif(not available(), reason="scikit-learn-intelex is not installed")

CLASSIFIERS = {
    "rbf": SVC(C=2.0, tol=1e-9),
    "linear": SVC(kernel="linear", C=0.5, tol=1e-9),
    "polynomial": SVC(kernel="poly", degree=2, coef0=1.0, tol=1e-9),
    "weighted": SVC(class_weight="balanced", tol=1e-9),
    "neighbours": KNeighborsClassifier(7),
    "nearer_counts_more": KNeighborsClassifier(7, weights="distance"),
}
REGRESSORS = {
    "rbf": SVR(C=2.0, tol=1e-9),
    "linear": SVR(kernel="linear", tol=1e-9),
    "neighbours": KNeighborsRegressor(7),
    "on_a_standard_target": TransformedTargetRegressor(SVR(tol=1e-9), transformer=StandardScaler()),
}


@pytest.fixture(autouse=True)
def pays_always(monkeypatch):
    """Small inputs are accelerated too."""
    monkeypatch.setattr(acceleration, "PAYS_FROM", {"svm": 0, "neighbors": 0})


def clouds(n_classes=2, n=240):
    random = np.random.default_rng(0)
    y = random.permutation(np.arange(n) % n_classes)
    return random.normal(size=(n, 3)) + 1.2 * y[:, None], y


def said(estimator, X):
    """The scores of a classifier, or what a regressor predicts."""
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else estimator.predict(X)


@with_package
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_agree_with_scikit_learn(name, n_classes):
    X, y = clouds(n_classes)
    known = CLASSIFIERS[name].fit(X[::2], y[::2])

    fast = accelerated(CLASSIFIERS[name], X).fit(X[::2], y[::2])

    assert solver_of(fast) == "sklearnex"
    assert said(fast, X[1::2]) == pytest.approx(said(known, X[1::2]), abs=1e-3)
    assert np.mean(fast.predict(X[1::2]) == known.predict(X[1::2])) > 0.99


@with_package
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_agree_with_scikit_learn(name):
    X, y = clouds()
    target = X @ [1.0, -2.0, 0.5] + y
    known = REGRESSORS[name].fit(X[::2], target[::2])

    fast = accelerated(REGRESSORS[name], X).fit(X[::2], target[::2])

    assert solver_of(fast) == "sklearnex"
    assert fast.predict(X[1::2]) == pytest.approx(known.predict(X[1::2]), abs=1e-3)


@with_package
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_plain_copy_of_a_classifier_says_the_same(name, n_classes):
    X, y = clouds(n_classes)
    fast = accelerated(CLASSIFIERS[name], X).fit(X[::2], y[::2])

    copied = plain(fast)

    assert solver_of(copied) == "sklearn"
    assert said(copied, X) == pytest.approx(said(fast, X), abs=1e-9)
    assert copied.predict(X).tolist() == fast.predict(X).tolist()


@with_package
@pytest.mark.parametrize("name", REGRESSORS)
def test_the_plain_copy_of_a_regressor_says_the_same(name):
    X, y = clouds()
    target = X @ [1.0, -2.0, 0.5] + y
    fast = accelerated(REGRESSORS[name], X).fit(X[::2], target[::2])

    copied = plain(fast)

    assert solver_of(copied) == "sklearn"
    assert copied.predict(X) == pytest.approx(fast.predict(X), abs=1e-9)


@with_package
def test_labels_that_are_text_survive_the_copy():
    X, y = clouds()
    labels = np.array(["calm", "storm"])[y]
    fast = accelerated(KNeighborsClassifier(3), X).fit(X, labels)

    assert plain(fast).predict(X).tolist() == fast.predict(X).tolist()


@with_package
@pytest.mark.parametrize("model", ["svm", "knn", "svr", "knn_regressor"])
def test_the_plain_copy_is_kept_and_loaded_without_the_package(model, tmp_path):
    X, y = clouds()
    is_class = model in {"svm", "knn"}
    plan = make_plan(model, target_transform="none" if is_class else "standard")
    balanced = Balanced("none", Training("t", NOWHERE, len(y), numeric_outputs(3)))
    fast = fitted_model(plan, balanced, X, y if is_class else X[:, 0], 2 if is_class else 0, seed=0)
    assert solver_of(fast) == "sklearnex"
    file = tmp_path / "model.skops"
    skops.io.dump(plain(fast), file)

    copied, types = read_model(file, [model])

    assert not [name for name in types if not name.startswith("sklearn.")]
    assert copied.predict(X) == pytest.approx(fast.predict(X), abs=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(kernel="precomputed"),
        SVC(break_ties=True),
        KNeighborsClassifier(weights=inverse_square),
        KNeighborsClassifier(metric="manhattan"),
        NuSVC(),
        LinearSVC(),
        OneVsOneClassifier(SVC()),
    ],
)
def test_what_the_package_would_do_otherwise_stays_with_scikit_learn(estimator):
    assert accelerated(estimator, np.zeros((10, 2))) is estimator


def test_sparse_rows_stay_with_scikit_learn():
    estimator = SVC()

    assert accelerated(estimator, sparse.csr_matrix(np.eye(5))) is estimator


@with_package
def test_few_cells_stay_with_scikit_learn(monkeypatch):
    monkeypatch.setattr(acceleration, "PAYS_FROM", {"svm": 20, "neighbors": 21})
    X = np.zeros((10, 2))

    assert solver_of(accelerated(SVC(), X)) == "sklearnex"
    assert solver_of(accelerated(KNeighborsClassifier(), X)) == "sklearn"


def test_without_the_package_everything_stays_with_scikit_learn(monkeypatch):
    monkeypatch.setattr(acceleration, "available", lambda: False)
    estimator = SVC()

    assert accelerated(estimator, np.zeros((10, 2))) is estimator


@with_package
def test_parameters_are_handed_on():
    fast = accelerated(SVC(C=3.0, gamma=0.25, class_weight={0: 1, 1: 5}), np.zeros((10, 2)))

    assert (fast.C, fast.gamma, fast.class_weight) == (3.0, 0.25, {0: 1, 1: 5})


def test_what_scikit_learn_fitted_is_its_own_plain_copy():
    X, y = clouds()
    known = SVC().fit(X, y)

    assert plain(known) is known


@pytest.mark.parametrize(("n_rows", "is_one"), [(1_000, True), (10_000_000, False)])
def test_boosting_keeps_to_one_thread_where_rows_are_few(monkeypatch, n_rows, is_one):
    seen = []
    monkeypatch.setattr(acceleration, "_get_threadpool_controller", lambda: SimpleNamespace(
        limit=lambda limits, user_api: seen.append((limits, user_api)) or nullcontext()))  # fmt: skip

    with acceleration.few_threads(SimpleNamespace(shape=(n_rows, 10))):
        pass

    assert seen == [(1 if is_one else None, "openmp")]


def test_fits_and_scores_are_made_among_few_threads():
    class Watching(ClassifierMixin, BaseEstimator):
        """Notes the threads that its fit and its answers may use."""

        def fit(self, X, y):
            self.classes_, self.threads_ = np.unique(y), [self._threads()]
            return self

        def predict_proba(self, X):
            self.threads_.append(self._threads())
            return np.full((len(X), 2), 0.5)

        def _threads(self):
            return {each["num_threads"] for each in threadpool_info() if "scikit_learn" in each["filepath"]}

    model = Watching().fit([[0.0]], [0])
    with threadpool_limits(3, user_api="openmp"):  # as on a machine of three cores
        with acceleration.few_threads(np.zeros((5, 2))):
            model.fit(np.zeros((5, 2)), [0, 1, 0, 1, 0])
        scores_of(model, np.zeros((5, 2)))

    assert model.threads_ == [{1}, {1}]
