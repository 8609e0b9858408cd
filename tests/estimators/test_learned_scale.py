"""Scales learned from the target: what tells of it is stretched, what does not shrinks."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import LearnedScale


def one_tells(n_rows=250, n_noise=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 1 + n_noise)) * np.logspace(0, 3, 1 + n_noise)
    return X, X[:, 0]


@parametrize_with_checks([LearnedScale(n_steps=3)])
def test_learned_scales_keep_the_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", ["classes", "words", "numbers"])
def test_the_column_that_tells_of_the_target_is_stretched_whatever_its_unit(kind):
    X, signal = one_tells()
    y = {"classes": signal > 0, "words": np.where(signal > 0, "a", "b"), "numbers": signal**2}[kind]

    scales = LearnedScale(random_state=0).fit(X, y).scales_

    assert scales[0] > 2 * scales[1:].max()


def test_squares_of_scales_have_the_mean_1_and_columns_the_mean_0():
    X, signal = one_tells()

    found = LearnedScale(random_state=0).fit(X, signal > 0)

    assert np.mean(found.scales_**2) == pytest.approx(1)
    assert found.transform(X).std(axis=0) == pytest.approx(found.scales_)
    assert found.transform(X).mean(axis=0) == pytest.approx(0, abs=1e-9)


def test_the_order_of_columns_changes_nothing():
    X, signal = one_tells()

    given, turned = (LearnedScale(random_state=0).fit(each, signal > 0).scales_ for each in (X, X[:, ::-1]))

    np.testing.assert_allclose(turned[::-1], given, rtol=1e-2)


def test_columns_that_tell_nothing_are_left_even():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 20)), rng.integers(0, 2, 80)

    found = LearnedScale(random_state=0).fit(X, y)

    assert found.boldness_ == 0
    assert found.scales_ == pytest.approx(1)


def test_a_constant_column_stays_in_the_middle_and_one_class_leaves_scales_even():
    X, signal = one_tells(n_noise=1)
    with_constant = np.column_stack([X, np.full(len(X), 7.0)])

    found = LearnedScale().fit(with_constant, signal > 0)
    even = LearnedScale().fit(X, np.ones(len(X), dtype=int))

    assert (found.transform(with_constant)[:, 2] == 0).all()
    assert even.scales_.tolist() == [1.0, 1.0]


def test_only_so_many_rows_are_learned_from():
    X, signal = one_tells(600)
    y = np.where(np.arange(600) < 300, signal > 0, X[:, 1] > 0)

    drawn = [LearnedScale(n_learning=100, random_state=seed).fit(X, y).scales_ for seed in (0, 1)]

    assert not np.allclose(drawn[0], drawn[1])
    with pytest.raises(ValueError, match="n_learning must be 2 or more"):
        LearnedScale(n_learning=1).fit(X, y)
