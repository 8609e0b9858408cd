"""Thresholds for a purpose: found by hand, judged across folds, and refused where they do not fit."""

import numpy as np
import pandas as pd
import pytest
from makers import make_regression, make_study, work, write_two_clouds
from pydantic import ValidationError

from evenhand.errors import ConfError
from evenhand.evaluation.threshold_objectives import (
    capacity_share,
    cost_matrix,
    cross_thresholds,
    n_days,
    outcome_of,
    purpose_mistakes,
    purpose_of,
    threshold_for,
)
from evenhand.study.study import Capacity, Decide
from evenhand.tasks.checking import check

TRUTH = np.array([1, 1, 0, 1, 0, 0])
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])


def purpose(share=None, **given):
    return purpose_of(Decide.model_validate(given), (0, 1), share)


@pytest.mark.parametrize(
    ("given", "threshold", "figure"),
    [
        ({"cost": [[0, 1], [3, 0]]}, 0.6, 1 / 6),  # one false alarm, nothing missed, in six rows
        ({"cost": [[0, 3], [1, 0]]}, 0.8, 1 / 6),  # one missed, no false alarm
        ({"cost": [[-1, 1], [3, -2]]}, 0.6, (-2 * 3 + 1 - 2) / 6),  # being right may gain something
        ({"metric": "f1"}, 0.6, 6 / 7),
        ({"metric": "f_beta", "beta": 0.5}, 0.8, 2.5 / 2.75),
        ({"metric": "matthews_corrcoef"}, 0.8, 6 / np.sqrt(2 * 4 * 9)),
        ({"precision": 0.75}, 0.6, 3 / 4),
        ({"precision": 0.8}, 0.8, 1.0),
        ({"false_positive_rate": 0.34}, 0.6, 1.0),
        ({"false_positive_rate": 0.3}, 0.8, 2 / 3),
    ],
)
def test_each_purpose_has_the_threshold_that_one_finds_by_hand(given, threshold, figure):
    found = threshold_for(purpose(**given), TRUTH, SCORES)

    assert found.threshold == threshold
    assert found.figure == pytest.approx(figure)


def test_balanced_accuracy_weighs_both_classes_alike():
    found = threshold_for(purpose(metric="balanced_accuracy"), TRUTH[[0, 2, 3, 4, 5]], SCORES[:5])

    assert found.threshold == 0.7  # both positives and one of three negatives: (1 + 2/3) / 2, against 3/4 at 0.9
    assert found.figure == pytest.approx(5 / 6)


@pytest.mark.parametrize(("share", "threshold"), [(0.5, 0.7), (0.49, 0.8), (0.1, np.inf)])
def test_a_capacity_is_used_up_but_never_exceeded(share, threshold):
    found = threshold_for(purpose(share, capacity={"share": share}), TRUTH, SCORES)

    assert found.threshold == threshold


def test_a_row_is_judged_by_the_threshold_of_other_folds():
    truth, scores = np.tile([0, 1], 4), np.array([1.0, 2, 1, 2, 11, 12, 11, 12])
    codes = np.repeat([0, 1], 4)

    limits = cross_thresholds(purpose(metric="f1"), truth, scores, codes)

    np.testing.assert_array_equal(limits, [12.0] * 4 + [2.0] * 4)


def test_own_labels_have_no_say_in_the_threshold_that_a_row_is_judged_by():
    draw = np.random.default_rng(0)
    truth, scores, codes = draw.integers(0, 2, 60), draw.normal(size=60), np.arange(60) % 3
    turned = np.where(codes == 1, 1 - truth, truth)

    limits, after = (cross_thresholds(purpose(metric="f1"), each, scores, codes) for each in (truth, turned))

    np.testing.assert_array_equal(limits[codes == 1], after[codes == 1])
    assert (limits[codes != 1] != after[codes != 1]).any()


def test_nothing_is_flagged_by_folds_whose_others_cannot_serve_the_purpose():
    limits = cross_thresholds(
        purpose(precision=0.9), np.array([0, 1, 1, 0]), np.array([2.0, 1, 4, 3]), np.array([0, 0, 1, 1])
    )

    np.testing.assert_array_equal(limits, [4.0, 4.0, np.inf, np.inf])


def test_an_outcome_counts_what_a_decision_comes_to():
    found = outcome_of(purpose(cost=[[0, 1], [3, 0]]), TRUTH, SCORES >= 0.7, 2)

    assert found.counts == ((2, 1), (1, 2))
    assert (found.cost, found.figure) == (pytest.approx(4 / 6), pytest.approx(4 / 6))
    assert (found.precision, found.recall, found.false_positive_rate) == pytest.approx((2 / 3, 2 / 3, 1 / 3))
    assert found.flagged_share == 0.5


@pytest.mark.parametrize(
    ("given", "figure"),
    [
        ({"metric": "f_beta", "beta": 2}, 5 * 2 / (5 * 2 + 4 + 1)),
        ({"metric": "f1"}, 2 / 3),
        ({"metric": "matthews_corrcoef"}, 3 / 9),
        ({"precision": 0.5}, 2 / 3),
    ],
)
def test_outcomes_are_measured_by_the_purpose(given, figure):
    assert outcome_of(purpose(**given), TRUTH, SCORES >= 0.7, 2).figure == pytest.approx(figure)


def test_days_are_counted_from_the_first_to_the_last():
    dates = pd.to_datetime(["2024-02-28 23:00", "2024-03-01 01:00", None]).to_numpy()

    assert n_days(dates, None) == 3
    assert n_days(np.array([0.0, 86_399, 86_400, np.nan]), 86_400) == 2
    assert n_days(np.array([np.nan]), 1.0) == 1


@pytest.mark.parametrize(
    ("capacity", "share"),
    [
        ({"share": 0.02}, 0.02),
        ({"alerts": 5, "per": 1000}, 0.005),
        ({"alerts": 10, "per": "day", "day": 24}, 10 * 3 / 600),  # 600 rows on three days: 200 a day
    ],
)
def test_a_capacity_is_a_share_of_rows(capacity, share):
    hours = np.linspace(0, 71, 600)

    assert capacity_share(Capacity.model_validate(capacity), 600, hours) == pytest.approx(share)


def test_costs_named_by_class_come_in_the_order_of_the_classes():
    found = cost_matrix({"b": {"a": 5}, "a": {"b": 1, "a": -1}}, ("a", "b"))

    np.testing.assert_array_equal(found, [[-1, 1], [5, 0]])


@pytest.mark.parametrize(
    ("given", "place", "words"),
    [
        ({"cost": {"c": {"a": 1}}}, "decide.cost.c", "there is no class 'c'"),
        ({"cost": {"a": {"bb": 1}}}, "decide.cost.a", "there is no class 'bb'"),
        ({"cost": {"a": {"a": 1}}}, "decide.cost", "less than being right"),
        ({"cost": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}, "decide.cost", "3 rows, but there are 2 classes: a, b"),
        ({"capacity": {"alerts": 5, "per": "day"}}, "decide.capacity.day", "say how many make a day"),
        ({"capacity": {"alerts": 99, "per": "day", "day": 10}}, "decide.capacity.alerts", "a day has 10"),
    ],
)
def test_a_purpose_that_does_not_fit_the_rows_is_refused(given, place, words):
    ((found, message),) = purpose_mistakes(Decide.model_validate(given), ("a", "b"), 40, np.arange(40.0))

    assert ".".join(found) == place
    assert words in message


def test_several_classes_are_decided_by_cost_only():
    ((place, message),) = purpose_mistakes(Decide(precision=0.9), ("a", "b", "c"), 9, None)

    assert place == ("decide", "precision")
    assert "precision needs two classes, but there are 3: give cost" in message


def test_alerts_per_day_need_times():
    decide_by = Decide.model_validate({"capacity": {"alerts": 1, "per": "day"}})

    ((place, message),) = purpose_mistakes(decide_by, (0, 1), 2, np.array(["monday", "tuesday"], dtype=object))

    assert place == ("decide", "capacity", "per")
    assert "holds text" in message


@pytest.mark.parametrize(
    ("decide_by", "place", "words"),
    [
        ({}, "decide", "found none"),
        ({"cost": [[0, 1], [1, 0]], "precision": 0.5}, "decide", "found cost and precision"),
        ({"metric": "f_bta"}, "decide.metric", "Did you mean 'f_beta'"),
        ({"metric": "f1", "beta": 2}, "decide.beta", "beta goes with metric: f_beta"),
        ({"cost": [[0, 1]]}, "decide.cost", "found 1 rows of 2 numbers"),
        ({"cost": [[0, 1], [1]]}, "decide.cost", "found 2 rows of 2 and 1 numbers"),
        ({"cost": [[1, 0], [1, 0]]}, "decide.cost", "row 1: a mistake costs 0, less than being right (1)"),
        ({"cost": [[0, 0], [0, 0]]}, "decide.cost", "no mistake costs more than being right"),
        ({"capacity": {}}, "decide.capacity", "give a share, or alerts"),
        ({"capacity": {"share": 0.1, "alerts": 1, "per": 9}}, "decide.capacity", "give a share, or alerts"),
        ({"capacity": {"alerts": 1}}, "decide.capacity.per", "alerts and per go together"),
        ({"capacity": {"alerts": 1, "per": "day"}}, "decide.capacity.per", "per: day needs columns.time"),
        ({"capacity": {"alerts": 9, "per": 9}}, "decide.capacity.alerts", "is every row"),
        ({"capacity": {"alerts": 1, "per": 9, "day": 2}}, "decide.capacity.day", "goes with per: day"),
    ],
)
def test_every_mistake_in_a_decision_is_reported_with_its_place(decide_by, place, words):
    with pytest.raises(ValidationError) as caught:
        make_study(decide=decide_by)

    told = {".".join(at): message for at, message in caught.value.errors()[0]["ctx"]["error"].mistakes}
    assert words in told[place]


@pytest.mark.parametrize("setting", [{"decide": {"precision": 0.9}}, {"calibrate": "isotonic"}, {"trial": "full"}])
def test_numbers_are_neither_decided_nor_calibrated_nor_tried(setting):
    with pytest.raises(ValidationError, match=f"{next(iter(setting))}: needs classes, but this study predicts numbers"):
        make_regression(**setting)


def test_costs_that_do_not_fit_the_classes_are_refused_before_anything_is_fitted():
    write_two_clouds()
    worked = work(make_study(decide={"cost": {"strom": {"calm": 2}, "calm": {"storm": 1}}}))

    with pytest.raises(ConfError, match=r"decide\.cost\.strom: there is no class 'strom'.*Did you mean 'storm'"):
        check.fn(worked.table, worked.ledger, worked.plans, worked.study)
