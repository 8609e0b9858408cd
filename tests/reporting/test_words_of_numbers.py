"""How numbers and findings are worded on the page."""

import html
import re
from dataclasses import replace

import page_makers as makers
import pytest

from evenhand.evaluation.curves import CalibrationBin, CalibrationCurve
from evenhand.records.decision import Decided, DecisionOutcome
from evenhand.records.insight import Insight, Lift, Reason, ReasonedRow, Slice
from evenhand.reporting.html.content import LeakCheck
from evenhand.reporting.html.elements import p_value, seconds, with_minus
from evenhand.reporting.html.report import page
from evenhand.runtime.text import time_text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("-0.7369 to -0.0197", "−0.7369 to −0.0197"),
        ("better by 0.2 (-0.1 to 0.5)", "better by 0.2 (−0.1 to 0.5)"),
        ("2013-09-01", "2013-09-01"),
        ("svm(C=-1)/smote-2", "svm(C=-1)/smote-2"),
        ("10-20", "10-20"),
        ("year-end -", "year-end -"),
    ],
)
def test_numbers_below_zero_have_a_true_minus_and_dates_ranges_and_names_stay(words, shown):
    assert with_minus(words) == shown


def test_values_below_zero_of_reasons_slices_and_decisions_have_a_true_minus():
    why = Insight(
        "probability", "decision value", n_rows=10, slices_on="holdout rows", n_slices=1,
        worst=(ReasonedRow(4, "-3", "-1.5", 1.0, 0.0, (Reason("V14", "-1.82", 0.2),)),),
        slices=(Slice("V11", "-4.454 to -0.7369", 10, 0.1, 0.0, 0.2, 0.3, 1e-9, True),),
    )  # fmt: skip
    explained = replace(makers.binary().explained, insight=why)
    outcome = DecisionOutcome(100, ((80, 8), (3, 9)), 0.2, cost=0.38)
    decided = Decided("least_cost", "cost_per_row", -0.67, "Threshold -0.67.", outcome, outcome, outcome, outcome)
    thresholds = replace(makers.binary().thresholds, why="Threshold -0.67.", decided=decided)

    text = page(replace(makers.binary(), explained=explained, thresholds=thresholds, notes=("off by -0.4",)))

    shown = html.unescape(re.sub("<script.*?</script>|<style.*?</style>|<[^>]+>", " ", text, flags=re.S))
    for words in ("V14 −1.82", "−4.454 to −0.7369", "Threshold −0.67", "off by −0.4", "−1.5", "< 0.0001"):
        assert words in shown
    assert re.findall(r"(?<![\w.)\]=/-])-\d[\w.]*", shown) == []


def test_a_check_that_asks_for_something_is_not_folded_away():
    checks = tuple(LeakCheck(f"check {k}", "ok", "nothing was found") for k in range(10))

    text = page(replace(makers.binary(), leak_checks=(*checks, LeakCheck("the last", "warning", "found"))))

    table = text.split('<section id="leaks"', 1)[1]
    assert table.index("the last") < table.index("check 0") < table.index("<details")


@pytest.mark.parametrize(("asked", "is_said"), [(0.2, False), (0.21, False), (0.3, True), (None, False)])
def test_the_first_answers_say_that_the_holdout_is_not_of_the_share_asked_for(asked, is_said):
    facts = replace(makers.binary().study, n_training=790, n_withheld=10, n_holdout=200, holdout_share=asked)

    text = page(replace(makers.binary(), study=facts)).partition('id="leaderboard"')[0]

    assert ("20.0 % of the rows are held out where 30.0 % was asked for." in text) == is_said


@pytest.mark.parametrize(
    ("value", "words"), [(2e-258, "< 0.0001"), (0.0, "< 0.0001"), (1e-4, "1.0e−4"), (0.02, "0.020"), (None, "–")]
)
def test_a_p_value_is_never_nothing(value, words):
    assert p_value(value) == words


@pytest.mark.parametrize("value", [1.0, 12.3, 59.9, 60, 61.2, 125, 3599, 3600, 4205, 7200])
def test_the_page_says_how_long_something_took_as_the_terminal_does(value):
    assert seconds(value) == time_text(value)


def test_small_shares_of_calibration_are_told_apart_and_whole_costs_have_no_decimals():
    bins = (CalibrationBin(0.0004, 0.0, 0.0, 0.0063, 610), CalibrationBin(0.51, 0.632, 0.473, 0.766, 38))
    why = Insight(lifts=(Lift(0.01, 3, 3, 0.107, 10.71, 500.0), Lift(0.02, 6, 6, 0.214, 10.71, 12.5)), lifts_on="rows")
    content = replace(makers.binary(), calibration=(("svm", CalibrationCurve(bins, 0.0)),))

    text = page(replace(content, explained=replace(content.explained, insight=why)))

    for words in ("0.0004</th>", "0.0000 to 0.0063<", ">0.510</th>", ">0.473 to 0.766<", ">500<", ">12.50<"):
        assert words in text
