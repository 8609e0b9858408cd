from dataclasses import replace
from types import SimpleNamespace

import pytest
from makers import make_plan

from evenhand.records.pipeline import Figures, Judgement
from evenhand.records.reference import NOWHERE
from evenhand.records.tuning import Trial, Tuned, Tuning
from evenhand.reporting.html.building.tuning import grid_curves, tuned_curves

PLAN = make_plan("svm", tuning=Tuning({"C": [1.0, 10.0], "kernel": ["rbf", "poly"]}, trials=4))


def trial(c, kernel, score, number=0):
    return Trial({"C": c, "kernel": kernel}, 1.0, score, 0.0, 0.1, number)


def curves(*searches, metric="roc_auc"):
    tuned = tuple(
        Tuned("svm", f"fold_{nth}", trials[0].params, metric, tuple(trials)) for nth, trials in enumerate(searches)
    )
    judgement = SimpleNamespace(figures=[SimpleNamespace(plan=PLAN)])
    return {curve.parameter: curve for curve in tuned_curves(SimpleNamespace(judgement=judgement, tuned=tuned))}


FIRST = [trial(1.0, "rbf", 0.6), trial(10.0, "rbf", 0.8), trial(1.0, "poly", 0.7), trial(10.0, "rbf", 0.99, number=1)]
SECOND = [trial(1.0, "rbf", 0.5), trial(10.0, "rbf", 0.9)]


def test_a_value_stands_for_the_best_that_it_came_to_averaged_over_folds():
    found = curves(FIRST, SECOND)["C"]

    assert found.values == ("1", "10")
    assert found.cv_mean == ((0.7 + 0.5) / 2, (0.8 + 0.9) / 2)
    assert [round(each, 6) for each in found.cv_std] == [0.1, 0.05]


def test_the_least_is_best_where_a_lower_score_is_better():
    assert curves(FIRST, metric="log_loss")["C"].cv_mean == (0.6, 0.8)


def test_words_are_values_too_and_the_choice_is_named():
    found = curves(FIRST, SECOND)["kernel"]

    assert found.values == ("poly", "rbf")
    assert found.candidate == "svm, inner folds (chosen: rbf)"


def test_a_parameter_with_one_value_has_no_curve():
    assert list(curves([trial(1.0, "rbf", 0.6), trial(10.0, "rbf", 0.8)])) == ["C"]


def test_many_values_are_drawn_in_groups():
    found = curves([trial(float(c), "rbf", c / 100) for c in range(1, 51)])["C"]

    assert len(found.values) == 10
    assert found.values[0] == "1 to 5"
    assert found.cv_mean[-1] == 0.5


def test_points_that_could_not_be_fitted_are_left_out():
    found = curves([*SECOND, replace(trial(100.0, "rbf", float("nan")), refused="too dear")])["C"]

    assert found.values == ("1", "10")


def test_numbers_are_short_on_the_axis():
    found = curves([trial(c, "rbf", 0.5) for c in (2**-13, 2**-9, 0.125, 1, 512, 2.0**15, 1e7)])["C"]

    assert found.values == ("1.2e-4", "0.00195", "0.125", "1", "512", "32768", "1e7")


def gridded(points, metric="roc_auc"):
    """The judgement of one candidate's grid: a figure for each point."""
    figures = tuple(
        Figures(
            plan=make_plan("svm", name=f"svm({point})", params=point), folds={metric: (value, value + 0.02)},
            train={metric: 1.0}, holdout={}, fit_seconds=0.1, predict_seconds=0.1, peak_mb=1.0,
            solver="libsvm", scale="decision",
        )
        for point, value in points
    )  # fmt: skip
    return Judgement(metric, (metric,), figures, NOWHERE)


def test_a_grid_over_one_parameter_is_drawn_in_the_order_of_its_values():
    (curve,) = grid_curves(gridded([({"C": 10.0}, 0.9), ({"C": 0.1}, 0.7), ({"C": 1.0}, 0.8)]))

    assert (curve.parameter, curve.values) == ("C", ("0.1", "1.0", "10.0"))
    assert curve.cv_mean == pytest.approx((0.71, 0.81, 0.91))
    assert curve.candidate == "svm/plain/none"


@pytest.mark.parametrize(("metric", "expected"), [("roc_auc", (0.61, 0.91, 0.71)), ("log_loss", (0.31, 0.41, 0.51))])
def test_a_grid_over_several_parameters_is_drawn_by_the_best_of_each_value(metric, expected):
    figures = {(1, 0.1): 0.6, (1, 1.0): 0.3, (2, 0.1): 0.4, (2, 1.0): 0.9, (3, 0.1): 0.7, (3, 1.0): 0.5}
    points = [({"C": C, "gamma": gamma, "kernel": "rbf"}, value) for (C, gamma), value in figures.items()]

    (curve,) = grid_curves(gridded(points, metric))  # gamma has two values only, and the kernel one

    assert curve.candidate == "svm/plain/none, the best for each value"
    assert curve.cv_mean == pytest.approx(expected)


def test_two_values_make_no_curve():
    assert grid_curves(gridded([({"C": 1.0}, 0.9), ({"C": 2.0}, 0.8)])) == ()
