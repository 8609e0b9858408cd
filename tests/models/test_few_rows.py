"""Few rows through a forest give what scikit-learn gives."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from evenhand.models.acceleration import FEW_ROWS, asked_of_trees, is_quick

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 4))


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("labels", [(X[:, 0] > 0).astype(int), np.digitize(X[:, 0], [-0.5, 0.5])])
def test_probabilities_of_few_rows_are_those_of_scikit_learn(forest, labels):
    fitted = forest(n_estimators=30, min_samples_leaf=3, random_state=0).fit(X, labels)

    assert asked_of_trees(fitted, X[:5]).tolist() == fitted.predict_proba(X[:5]).tolist()


@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_numbers_of_few_rows_are_those_of_scikit_learn(forest):
    fitted = forest(n_estimators=30, min_samples_leaf=3, random_state=0).fit(X, X[:, 0])

    assert asked_of_trees(fitted, X[:5]).tolist() == fitted.predict(X[:5]).tolist()


def test_only_forests_are_asked_so_and_only_about_few_rows():
    forest = RandomForestClassifier(n_estimators=2).fit(X, X[:, 0] > 0)

    assert is_quick(forest, X[:FEW_ROWS])
    assert not is_quick(forest, X[: FEW_ROWS + 1])
    assert not is_quick(forest, X[:0])
    assert not is_quick(DecisionTreeClassifier().fit(X, X[:, 0] > 0), X[:1])
