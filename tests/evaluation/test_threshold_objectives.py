"""From a purpose in a study to a threshold and what it comes to, on five rows that fit on the screen."""

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from evenhand.evaluation.threshold_objectives import (
    capacity_share,
    capacity_words,
    cost_matrix,
    cross_thresholds,
    figures_by_purpose,
    n_days,
    outcome_of,
    purpose_mistakes,
    purpose_of,
    threshold_for,
    usual_purpose,
)
from evenhand.statistics.thresholds import (
    best_by_cost,
    best_by_metric,
    decide_by_cost,
    operating_points,
    with_precision,
)
from evenhand.study.study import Capacity, Decide

TRUTH, SCORES = np.array([1, 0, 1, 1, 0]), np.array([0.9, 0.8, 0.7, 0.6, 0.5])
TWO, THREE = ("calm", "storm"), ("calm", "rain", "storm")


def decide(**purpose):
    return Decide.model_validate(purpose)


def purpose(share=None, **given):
    return purpose_of(decide(**given), TWO, share)


@pytest.mark.parametrize(
    ("given", "share", "kind", "figure", "level", "words"),
    [
        ({"cost": {"storm": {"calm": 5}}}, None, "cost", "cost_per_row", 0, "least cost"),
        ({"metric": "f1"}, None, "metric", "f1", 0, "best f1"),
        ({"metric": "f_beta", "beta": 2}, None, "metric", "f_beta", 0, "best f_beta with beta 2"),
        ({"precision": 0.8}, None, "precision", "recall", 0.8, "precision of at least 0.8"),
        ({"false_positive_rate": 0.1}, None, "false_positive_rate", "recall", 0.1,
         "false positive rate of at most 0.1"),
        ({"capacity": {"share": 0.25}}, 0.25, "capacity", "recall", 0.25, "at most 0.25 of all rows"),
    ],
)  # fmt: skip
def test_a_purpose_is_put_into_numbers_and_words(given, share, kind, figure, level, words):
    found = purpose(share, **given)

    assert (found.kind, found.figure, found.level, found.words) == (kind, figure, level, words)
    assert found.lower_is_better is (kind == "cost")


def test_beta_is_one_unless_it_is_given():
    assert purpose(metric="f_beta", beta=2).beta == 2
    assert purpose(metric="f1").beta == 1
    assert (usual_purpose(2).figure, usual_purpose(3).figure) == ("f1", "f1_macro")


@pytest.mark.parametrize(
    ("capacity", "words"),
    [
        (Capacity(alerts=3, per=100), "at most 3 alerts per 100 rows"),
        (Capacity(alerts=3, per="day"), "at most 3 alerts per day"),
    ],
)
def test_a_capacity_is_said_as_people_say_it(capacity, words):
    assert capacity_words(capacity) == words


def test_costs_that_are_not_named_are_nothing():
    assert cost_matrix({"storm": {"calm": 5}, "calm": {"rain": 2}}, THREE).tolist() == [[0, 2, 0], [0, 0, 0], [5, 0, 0]]
    assert cost_matrix([[0, 1], [9, 0]], TWO).tolist() == [[0, 1], [9, 0]]


def test_a_capacity_is_a_share_of_rows():
    days = np.array(["2026-01-01T09:00", "2026-01-01T10:00", "2026-01-03T23:59"], dtype="datetime64[s]")

    assert capacity_share(Capacity(share=0.25), 3, None) == 0.25
    assert capacity_share(Capacity(alerts=3, per=100), 3, None) == 0.03
    assert capacity_share(Capacity(alerts=2, per="day"), 24, days) == 2 * 3 / 24  # first to third of January


def test_days_are_counted_with_the_first_and_the_last():
    seconds = np.array([0.0, 86_399.0, 86_400.0, np.nan, np.inf])

    assert n_days(seconds, 86_400.0) == 2
    assert n_days(np.array([5, 7]), None) == 3
    assert n_days(np.array(["2026-01-01", "NaT", "2026-01-10"], dtype="datetime64[D]"), None) == 10
    assert n_days(np.array(["NaT"], dtype="datetime64[D]"), None) == 1


@pytest.mark.parametrize(
    ("given", "threshold", "figure"),
    [
        # flagged down to .9 .8 .7 .6 .5: 1/0 1/1 2/1 3/1 3/2 right and wrong, of three and two
        ({"cost": {"storm": {"calm": 5}, "calm": {"storm": 1}}}, 0.6, 1 / 5),
        ({"cost": {"storm": {"calm": 1}, "calm": {"storm": 5}}}, 0.9, 2 / 5),
        ({"precision": 0.75}, 0.6, 3 / 4),
        ({"precision": 0.76}, 0.9, 1),
        ({"false_positive_rate": 0.5}, 0.6, 1),
        ({"false_positive_rate": 0.49}, 0.9, 1 / 3),
        ({"metric": "f1"}, 0.6, 6 / 7),
        ({"metric": "f_beta", "beta": 0.1}, 0.9, 1.01 / (0.01 * 3 + 1)),
        ({"metric": "balanced_accuracy"}, 0.6, 0.75),
    ],
)
def test_the_threshold_serves_its_purpose_best(given, threshold, figure):
    found = threshold_for(purpose(**given), TRUTH, SCORES)

    assert found.threshold == threshold
    assert found.figure == pytest.approx(figure)


def test_rows_that_are_left_and_found_may_cost_too():
    # right and wrong, down to .9 .8 .7 .6 .5: 1/0 1/1 2/1 3/1 3/2; found cost 1/2, missed 5, left 1,
    # called wrongly 2: 17 with none, then 12.5, 13.5, 9, 4.5, 5.5
    found = best_by_cost(operating_points(TRUTH, SCORES), np.array([[1, 2], [5, 0.5]]))

    assert (found.threshold, found.figure) == (0.6, pytest.approx(4.5 / 5))
    assert (found.recall, found.precision) == (1, 3 / 4)
    assert (found.false_positive_rate, found.flagged_share) == (1 / 2, 4 / 5)


@pytest.mark.parametrize("weight", [None, np.array([1.0, 1.0, 0.0, 0.0, 1.0])])
def test_a_threshold_needs_rows_of_both_sides(weight):
    truth = np.array([0, 0, 1, 1, 0]) if weight is not None else np.zeros(5)

    with pytest.raises(ValueError, match=r"needs rows of class 0 and class 1, but the rows hold \[0(\.0)?\]"):
        operating_points(truth, SCORES, weight)


def test_costs_and_metrics_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="cost matrix has 3 rows, but there are 2 classes"):
        decide_by_cost(np.array([[0.5, 0.5]]), np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"No threshold can be chosen by 'accuracy'\. Choose one of f_beta, matthews"):
        best_by_metric(operating_points(TRUTH, SCORES), "accuracy")
    with pytest.raises(ValueError, match=r"A precision of 1\.1 was asked, but the best on these rows is 1\.0000"):
        with_precision(operating_points(TRUTH, SCORES), 1.1)


def test_the_correlation_of_matthews_is_that_of_scikit_learn():
    points = operating_points(TRUTH, SCORES)

    found = best_by_metric(points, "matthews_corrcoef")

    each = [matthews_corrcoef(TRUTH, limit <= SCORES) for limit in points.thresholds]
    assert found.figure == pytest.approx(max(each))
    assert found.threshold == points.thresholds[int(np.argmax(each))]


def test_classes_of_least_expected_cost_are_decided_for():
    # a row of .9 and .1: to call it 0 costs .1 x 20, to call it 1 costs .9
    found = decide_by_cost(np.array([[0.9, 0.1], [0.99, 0.01]]), np.array([[0, 1], [20, 0]]))

    assert found.tolist() == [1, 0]


@pytest.mark.parametrize(("share", "threshold"), [(0.4, 0.8), (0.39, 0.9), (0.1, np.inf), (0.99, 0.6)])
def test_a_capacity_flags_as_many_rows_as_can_be_looked_at(share, threshold):
    asked = purpose(share, capacity={"share": share})

    found = threshold_for(asked, TRUTH, SCORES)

    assert found.threshold == threshold
    assert found.flagged_share <= share


def test_rows_that_count_twice_fill_the_capacity_twice():
    asked = purpose(0.5, capacity={"share": 0.5})

    # the first row counts for three of seven, the second would make four, and three and a half is what is allowed
    assert threshold_for(asked, TRUTH, SCORES, np.array([3, 1, 1, 1, 1])).threshold == 0.9


def test_each_row_is_judged_by_the_threshold_of_the_others():
    truth, scores = np.tile(TRUTH, 2), np.r_[SCORES, SCORES / 10]
    codes = np.repeat([0, 1], 5)

    found = cross_thresholds(purpose(precision=0.75), truth, scores, codes)

    assert found.tolist() == pytest.approx([0.06] * 5 + [0.6] * 5)


def test_where_no_threshold_of_the_others_serves_nothing_is_flagged():
    truth, codes = np.array([1, 0, 0, 0]), np.array([0, 0, 1, 1])

    found = cross_thresholds(purpose(precision=0.75), truth, np.array([0.9, 0.1, 0.8, 0.2]), codes)

    assert found.tolist() == [np.inf, np.inf, 0.9, 0.9]


TABLES = np.array([[[6, 2], [1, 3]], [[4, 0], [0, 0]]])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cost": {"storm": {"calm": 5}, "calm": {"storm": 1}}}, [(2 + 5) / 12, 0]),
        ({"precision": 0.5}, [3 / 4, np.nan]),
        ({"metric": "f_beta", "beta": 2}, [5 * 3 / (5 * 3 + 4 * 1 + 2), np.nan]),
        ({"metric": "balanced_accuracy"}, [(6 / 8 + 3 / 4) / 2, np.nan]),
    ],
)
def test_figures_of_tables_are_worked_out_from_their_cells(given, expected):
    found = figures_by_purpose(purpose(**given), TABLES[: 1 if "metric" in given and "beta" not in given else 2])

    np.testing.assert_allclose(found, expected[: len(found)])


def test_what_predictions_come_to_is_counted():
    predicted = np.array([1, 1, 0, 1, 0])

    found = outcome_of(purpose(cost={"storm": {"calm": 5}, "calm": {"storm": 1}}), TRUTH, predicted, 2)

    # of three storms two are found and one is missed, of two calm rows one is called wrongly
    assert (found.n_rows, found.counts) == (5, ((1, 1), (1, 2)))
    assert found.figure == found.cost == (1 + 5) / 5
    assert (found.precision, found.recall) == (2 / 3, 2 / 3)
    assert (found.false_positive_rate, found.flagged_share) == (1 / 2, 3 / 5)


def test_a_row_that_repeats_judged_several_times_counts_once():
    predicted = np.array([1, 1, 0, 1, 0])
    asked = purpose(cost={"storm": {"calm": 5}, "calm": {"storm": 1}})

    once = outcome_of(asked, TRUTH, predicted, 2)
    twice = outcome_of(asked, np.tile(TRUTH, 2), np.concatenate([predicted, 1 - predicted]), 2, n_repeats=2)

    # the second time everything is called the other way, so that half of each class is found
    assert (twice.n_rows, twice.counts) == (5, ((1.0, 1.0), (1.5, 1.5)))
    assert outcome_of(asked, np.tile(TRUTH, 2), np.tile(predicted, 2), 2, n_repeats=2) == once


def test_shares_of_nothing_are_missing():
    found = outcome_of(purpose(precision=0.5), np.zeros(4, int), np.zeros(4, int), 2)

    assert (found.precision, found.recall, found.cost) == (None, None, None)
    assert found.false_positive_rate == found.flagged_share == 0


def test_of_three_classes_there_are_counts_and_costs_alone():
    asked = purpose_of(decide(cost={"storm": {"calm": 6}}), THREE)

    found = outcome_of(asked, np.array([0, 1, 2]), np.array([0, 1, 0]), 3)

    assert found.figure == found.cost == 2
    assert (found.counts, found.recall) == (((1, 0, 0), (0, 1, 0), (1, 0, 0)), None)


TEXTS, NUMBERS = np.array(["a", "b"]), np.array([0.0, 1.0])


@pytest.mark.parametrize(
    ("given", "classes", "times", "words"),
    [
        ({"precision": 0.5}, THREE, None, "precision needs two classes, but there are 3: give cost"),
        ({"cost": {"strom": {"calm": 1}}}, TWO, None, "'strom'"),
        ({"cost": [[0, 1], [1, 0]]}, THREE, None, "the matrix has 2 rows, but there are 3 classes: calm, rain, storm"),
        ({"capacity": {"alerts": 1, "per": "day"}}, TWO, TEXTS, "columns.time holds text"),
        ({"capacity": {"alerts": 1, "per": "day"}}, TWO, NUMBERS, "say how many make a day"),
        ({"capacity": {"alerts": 5, "per": "day", "day": 1}}, TWO, NUMBERS,
         "5 alerts a day is every row, as a day has 5: lower it"),
    ],
)  # fmt: skip
def test_a_purpose_that_does_not_fit_the_rows_is_reported(given, classes, times, words):
    ((place, told),) = purpose_mistakes(decide(**given), classes, 10, times)

    assert place[0] == "decide"
    assert words in told


@pytest.mark.parametrize(
    ("given", "classes", "times"),
    [
        ({"cost": {"storm": {"calm": 1}}}, THREE, None),
        ({"capacity": {"alerts": 4, "per": "day", "day": 1}}, TWO, NUMBERS),
        ({"capacity": {"alerts": 4, "per": 100}}, TWO, TEXTS),
        ({"precision": 0.5}, TWO, None),
    ],
)
def test_a_purpose_that_fits_has_no_mistakes(given, classes, times):
    assert purpose_mistakes(decide(**given), classes, 10, times) == []
