"""Averaged one-dependence estimators: counts by hand, and naive Bayes where there are no parents."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import MixedNB, OneDependenceNB

NAN = np.nan


def opposite(n_rows=400, seed=0):
    """Two columns of words of which neither alone says anything of the class, a third of chance, and the class."""
    rng = np.random.default_rng(seed)
    words = rng.choice(["lo", "hi"], (n_rows, 3))
    return pd.DataFrame(words, columns=["one", "other", "noise"]), words[:, 0] == words[:, 1]


@parametrize_with_checks([OneDependenceNB(), OneDependenceNB(max_parents=0)])
def test_one_dependence_nb_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_pair_of_columns_counts_where_neither_alone_says_anything():
    table, y = opposite()

    assert (OneDependenceNB().fit(table, y).predict(table) == y).mean() > 0.99
    assert (OneDependenceNB(max_parents=0).fit(table, y).predict(table) == y).mean() < 0.65


def test_the_joint_probability_is_that_of_the_counts():
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 1]])
    y = np.array([1, 1, 0, 0])
    # shares of the codes of one column: .75 and .25; of the other .5 and .5. With m = 1:
    # P(one=0 | 1) = (2 + .75) / 3, P(other=0 | 1) = (2 + .5) / 3
    one, other = 2.75 / 3, 2.5 / 3
    # beside one=0 two of two rows of class 1 have other=0, beside other=0 two of two have one=0
    by_one = 0.5 * one * (2 + other) / (2 + 1)
    by_other = 0.5 * other * (2 + one) / (2 + 1)

    model = OneDependenceNB(m=1.0, categorical=[0, 1]).fit(X, y)

    joint = np.exp(model.predict_joint_log_proba([[0, 0]]))[0]
    assert joint[1] == pytest.approx((by_one + by_other) / 2)


def test_without_parents_it_is_naive_bayes_with_the_same_smoothing():
    table, y = opposite()
    by_hand = MixedNB(categorical=[0, 1, 2], smoothing="m_estimate", m=3.0, prior="frequency").fit(table, y)

    proba = OneDependenceNB(max_parents=0, m=3.0).fit(table, y).predict_proba(table)

    np.testing.assert_allclose(proba, by_hand.predict_proba(table))


def test_the_columns_that_share_most_with_the_class_are_parents_and_constants_never_are():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.column_stack([np.ones(300), rng.normal(size=300), y + rng.normal(size=300), y * 5.0])

    model = OneDependenceNB(max_parents=2).fit(X, y)

    assert model.parents_.tolist() == [3, 2]
    assert OneDependenceNB(max_parents=9).fit(X, y).parents_.size == 3
    assert model.information_[3] == pytest.approx(np.log(2), abs=0.01)


def test_the_order_of_columns_changes_nothing():
    table, y = opposite()
    turned = table.iloc[:, ::-1]

    given, other = (OneDependenceNB().fit(each, y).predict_proba(each) for each in (table, turned))

    np.testing.assert_allclose(given, other)


def test_a_row_of_weight_2_is_two_rows():
    table, y = opposite(60)
    weights = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weights)

    weighted = OneDependenceNB().fit(table, y, sample_weight=weights).predict_proba(table)

    repeated = OneDependenceNB().fit(table.iloc[rows], y[rows]).predict_proba(table)
    np.testing.assert_allclose(weighted, repeated)


def test_missing_cells_count_as_a_value_and_unseen_ones_say_nothing():
    y = np.arange(80) % 2
    X = np.where(y == 1, NAN, 5.0)[:, None]

    model = OneDependenceNB().fit(X, y)
    words = OneDependenceNB().fit(np.array([["a"], ["b"]] * 40), y)

    assert model.predict([[NAN], [5.0]]).tolist() == [1, 0]
    assert words.predict_proba([["never"]])[0] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(("wrong", "words"), [({"m": 0}, "m must be above 0"), ({"max_parents": -1}, "0 or more")])
def test_what_it_cannot_take_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        OneDependenceNB(**wrong).fit([[1.0], [2.0]], [0, 1])
