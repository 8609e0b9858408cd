"""Resampling on trial: against nothing, class weights and a tuned threshold, and said plainly when it did not help."""

from dataclasses import replace

import numpy as np
import page_makers
import pytest
from makers import make_plan, make_study, work, write_two_clouds

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.evaluation.resampling_effect import (
    NOTHING,
    TUNED,
    WEIGHTS,
    Arm,
    counterparts,
    decision_figures,
    trials_of,
    verdict,
)
from evenhand.evaluation.threshold_objectives import purpose_of, usual_purpose
from evenhand.records.decision import Gain, Pairing
from evenhand.reporting.html.content import ResamplingRow
from evenhand.reporting.html.report import page
from evenhand.study.study import Decide
from evenhand.tasks.comparing import compare
from evenhand.tasks.deciding import decide
from evenhand.tasks.planning import plan

BALANCES = ["none", "class_weight", "undersample"]


def names(**changes):
    return [made.name for made in plan.fn(make_study(**changes))]


def test_a_full_trial_adds_the_same_model_with_nothing_and_with_class_weights():
    found = names(balance=["none", "smote"], candidates={"svm": {"balance": "smote"}, "knn": {}}, trial="full")

    assert set(found) == {"svm/smote", "svm/none", "svm/class_weight", "knn/none", "knn/smote"}


def test_a_trial_of_what_is_present_adds_nothing():
    assert names(balance=["none", "smote"], candidates={"svm": {"balance": "smote"}}) == ["svm/smote"]


def test_a_full_trial_of_nothing_resampled_adds_nothing():
    assert names(balance=["none"], candidates={"svm": {}}, trial="full") == ["svm"]


def test_a_counterpart_under_another_name_is_not_added_again():
    balance = {"as_is": {"kind": "none"}, "equal": {"kind": "undersample"}, "weighed": {"kind": "class_weight"}}

    found = names(balance=balance, candidates={"svm": {"balance": "equal"}}, trial="full")

    assert set(found) == {"svm/equal", "svm/as_is", "svm/weighed"}


def test_counterparts_differ_in_balance_alone():
    study = make_study(balance=BALANCES, encodings={"a": {}, "b": {}})
    plans = [
        make_plan("svm", name=f"{encoding}/{balance}", encoding=encoding, balance=balance)
        for encoding, balance in [("a", "none"), ("a", "undersample"), ("b", "class_weight"), ("b", "undersample")]
    ]
    other = make_plan("svm", name="other", encoding="a", balance="class_weight", params={"C": 9})

    found = counterparts([*plans, other], study)

    rivals = {name: {kind: made.name for kind, made in alike.items()} for name, (_, alike) in found.items()}
    assert rivals == {"a/undersample": {"none": "a/none"}, "b/undersample": {"class_weight": "b/class_weight"}}


def said(truth, scores, predicted):
    truth = np.asarray(truth)
    fold = np.repeat(["f0", "f1"], len(truth) // 2).astype(object)
    return CandidatePredictions(
        "x", fold, np.arange(len(truth)), truth, np.asarray(predicted), np.asarray(scores), True
    )


def test_decisions_are_judged_fold_by_fold_at_both_thresholds():
    part = said([0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4], [0, 0, 0, 0])
    places = np.array([0, 0, 1, 1])

    own, tuned = decision_figures(usual_purpose(2), part, places, places, 2)

    np.testing.assert_allclose(own, [0, 0])  # nothing reaches one half
    np.testing.assert_allclose(tuned, [0, 1])  # 0.4, told from the second fold, finds nothing in the first


def test_several_classes_have_no_threshold_to_tune():
    part = said([0, 1, 2, 0], np.eye(4, 3), [0, 1, 2, 1])

    own, tuned = decision_figures(usual_purpose(3), part, np.zeros(4, dtype=int), np.zeros(4, dtype=int), 3)

    np.testing.assert_allclose(own, [(2 / 3 + 2 / 3 + 1) / 3])
    assert tuned is None


def tried(purpose, arms, kinds=("none", "class_weight")):
    """The trial of one undersampled candidate."""
    plans = {kind: make_plan("svm", name=kind, balance=kind) for kind in (*kinds, "undersample")}
    pairs = {"undersample": (plans.pop("undersample"), plans)}
    (found,) = trials_of(pairs, arms, purpose, make_study(balance=BALANCES))
    return found, {one.against: {gain.metric: gain for gain in one.gains} for one in found.pairings}


def arm(area, brier, own, tuned):
    wiggle = np.array([0.0, 0.001, -0.001])
    return Arm(
        {"roc_auc": area + wiggle, "brier_score_loss": np.full(3, brier)},
        own - wiggle,
        None if tuned is None else tuned + wiggle,
    )


ARMS = {
    "none": arm(0.8, 0.1, 0.3, 0.6),
    "class_weight": arm(0.81, 0.1, 0.5, 0.6),
    "undersample": arm(0.7, 0.12, 0.5, 0.55),
}


def test_gains_are_paired_and_above_zero_where_resampling_is_better():
    _, gains = tried(usual_purpose(2), ARMS)

    assert gains[NOTHING]["roc_auc"].value == pytest.approx(-0.1)
    assert gains[NOTHING]["brier_score_loss"].value == pytest.approx(-0.02)  # a greater loss is no gain
    assert gains[NOTHING]["f1"].value == pytest.approx(0.2)
    assert gains[WEIGHTS]["f1"].value == pytest.approx(0.0)
    assert gains[TUNED]["f1"].value == pytest.approx(-0.1)  # its own threshold against a tuned one


def test_costs_are_better_when_lower():
    cost = purpose_of(Decide.model_validate({"cost": [[0, 1], [5, 0]]}), (0, 1))

    _, gains = tried(cost, ARMS)

    assert gains[NOTHING]["cost_per_row"].value == pytest.approx(-0.2)


def test_constraints_are_compared_at_tuned_thresholds_on_both_sides():
    _, gains = tried(purpose_of(Decide(precision=0.9), (0, 1)), ARMS)

    assert gains[NOTHING]["recall"].value == pytest.approx(-0.05)
    assert gains[TUNED]["recall"].value == pytest.approx(-0.05)


def test_p_values_are_corrected_for_all_differences_of_the_study():
    _, few = tried(usual_purpose(2), ARMS, kinds=("none",))
    _, more = tried(usual_purpose(2), ARMS)

    # All differences but this one are the same in each fold, so their p-values are 0, or 1 for the F1 of class weights.
    assert 0 < few[TUNED]["f1"].p_value < 0.5
    assert more[TUNED]["f1"].p_value == pytest.approx(2 * few[TUNED]["f1"].p_value)


def test_a_counterpart_that_is_not_there_is_reported():
    found, gains = tried(usual_purpose(2), ARMS, kinds=("none",))

    assert gains[WEIGHTS] == {}
    assert "It was not set against class weights: no such candidate in the study." in found.words


def test_nothing_can_be_reported_without_any_counterpart():
    found, _ = tried(usual_purpose(2), ARMS, kinds=())

    assert found.helped is None
    assert found.words.startswith("Unknown.")
    assert "Set trial: full" in found.words


def pairings(**p_and_value):
    """Class weights and a tuned threshold, each with one difference in ROC AUC."""
    against = {"weights": WEIGHTS, "tuned": TUNED}
    return [
        Pairing(against[key], "rival", (Gain("roc_auc", value, value - 1, value + 1, p_value),))
        for key, (value, p_value) in p_and_value.items()
    ]


@pytest.mark.parametrize(
    ("found", "helped", "words"),
    [
        (pairings(weights=(0.1, 0.01), tuned=(0.2, 0.01)), True, "Resampling helped, set against class weights or"),
        (pairings(weights=(0.1, 0.20), tuned=(0.2, 0.01)), False, "Resampling did not help: no figure is better"),
        (pairings(weights=(0.1, 0.20), tuned=(-0.2, 0.01)), False, "It did harm: roc_auc -0.2000 (p = 0.01)"),
    ],
)
def test_resampling_helped_only_if_it_beat_every_cheaper_way(found, helped, words):
    told, text = verdict(found, 0.05)

    assert told is helped
    assert words in text


def test_better_than_nothing_is_not_enough():
    cheap = pairings(weights=(0.0, 1.0))
    nothing = Pairing(NOTHING, "rival", (Gain("roc_auc", 0.3, 0.2, 0.4, 0.001),))

    told, _ = verdict([nothing, *cheap], 0.05)

    assert told is False


def judged(**changes):
    study = make_study(positive="storm", candidates={"logistic": {}}, **changes)
    worked = work(study)
    return decide.fn(compare.fn(worked.judgement, worked.table, study), worked.scores, worked.table, study)


def test_a_study_that_resamples_puts_it_on_trial():
    write_two_clouds(n_common=300, n_rare=60)

    found = judged(balance=BALANCES)

    (trial,) = found.trials
    assert trial.name == "logistic/undersample"
    assert trial.helped is False  # two normal clouds: the logistic line is right without it
    assert [one.rival for one in trial.pairings] == ["logistic/none", "logistic/class_weight", "logistic/none"]
    for one in trial.pairings:
        assert [gain.metric for gain in one.gains] == ["roc_auc", "average_precision", "brier_score_loss", "f1"]


def test_the_difference_in_area_is_that_of_the_folds():
    write_two_clouds(n_common=120, n_rare=40)

    found = judged(balance=["none", "undersample"])

    by_name = {each.plan.name: each for each in found.figures}
    expected = by_name["logistic/undersample"].mean("roc_auc") - by_name["logistic/none"].mean("roc_auc")
    assert found.trials[0].pairings[0].gains[0].value == pytest.approx(expected)


def test_a_study_that_does_not_resample_has_no_trial():
    write_two_clouds()

    assert judged(balance=["none", "class_weight"]).trials == ()


def test_the_page_says_plainly_when_resampling_did_not_help():
    words = "Resampling did not help: no figure is better beyond chance than with class weights."
    trial = ResamplingRow(
        "smote", "knn", "plain", 0.7, 0.1, -0.01, words=words, pairings=tuple(pairings(weights=(0.01, 0.4)))
    )
    content = replace(page_makers.binary(), trials=(trial,))

    text = page(content)

    assert "Resampling helped 0 of 1 resampled candidate beyond chance." in text
    assert words in text
    assert "class weights" in text


def test_what_was_tuned_may_differ_between_counterparts():
    study = make_study(balance=["none", "smote"], candidates={"svm": {"params": {"tol": 0.01}, "tune": {"trials": 3}}})
    plans = [replace(made, params={**made.params, "C": float(nth)}) for nth, made in enumerate(plan.fn(study))]

    ((resampled, rivals),) = counterparts(plans, study).values()

    assert resampled.balance == "smote"
    assert rivals["none"].params == {"tol": 0.01, "C": 0.0}
