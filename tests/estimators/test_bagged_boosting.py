"""Gradient boosting in bags: the mean of models that other rows stopped."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import BaggedBoostingClassifier, BaggedBoostingRegressor

DEALT_OUT = "parts are dealt out row by row: a row twice may be in two of them, one of weight 2 is in one"


@parametrize_with_checks(
    [BaggedBoostingClassifier(n_bags=2, max_iter=20), BaggedBoostingRegressor(n_bags=2, max_iter=20)],
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": DEALT_OUT},
)
def test_bagged_boosting_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def crossed(n_rows=200, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * random.normal(size=n_rows) > 0, "up", "down")


def test_the_probability_is_the_mean_of_the_bags():
    X, y = crossed()

    fitted = BaggedBoostingClassifier(n_bags=3, max_iter=30, random_state=0).fit(X, y)

    each = [bag.predict_proba(X) for bag in fitted.bags_]
    assert len(each) == 3
    assert fitted.predict_proba(X) == pytest.approx(sum(each) / 3)
    assert not np.allclose(each[0], each[1])


def test_numbers_are_the_mean_of_the_bags():
    X, _ = crossed()

    fitted = BaggedBoostingRegressor(n_bags=4, max_iter=30, random_state=0).fit(X, X[:, 0])

    assert fitted.predict(X) == pytest.approx(sum(bag.predict(X) for bag in fitted.bags_) / 4)


def test_each_bag_lacks_its_share_of_every_class():
    y = np.repeat([0, 1, 2], [50, 25, 5])

    part = BaggedBoostingClassifier(n_bags=5)._parts(y, np.random.RandomState(0))

    for label, count in ((0, 50), (1, 25), (2, 5)):
        assert np.bincount(part[y == label], minlength=5).tolist() == [count // 5] * 5


def test_chance_alone_stops_soon():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 4)), random.integers(0, 2, 300)

    fitted = BaggedBoostingClassifier(patience=5, max_iter=400, random_state=0).fit(X, y)

    assert max(fitted.n_iter_) < 100


def test_a_class_of_one_row_is_still_learned():
    # the bag that would lack its only row learns from all rows
    X, y = [[0.0], [1.0], [2.0]] * 7, ["a", "b", "a"] * 7
    y[0] = "rare"

    fitted = BaggedBoostingClassifier(n_bags=3, max_iter=5, random_state=0).fit(X, y)

    assert all(len(bag.classes_) == 3 for bag in fitted.bags_)
    assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_missing_cells_are_read():
    X, y = crossed()
    X[::7, 0] = np.nan

    assert (BaggedBoostingClassifier(max_iter=40, random_state=0).fit(X, y).predict(X) == y).mean() > 0.8
