import json
import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import MDLPDiscretizer, TwoWaySplit

HERE = Path(__file__).parent
ORANGE_CUTS = json.loads((HERE / "entropy_cuts.json").read_text())
DATA_SETS = runpy.run_path(str(HERE.parents[1] / "benchmarks" / "make_entropy_cuts.py"))["data_sets"]()

rows = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2)), min_size=6, max_size=60)


def as_arrays(rows):
    table = np.array(rows)
    signal = (table[:, 0] > 4) + (table[:, 2] == 2)  # a target that column 0 partly explains
    return table[:, :2].astype(float), signal


@parametrize_with_checks([MDLPDiscretizer()])
def test_mdlp_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", sorted(ORANGE_CUTS))
def test_cut_points_are_those_of_orange(name):
    X, y = DATA_SETS[name]

    cuts = MDLPDiscretizer().fit(X, y).cuts_

    assert [len(points) for points in cuts] == [len(points) for points in ORANGE_CUTS[name]]
    np.testing.assert_allclose(np.concatenate(cuts), np.concatenate(ORANGE_CUTS[name]), rtol=1e-12)


def test_a_perfect_cut_is_taken_when_it_pays_and_not_before():
    # a a b b, cut in the middle: gain 1, k = 2, k1 = k2 = 1, price is (log2(3) + log2(7) - 2) / 4 = 0.60: taken.
    # a b b a, cut after the first: gain 1 - 3/4 * 0.918 = 0.31, price (log2(3) + log2(7) - 2 + 1.84) / 4 = 1.06: not.
    X = np.arange(4.0)[:, None]

    apart = MDLPDiscretizer().fit(X, ["a", "a", "b", "b"])
    mixed = MDLPDiscretizer().fit(X, ["a", "b", "b", "a"])

    assert apart.cuts_[0].tolist() == [1.5]
    assert mixed.cuts_[0].tolist() == []


def test_missing_values_have_the_last_code_and_move_no_cut():
    X = np.array([[0.0], [1.0], [np.nan], [2.0], [3.0], [np.nan]])
    y = [0, 0, 0, 1, 1, 1]

    coder = MDLPDiscretizer().fit(X, y)

    assert coder.cuts_[0].tolist() == [1.5]
    assert coder.transform(X).ravel().tolist() == [0, 0, 2, 1, 1, 2]
    assert coder.n_codes_.tolist() == [3]


def test_empty_and_constant_columns_get_no_cut():
    empty_and_constant = np.array([[np.nan, 1.0]] * 4)

    coder = MDLPDiscretizer().fit(empty_and_constant, [0, 0, 1, 1])

    assert coder.transform(empty_and_constant).tolist() == [[1, 0]] * 4


def test_a_continuous_target_is_cut_into_quantile_classes():
    X, y = load_diabetes(return_X_y=True)
    thirds = np.quantile(y, [1 / 3, 2 / 3], method="averaged_inverted_cdf")

    coder = MDLPDiscretizer(n_target_classes=3).fit(X, y)

    by_hand = MDLPDiscretizer().fit(X, np.searchsorted(thirds, y, side="right"))
    assert sum(map(len, coder.cuts_)) > 5  # of ten columns
    for points, expected in zip(coder.cuts_, by_hand.cuts_, strict=True):
        np.testing.assert_array_equal(points, expected)


@settings(max_examples=50, deadline=None)
@given(rows)
def test_a_strictly_rising_transform_changes_no_code(rows):
    X, y = as_arrays(rows)

    codes = MDLPDiscretizer().fit_transform(X, y)

    np.testing.assert_array_equal(codes, MDLPDiscretizer().fit_transform(X**3 + X - 7, y))


@settings(max_examples=50, deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(rows, random):
    X, y = as_arrays(rows)
    order = list(range(len(X)))
    random.shuffle(order)

    codes = MDLPDiscretizer().fit_transform(X, y)

    np.testing.assert_array_equal(codes[order], MDLPDiscretizer().fit_transform(X[order], y[order]))
    np.testing.assert_array_equal(codes[:, ::-1], MDLPDiscretizer().fit_transform(X[:, ::-1], y))


@settings(max_examples=50, deadline=None)
@given(rows, st.data())
def test_a_weight_is_a_number_of_repetitions(rows, data):
    X, y = as_arrays(rows)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    times[0] = 1

    weighted = MDLPDiscretizer().fit(X, y, sample_weight=times).transform(X)

    np.testing.assert_array_equal(weighted, MDLPDiscretizer().fit(X.repeat(times, 0), y.repeat(times)).transform(X))


def test_a_row_of_weight_0_has_no_part_in_the_classes_of_a_continuous_target():
    X, y = np.arange(60.0)[:, None] % 7, np.append(np.maximum(np.arange(59) - 20, 0) / 2, -9.0)

    coder = MDLPDiscretizer().fit(X, y, sample_weight=np.append(np.ones(59), 0))

    without = MDLPDiscretizer().fit(X[:-1], y[:-1])
    np.testing.assert_array_equal(coder.classes_, without.classes_)
    np.testing.assert_array_equal(coder.cuts_[0], without.cuts_[0])


def test_fractional_weights_scale_like_whole_ones():
    X, y = DATA_SETS["wine"]
    slightly_uneven = np.where(np.arange(len(X)) % 2, 1.0 + 1e-9, 1.0)

    coder = MDLPDiscretizer().fit(X, y, sample_weight=slightly_uneven)

    np.testing.assert_array_equal(np.concatenate(coder.cuts_), np.concatenate(MDLPDiscretizer().fit(X, y).cuts_))


def test_rows_that_count_by_halves_are_cut_where_twice_as_many_whole_ones_are():
    X, y = DATA_SETS["wine"]
    halves = np.where(np.arange(len(X)) % 3, 0.5, 1.5)

    coder = TwoWaySplit().fit(X, y, sample_weight=halves)

    whole = TwoWaySplit().fit(X, y, sample_weight=2 * halves)  # a ratio of counts is that of their halves
    np.testing.assert_array_equal(np.concatenate(coder.cuts_), np.concatenate(whole.cuts_))


def test_hundreds_of_classes_are_cut_where_that_pays():
    # 600 classes of one row, cut in half: a gain of 1 bit. The description: log2(3^600 - 2) = 951, less 600 log2 600 -
    # 2 * 300 log2 300 = 600, and log2 599 = 9 for the place: 360 bits over 600 rows, .6 of a bit each
    names = [f"class {k:03}" for k in range(600)]

    cuts = MDLPDiscretizer().fit(np.arange(600.0)[:, None], names).cuts_[0]

    assert 299.5 in cuts


@pytest.mark.parametrize(("y", "cut"), [(["a", "b", "b"], 0.5), (["b", "b", "a"], 1.5)])
def test_one_row_is_parted_from_two_others(y, cut):
    # entropy .918 of three rows: 2.755 bits are gained, log2 2 + log2 7 - 2 * .918 = 1.971 described
    assert MDLPDiscretizer().fit([[0.0], [1.0], [2.0]], y).cuts_[0].tolist() == [cut]


def test_a_row_cannot_count_less_than_nothing():
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        MDLPDiscretizer().fit([[0.0], [1.0]], [0, 1], sample_weight=[1, -1])


def test_a_pickled_coder_gives_the_same_codes():
    X, y = DATA_SETS["iris"]
    coder = MDLPDiscretizer().fit(X, y)

    copy = pickle.loads(pickle.dumps(coder))

    np.testing.assert_array_equal(copy.transform(X), coder.transform(X))


def test_one_target_class_for_a_continuous_target_is_refused():
    X, y = load_diabetes(return_X_y=True)

    with pytest.raises(ValueError, match="n_target_classes of 2 or more, but it is 1"):
        MDLPDiscretizer(n_target_classes=1).fit(X, y)


def test_it_says_that_it_needs_a_target():
    assert get_tags(MDLPDiscretizer()).target_tags.required
