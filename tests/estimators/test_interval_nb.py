import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import IntervalNBRegressor, MixedNB

METHODS = ["intervals", "kernel"]
rows = st.lists(
    st.tuples(st.floats(-5, 5), st.sampled_from(["u", "v", None]), st.integers(-20, 20)), min_size=8, max_size=30
)
tenths = st.lists(  # their sums round, and few values tie at quartiles
    st.tuples(st.sampled_from([0.1, 0.3, -0.7, None]), st.just(0.1), st.integers(-9, 9)), min_size=8, max_size=30
)


def mixed_table(rows):
    return np.array([row[:2] for row in rows], dtype=object), np.array([row[2] for row in rows]) / 2


@parametrize_with_checks(
    [
        IntervalNBRegressor(),
        IntervalNBRegressor(method="kernel"),
        IntervalNBRegressor(strategy="equal_width"),
        IntervalNBRegressor(density="bins"),
    ]
)
def test_the_regressor_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_prediction_is_the_probability_weighted_sum_of_midpoints():
    # y in [0, 8] cut at 2, 4, 6: midpoints 1, 3, 5, 7
    X, _ = load_diabetes(return_X_y=True)
    X = X[:90]
    y = np.linspace(0, 8, 90) + 0.05 * np.sin(np.arange(90))
    y[[0, -1]] = 0, 8
    classes = np.digitize(y, [2, 4, 6])

    model = IntervalNBRegressor(4, strategy="equal_width").fit(X, y)

    assert model.midpoints_.tolist() == [1, 3, 5, 7]
    by_hand = MixedNB().fit(X, classes).predict_proba(X) @ [1, 3, 5, 7]
    np.testing.assert_allclose(model.predict(X), by_hand)


def test_quantile_intervals_hold_equal_numbers_of_rows():
    y = np.random.default_rng(0).lognormal(size=100)

    model = IntervalNBRegressor(5).fit(np.zeros((100, 1)), y)

    assert np.histogram(y, model.edges_)[0].tolist() == pytest.approx([20] * 5, abs=1)


def test_intervals_without_a_row_are_joined_to_the_one_below():
    y = np.array([0.0, 0.5, 9.5, 10.0])

    model = IntervalNBRegressor(10, strategy="equal_width").fit(np.zeros((4, 1)), y)

    assert model.edges_.tolist() == [0, 9, 10]


def test_the_kernel_variant_is_a_grid_of_kernel_estimates_of_x_and_y_together():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = x + 0.5 * rng.normal(size=40)

    model = IntervalNBRegressor(4, method="kernel").fit(x[:, None], y)

    near = norm.pdf((y[:, None] - model.midpoints_) / model.bandwidth_)
    near /= near.sum(axis=1, keepdims=True)  # share of each row at each midpoint
    widths = np.array([kernel[2] for kernel in model.model_.kernels_[0]])
    kernels = norm.pdf((0.3 - x[:, None]) / widths) / widths
    joint = (near * kernels).sum(axis=0)  # sum over rows of P(midpoint | row) times the kernel around x, up to 1 / 40
    np.testing.assert_allclose(model.predict([[0.3]]), joint @ model.midpoints_ / joint.sum())


@pytest.mark.parametrize("method", METHODS)
def test_a_clear_relation_is_found(method):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(600, 1))
    y = X[:, 0] ** 3 + 0.1 * rng.normal(size=600)

    model = IntervalNBRegressor(20, method=method).fit(X[:400], y[:400])

    assert model.score(X[400:], y[400:]) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_target_is_predicted(method):
    model = IntervalNBRegressor(method=method).fit(np.arange(6.0)[:, None], np.full(6, 2.5))

    assert model.predict([[1.0], [9.0]]).tolist() == [2.5, 2.5]


@pytest.mark.parametrize("method", METHODS)
def test_a_raw_frame_with_holes_is_taken(method):
    table = pd.DataFrame({"word": ["lo", "hi", None] * 10, "number": [1.0, np.nan, 2.0] * 10})
    y = np.tile([0.0, 10.0, 5.0], 10)

    predicted = IntervalNBRegressor(3, method=method).fit(table, y).predict(table)

    assert predicted[0] < predicted[2] < predicted[1]


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=50, deadline=None)
@given(rows=rows | tenths, random=st.randoms(use_true_random=False), data=st.data())
def test_order_changes_nothing_and_a_weight_is_a_number_of_repetitions(method, rows, random, data):
    X, y = mixed_table(rows)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    times[0] = 1
    order = list(range(times.sum()))
    random.shuffle(order)

    weighted = IntervalNBRegressor(4, method=method).fit(X, y, sample_weight=times).predict(X)

    repeated = IntervalNBRegressor(4, method=method).fit(X.repeat(times, 0)[order][:, ::-1], y.repeat(times)[order])
    np.testing.assert_allclose(weighted, repeated.predict(X[:, ::-1]), atol=1e-9)


def test_a_quartile_between_two_values_is_their_middle_for_weights_and_for_repetitions():
    x = np.array([0.0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -3, -3])[:, None]
    y = np.array([0.0, 0, 0, 0, -1, 0, -1, -14, 2, 0, 0, 0, 0, 0, -14, -14])
    times = np.array([1, 1, 1, 1, 1, 2, 1, 1, 3, 1, 1, 3, 3, 2, 3, 3])

    weighted = IntervalNBRegressor(4, method="kernel").fit(x, y, sample_weight=times)

    # 28 rows: -3 six times, -1 once, 0 for the rest; the first quartile, 7 rows, ends between -1 and 0
    bandwidth = pytest.approx(0.9 * (0 - -0.5) / 1.349 * 28**-0.2)
    repeated = IntervalNBRegressor(4, method="kernel").fit(x.repeat(times, 0), y.repeat(times))
    assert [kernel[2] for kernel in weighted.model_.kernels_[0]] == [bandwidth] * 3
    assert [kernel[2] for kernel in repeated.model_.kernels_[0]] == [bandwidth] * 3
    np.testing.assert_allclose(weighted.predict(x), repeated.predict(x), atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(rows)
def test_predictions_stay_between_the_midpoints(rows):
    X, y = mixed_table(rows)

    model = IntervalNBRegressor(4).fit(X, y)

    predicted = model.predict(X)
    assert model.midpoints_[0] - 1e-9 <= predicted.min()
    assert predicted.max() <= model.midpoints_[-1] + 1e-9


def test_a_pickled_model_gives_the_same_predictions():
    X, y = load_diabetes(return_X_y=True)
    model = IntervalNBRegressor().fit(X, y)

    copy = pickle.loads(pickle.dumps(model))

    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model, words",
    [
        (IntervalNBRegressor(1), "n_intervals must be 2 or more, but it is 1"),
        (IntervalNBRegressor(method="exact"), "method must be one of intervals, kernel"),
        (IntervalNBRegressor(strategy="kmeans"), "strategy must be one of quantile, equal_width"),
    ],
)
def test_a_wrong_setting_is_named(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit([[0.0], [1.0]], [0.0, 1.0])


def test_a_target_with_holes_is_explained():
    with pytest.raises(ValueError, match="Input y contains NaN"):
        IntervalNBRegressor().fit([[0.0], [1.0]], [0.0, np.nan])


def test_categories_texts_and_missing_cells_are_said_to_be_taken():
    tags = IntervalNBRegressor().__sklearn_tags__().input_tags

    assert (tags.categorical, tags.string, tags.allow_nan) == (True, True, True)


def test_a_target_on_a_border_belongs_to_the_interval_above():
    # cuts at 2.5, 5 and 7.5: the first two rows are in intervals of their own, the third but one is empty
    model = IntervalNBRegressor(4, strategy="equal_width").fit([[0.0], [1.0], [2.0]], [0.0, 2.5, 10.0])

    assert model.edges_.tolist() == [0, 2.5, 7.5, 10]
    assert model.model_.class_count_.tolist() == [1, 1, 1]


def test_intervals_have_no_bandwidth_not_even_that_of_a_fit_before():
    X, y = np.arange(40.0)[:, None], np.arange(40.0)

    model = IntervalNBRegressor(4, method="kernel").fit(X, y)
    assert model.bandwidth_ > 0

    model.set_params(method="intervals").fit(X, y)
    assert model.bandwidth_ is None


@pytest.mark.parametrize("alpha", [0.5, 20.0])
def test_categories_are_smoothed_by_as_many_rows_as_were_asked_for(alpha):
    X, y = np.repeat(np.array(["calm", "storm"], dtype=object), [25, 15])[:, None], np.arange(40.0)
    classes = np.digitize(y, [20])

    model = IntervalNBRegressor(2, strategy="equal_width", alpha=alpha).fit(X, np.where(y == 39, 40, y))

    expected = MixedNB(alpha=alpha).fit(X, classes).predict_proba(X)
    np.testing.assert_allclose(model.predict_interval_proba(X), expected)
