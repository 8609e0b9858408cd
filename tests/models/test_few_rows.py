"""Few rows through forests and boosting give what scikit-learn gives."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from evenhand.estimators import BaggedBoostingClassifier, BaggedBoostingRegressor
from evenhand.models.acceleration import FEW_ROWS, ONE_STEP_ROWS, asked_of_few

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 4))
WITH_GAPS = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)
LABELS = {"two": (X[:, 0] > 0).astype(int), "three": np.digitize(X[:, 0] + X[:, 1] ** 2, [-0.5, 0.5])}


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("labels", LABELS)
def test_probabilities_of_few_rows_are_those_of_scikit_learn(forest, labels):
    fitted = forest(n_estimators=30, min_samples_leaf=3, random_state=0).fit(X, LABELS[labels])

    assert asked_of_few(fitted, X[:5]).tolist() == fitted.predict_proba(X[:5]).tolist()


@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_numbers_of_few_rows_are_those_of_scikit_learn(forest):
    fitted = forest(n_estimators=30, min_samples_leaf=3, random_state=0).fit(X, X[:, 0])

    assert asked_of_few(fitted, X[:5]).tolist() == fitted.predict(X[:5]).tolist()


@pytest.mark.parametrize("boosting", [HistGradientBoostingClassifier, BaggedBoostingClassifier])
@pytest.mark.parametrize("labels", LABELS)
def test_probabilities_by_steps_are_those_of_scikit_learn(boosting, labels):
    fitted = boosting(max_iter=40, random_state=0).fit(WITH_GAPS, LABELS[labels])
    rows = np.vstack([WITH_GAPS[:9], np.full((1, 4), np.nan), 100 * X[:1]])

    assert asked_of_few(fitted, rows).tolist() == fitted.predict_proba(rows).tolist()


@pytest.mark.parametrize(
    "boosting",
    [
        HistGradientBoostingRegressor(max_iter=40),
        HistGradientBoostingRegressor(max_iter=40, loss="poisson"),
        HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=2, min_samples_leaf=200),  # no tree finds a split
        BaggedBoostingRegressor(max_iter=40, random_state=0),
    ],
)
def test_numbers_by_steps_are_those_of_scikit_learn(boosting):
    fitted = boosting.fit(WITH_GAPS, np.exp(X[:, 0]) + X[:, 1] ** 2)

    assert asked_of_few(fitted, WITH_GAPS[:9]).tolist() == fitted.predict(WITH_GAPS[:9]).tolist()


def test_a_model_that_was_fitted_again_answers_as_it_is_now():
    boosting = HistGradientBoostingRegressor(max_iter=5)
    asked_of_few(boosting.fit(X, X[:, 0]), X[:3])
    boosting.fit(X, X[:, 1])

    assert asked_of_few(boosting, X[:3]).tolist() == boosting.predict(X[:3]).tolist()


def test_sets_of_categories_are_left_to_scikit_learn():
    codes = np.column_stack([RANDOM.integers(0, 5, len(X)), X[:, 0]]).astype(float)
    fitted = HistGradientBoostingRegressor(max_iter=5, categorical_features=[0]).fit(codes, X[:, 0])

    assert asked_of_few(fitted, codes[:3]) is None


@pytest.mark.parametrize(
    ("most", "asked"), [(FEW_ROWS, RandomForestClassifier), (ONE_STEP_ROWS, HistGradientBoostingClassifier)]
)
def test_only_few_rows_are_asked_so(most, asked):
    fitted = asked().fit(X, LABELS["two"])

    assert asked_of_few(fitted, X[:most]) is not None
    assert asked_of_few(fitted, X[: most + 1]) is None
    assert asked_of_few(fitted, X[:0]) is None


def test_other_models_are_asked_themselves():
    assert asked_of_few(DecisionTreeClassifier().fit(X, LABELS["two"]), X[:1]) is None
