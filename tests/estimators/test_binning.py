import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import CutPoints
from evenhand.estimators._columns import ReadColumns


@parametrize_with_checks([CutPoints(), CutPoints("equal_width"), CutPoints("kmeans"), CutPoints("at", at=0.5)])
def test_cut_points_keep_the_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ours, theirs", [("quantile", "quantile"), ("equal_width", "uniform"), ("kmeans", "kmeans")])
def test_cut_points_agree_with_scikit_learn(ours, theirs):
    X = np.random.default_rng(0).lognormal(size=(200, 3))
    reference = KBinsDiscretizer(5, encode="ordinal", strategy=theirs, quantile_method="averaged_inverted_cdf")

    codes = CutPoints(ours, n_bins=5).fit_transform(X)

    np.testing.assert_array_equal(codes, reference.fit_transform(X))


def test_equal_widths_of_0_to_10_in_5_bins_are_2():
    X = np.array([[0.0], [1.0], [10.0]])

    coder = CutPoints("equal_width", n_bins=5).fit(X)

    np.testing.assert_allclose(coder.cuts_[0], [2, 4, 6, 8])


def test_missing_values_have_the_last_code_and_move_no_cut():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    with_gaps = np.vstack([X, [[np.nan]], [[np.nan]]])

    coder = CutPoints(n_bins=2).fit(with_gaps)

    assert coder.cuts_[0].tolist() == CutPoints(n_bins=2).fit(X).cuts_[0].tolist()
    assert coder.transform(with_gaps).ravel().tolist() == [0, 0, 1, 1, 2, 2]
    assert coder.n_codes_.tolist() == [3]


def test_a_value_equal_to_at_stays_in_the_lower_half():
    X = np.array([[4.9, 0.0], [5.0, -1.0], [5.1, 1.0]])

    codes = CutPoints("at", at=[5.0, 0.0]).fit_transform(X)

    assert codes.tolist() == [[0, 0], [0, 0], [1, 1]]


def test_quantiles_that_coincide_are_one_cut():
    mostly_zero = np.array([[0.0]] * 90 + [[1.0]] * 5 + [[2.0]] * 5)

    coder = CutPoints(n_bins=20).fit(mostly_zero)

    assert len(coder.cuts_[0]) == len(np.unique(coder.cuts_[0]))
    assert np.unique(coder.transform(mostly_zero)).tolist() == list(range(len(coder.cuts_[0]) + 1))


@pytest.mark.parametrize("strategy", ["quantile", "equal_width", "kmeans"])
def test_columns_of_one_value_or_none_get_no_cut(strategy):
    constant_and_empty = np.array([[7.0, np.nan], [7.0, np.nan]])

    coder = CutPoints(strategy).fit(constant_and_empty)

    assert coder.transform(constant_and_empty).tolist() == [[0, 1], [0, 1]]
    assert coder.n_codes_.tolist() == [2, 2]


def test_kmeans_of_few_values_needs_no_more_clusters_than_values():
    X = np.array([[0.0], [0.0], [1.0], [5.0]])

    coder = CutPoints("kmeans", n_bins=10).fit(X)

    assert coder.cuts_[0].tolist() == [0.5, 3.0]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(2, 6))
def test_a_code_is_the_number_of_cuts_not_above_the_value(values, n_bins):
    X = np.array(values)[:, None]

    coder = CutPoints(n_bins=n_bins).fit(X)

    expected = (coder.cuts_[0][None, :] <= X).sum(axis=1)
    assert coder.transform(X).ravel().tolist() == expected.tolist()


@pytest.mark.parametrize("strategy", ["quantile", "equal_width", "kmeans"])
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 3)), min_size=2, max_size=30))
def test_a_weight_is_a_number_of_repetitions(strategy, rows):
    values, times = np.array([(0, 1), *rows]).T
    X = values[:, None].astype(float)

    weighted = CutPoints(strategy, n_bins=4).fit(X, sample_weight=times)

    np.testing.assert_allclose(weighted.cuts_[0], CutPoints(strategy, n_bins=4).fit(X.repeat(times, 0)).cuts_[0])


def test_a_pickled_coder_gives_the_same_codes():
    X = np.random.default_rng(0).normal(size=(20, 2))
    coder = CutPoints(n_bins=4).fit(X)

    copy = pickle.loads(pickle.dumps(coder))

    np.testing.assert_array_equal(copy.transform(X), coder.transform(X))


@pytest.mark.parametrize(
    "coder, words",
    [
        (CutPoints("median"), "strategy must be one of quantile, equal_width, kmeans, at"),
        (CutPoints(n_bins=1), "n_bins must be 2 or more, but it is 1"),
        (CutPoints("at"), "at is None"),
        (CutPoints("at", at=[1, 2, 3]), "one for each of the 2 columns"),
    ],
)
def test_a_wrong_setting_is_named(coder, words):
    with pytest.raises(ValueError, match=words):
        coder.fit(np.zeros((3, 2)))


@pytest.mark.parametrize(
    "coder", [CutPoints(n_bins=3), CutPoints("equal_width"), CutPoints("kmeans", 3), CutPoints("at", at=[0.0, 1.0])]
)
def test_columns_that_are_read_one_at_a_time_are_cut_as_those_of_an_array(coder):
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[::9, 1] = np.nan
    read = ReadColumns(X.shape, lambda j: X[:, j])
    whole = clone(coder).fit(X)

    found = clone(coder)
    codes = found.fit_transform(read)

    assert [each.tolist() for each in found.cuts_] == [each.tolist() for each in whole.cuts_]
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes, whole.transform(X))
    np.testing.assert_array_equal(found.transform(X), codes)
