import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import TwoWaySplit


@parametrize_with_checks([TwoWaySplit()])
def test_two_way_splits_keep_the_scikit_learn_contract(estimator, check):
    check(estimator)


def entropy(y):
    shares = np.bincount(y) / len(y)
    return -sum(share * np.log2(share) for share in shares if share)


def gain(x, y, cut):
    sides = [y[x < cut], y[x > cut]]
    return entropy(y) - sum(len(side) / len(y) * entropy(side) for side in sides if len(side))


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=4, max_size=50))
def test_no_cut_gains_more(rows):
    x, y = np.array(rows, dtype=float)[:, 0], np.array(rows)[:, 1]

    cuts = TwoWaySplit().fit(x[:, None], y).cuts_[0]

    best = max((gain(x, y, cut) for cut in np.unique(x)[1:] - 0.5), default=0)
    assert [gain(x, y, cut) for cut in cuts] == pytest.approx([best] if best > 1e-9 else [], abs=1e-9)


def test_it_is_the_first_split_of_a_tree_by_entropy():
    draw = np.random.default_rng(0)
    x = draw.normal(size=300)
    y = (x + draw.normal(size=300) > 0.3).astype(int)

    tree = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(x[:, None], y)

    assert TwoWaySplit().fit(x[:, None], y).cuts_[0][0] == pytest.approx(
        tree.tree_.threshold[0], rel=1e-6
    )  # trees keep 32 bits


def test_a_row_of_weight_2_counts_as_two_rows():
    draw = np.random.default_rng(1)
    x, y, weights = draw.normal(size=(40, 1)), draw.integers(0, 2, 40), draw.integers(1, 4, 40)

    weighed = TwoWaySplit().fit(x, y, sample_weight=weights)

    assert weighed.cuts_ == TwoWaySplit().fit(np.repeat(x, weights, axis=0), np.repeat(y, weights)).cuts_


def test_missing_values_have_the_last_code_and_move_no_cut():
    coder = TwoWaySplit().fit([[0.0], [1.0], [np.nan], [3.0]], [0, 0, 0, 1])

    assert coder.cuts_[0].tolist() == [2.0]
    assert coder.transform([[np.nan], [2.5]]).ravel().tolist() == [2, 1]
    assert coder.n_codes_.tolist() == [3]


def test_a_continuous_target_is_cut_where_its_quantile_classes_part():
    x = np.arange(200.0)
    y = np.where(x < 120, 0.0, 10.0) + x / 1000

    assert TwoWaySplit(n_target_classes=2).fit(x[:, None], y).cuts_[0][0] == pytest.approx(99.5)  # at the median


def test_values_that_say_nothing_are_not_cut():
    assert TwoWaySplit().fit([[1.0], [1.0], [2.0], [2.0]], [0, 1, 0, 1]).cuts_[0].size == 0
