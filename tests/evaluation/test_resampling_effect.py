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
    FoldSeries,
    JudgedRows,
    counterparts,
    decision_series,
    held_decisions,
    loss_series,
    trials_of,
    verdict,
)
from evenhand.evaluation.threshold_objectives import purpose_of, usual_purpose
from evenhand.records.decision import Gain, Pairing, ResamplingTrial, trials_words
from evenhand.reporting.html.content import ResamplingRow
from evenhand.reporting.html.report import page
from evenhand.statistics.joint import FoldInfluence, joint_figures
from evenhand.statistics.paired import paired_verdicts
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


def rows_of(part, places):
    return JudgedRows(part.row, part.truth, np.asarray(places))


def test_decisions_are_judged_fold_by_fold_at_both_thresholds():
    part = said([0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4], [0, 0, 0, 0])
    places = np.array([0, 0, 1, 1])

    own, tuned = decision_series(usual_purpose(2), part, places, rows_of(part, places), 2)

    np.testing.assert_allclose(own.figures, [0, 0])  # nothing reaches one half
    np.testing.assert_allclose(tuned.figures, [0, 1])  # 0.4, of the second fold, finds nothing in the first


def test_several_classes_have_no_threshold_to_tune():
    part = said([0, 1, 2, 0], np.eye(4, 3), [0, 1, 2, 1])
    places = np.zeros(4, dtype=int)

    own, tuned = decision_series(usual_purpose(3), part, places, rows_of(part, places), 3)

    np.testing.assert_allclose(own.figures, [(2 / 3 + 2 / 3 + 1) / 3])
    assert tuned is None


def test_costs_and_losses_are_turned_round_and_move_by_what_a_row_costs():
    cost = purpose_of(Decide.model_validate({"cost": [[0, 1], [5, 0]]}), (0, 1))
    part = said([0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4], [1, 0, 0, 1])
    rows = rows_of(part, [0, 0, 1, 1])

    own, _ = decision_series(cost, part, rows.places, rows, 2)
    loss = loss_series(np.array([0.1, 0.3, 0.0, 0.4]), rows)

    np.testing.assert_allclose(own.figures, [-3, 0])  # an alarm of 1 and a miss of 5 on two rows
    np.testing.assert_allclose(own.influence, [2, -2, 0, 0], atol=1e-6)
    np.testing.assert_allclose(loss.figures, [-0.2, -0.2])
    np.testing.assert_allclose(loss.influence, [0.1, -0.1, 0.2, -0.2], atol=1e-6)


ROWS = JudgedRows(np.arange(600), np.tile([0, 1, 0], 200), np.repeat([0, 1, 2], 200))


def series(mean, seed, spread=0.5):
    """A figure of three folds whose rows move it by chance."""
    moved = spread * np.random.default_rng(seed).normal(size=600)
    for held in ROWS.of_folds():
        moved[held] -= moved[held].mean()
    return FoldSeries(np.array([mean, mean + 0.001, mean - 0.001]), moved)


def arm(area, brier, own, tuned, seed=0):
    return Arm(
        {"roc_auc": series(area, seed), "brier_score_loss": series(-brier, seed + 1)},
        series(own, seed + 2),
        None if tuned is None else series(tuned, seed + 3),
    )


ARMS = {
    "none": arm(0.8, 0.1, 0.3, 0.6, seed=10),
    "class_weight": arm(0.81, 0.1, 0.5, 0.6, seed=20),
    "undersample": arm(0.7, 0.12, 0.5, 0.55, seed=30),
}


def tried(purpose, arms, kinds=("none", "class_weight"), **settings):
    """The trial of one undersampled candidate."""
    plans = {kind: make_plan("svm", name=kind, balance=kind) for kind in (*kinds, "undersample")}
    pairs = {"undersample": (plans.pop("undersample"), plans)}
    (found,) = trials_of(pairs, arms, purpose, ROWS, make_study(balance=BALANCES, **settings))
    return found, {one.against: {gain.metric: gain for gain in one.gains} for one in found.pairings}


def test_gains_are_paired_and_above_zero_where_resampling_is_better():
    _, gains = tried(usual_purpose(2), ARMS)

    assert gains[NOTHING]["roc_auc"].value == pytest.approx(-0.1)
    assert gains[NOTHING]["brier_score_loss"].value == pytest.approx(-0.02)  # a greater loss is no gain
    assert gains[NOTHING]["f1"].value == pytest.approx(0.2)
    assert gains[WEIGHTS]["f1"].value == pytest.approx(0.0)
    assert gains[TUNED]["f1"].value == pytest.approx(-0.05 - 0.05)  # its own threshold against a tuned one


def test_constraints_are_compared_at_tuned_thresholds_on_both_sides():
    _, gains = tried(purpose_of(Decide(precision=0.9), (0, 1)), ARMS)

    assert gains[NOTHING]["recall"].value == pytest.approx(-0.05)
    assert gains[TUNED]["recall"].value == pytest.approx(-0.05)


def test_a_gain_has_the_limits_and_the_verdict_of_the_paired_computation():
    _, gains = tried(usual_purpose(2), ARMS)

    rows = [(np.asarray(ARMS[k].metrics["roc_auc"].influence), k) for k in ("undersample", "none", "class_weight")]
    joint = joint_figures(
        [
            FoldInfluence(
                np.array([ARMS[k].metrics["roc_auc"].figures[place] for _, k in rows]),
                np.column_stack([moved[held] for moved, _ in rows]),
                held,
                ROWS.truth[held],
            )
            for place, held in enumerate(ROWS.of_folds())
        ]
    )
    # AUC, Brier and F1 share alpha; resampled against nothing, class weights, and nothing again
    expected = paired_verdicts(joint, [(0, 1), (0, 2), (0, 1)], region=0.005, n_families=3, test_share=1 / 3)
    found = gains[WEIGHTS]["roc_auc"]
    assert (found.value, found.low, found.high, found.p_value, found.verdict, found.detectable) == pytest.approx(
        (
            expected[1].estimate,
            expected[1].low,
            expected[1].high,
            expected[1].p_value,
            expected[1].verdict,
            expected[1].detectable,
        )
    )


def test_a_counterpart_that_is_not_there_is_reported():
    found, gains = tried(usual_purpose(2), ARMS, kinds=("none",))

    assert gains[WEIGHTS] == {}
    assert "It was not set against class weights: no such candidate in the study." in found.words


def test_nothing_can_be_reported_without_any_counterpart():
    found, _ = tried(usual_purpose(2), ARMS, kinds=())

    assert (found.verdict, found.helped) == ("unknown", None)
    assert found.words.startswith("Unknown.")
    assert "Set trial: full" in found.words


def pairings(**found):
    """Class weights and a tuned threshold, each with one difference in ROC AUC."""
    against = {"weights": WEIGHTS, "tuned": TUNED, "nothing": NOTHING}
    return [
        Pairing(against[key], "rival", (Gain("roc_auc", value, value - 1, value + 1, 0.01, word, 0.07),))
        for key, (value, word) in found.items()
    ]


@pytest.mark.parametrize(
    ("weights", "tuned", "expected", "words"),
    [
        ((0.1, "better"), (0.2, "better"), "helped", "Resampling helped, set against class weights or a tuned"),
        ((0.1, "unseparated"), (0.2, "better"), "unseparated", "alone (detectable: roc_auc 0.07)."),
        ((0.1, "unseparated"), (-0.2, "worse"), "harmed", "alone: roc_auc -0.2000 (-1.2000 to 0.8000)."),
        ((0.1, "better"), (-0.2, "worse"), "harmed", "Resampling harmed, set against"),
        ((0.001, "same"), (-0.001, "same"), "same", "Resampling made no practical difference, set against"),
        ((0.001, "same"), (0.2, "unseparated"), "unseparated", "Resampling is not separated, set against"),
    ],
)
def test_resampling_helped_only_if_it_beat_every_cheaper_way(weights, tuned, expected, words):
    found, text = verdict(pairings(weights=weights, tuned=tuned))

    assert found == expected
    assert words in text


def test_better_than_nothing_is_not_enough():
    found, _ = verdict(pairings(nothing=(0.3, "better"), weights=(0.0, "unseparated")))

    assert found == "unseparated"


def test_what_helps_by_one_metric_and_harms_by_another_reports_both():
    both = [
        Pairing(
            WEIGHTS,
            "r",
            (Gain("f1", 0.1, 0.05, 0.15, 0.01, "better", 0.05), Gain("roc_auc", -0.1, -0.2, -0.05, 0.01, "worse", 0.1)),
        )
    ]

    found, text = verdict(both)

    assert found == "helped"
    assert text.endswith("f1 +0.1000 (0.0500 to 0.1500). It harmed roc_auc -0.1000 (-0.2000 to -0.0500).")


def test_candidates_are_counted_by_what_became_of_them():
    unclear = tuple(pairings(weights=(0.1, "unseparated")))
    verdicts = ("helped", "harmed", "same", "unseparated", "unknown", "unseparated")

    found = trials_words(tuple(ResamplingTrial("x", each, "", unclear) for each in verdicts))

    assert found == (
        "resampling: helped 1, harmed 1, made no practical difference to 1, not separated for 2 "
        "(detectable: roc_auc 0.07), unknown for 1 of 6 resampled candidates"
    )


def judged(**changes):
    study = make_study(positive="storm", candidates={"logistic": {}}, **changes)
    worked = work(study)
    return decide.fn(compare.fn(worked.judgement, worked.table, study), worked.scores, worked.table, study)


def test_a_study_that_resamples_puts_it_on_trial():
    write_two_clouds(n_common=300, n_rare=60)

    found = judged(balance=BALANCES)

    (trial,) = found.trials
    assert trial.name == "logistic/undersample"
    assert trial.verdict != "helped"  # two normal clouds: the logistic line is right without it
    assert trial.words.startswith("Resampling")
    assert [one.rival for one in trial.pairings] == ["logistic/none", "logistic/class_weight", "logistic/none"]
    for one in trial.pairings:
        assert [gain.metric for gain in one.gains] == ["roc_auc", "average_precision", "brier_score_loss", "f1"]


@pytest.mark.parametrize("share", [0.25, None])
def test_the_difference_in_area_is_that_of_folds_and_holdout_by_their_rows(share):
    write_two_clouds(n_common=120, n_rare=40)
    split = {"folds": 3, "holdout": "none"} if share is None else {"folds": 3, "holdout_share": share}

    found = judged(balance=["none", "undersample"], split={"holdout": "random", **split})

    mine, theirs = (
        next(each for each in found.figures if each.plan.name == f"logistic/{balance}")
        for balance in ("undersample", "none")
    )
    over_folds = mine.mean("roc_auc") - theirs.mean("roc_auc")
    on_held = 0.0 if share is None else mine.holdout["roc_auc"] - theirs.holdout["roc_auc"]
    expected = (1 - (share or 0)) * over_folds + (share or 0) * on_held
    assert found.trials[0].pairings[0].gains[0].value == pytest.approx(expected)


def test_decisions_on_the_holdout_take_the_threshold_of_all_other_rows():
    part = said([0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4], [0, 0, 0, 0])
    held = said([0, 1, 1, 0], [0.25, 0.35, 0.28, 0.32], [0, 1, 0, 0])
    rows = rows_of(held, np.zeros(4, dtype=int))

    own, tuned = held_decisions(usual_purpose(2), part, held, rows, 2)

    np.testing.assert_allclose(own.figures, [2 / 3])  # one of two found, no false alarm
    np.testing.assert_allclose(tuned.figures, [0.5])  # from 0.3 on: one found, one missed, one false alarm


def test_where_one_side_has_no_figure_on_the_holdout_the_folds_decide():
    held_rows = JudgedRows(np.arange(600, 700), np.tile([0, 1], 50), np.zeros(100, dtype=int))
    rows = replace(ROWS, held=held_rows)
    on_held = FoldSeries(np.array([0.9]), np.random.default_rng(0).normal(size=100))
    plans = {kind: make_plan("svm", name=kind, balance=kind) for kind in ("none", "undersample")}
    pairs = {"undersample": (plans["undersample"], {"none": plans["none"]})}

    def area_of(*both):
        arms = {kind: Arm({"roc_auc": one}, None, None) for kind, one in zip(plans, both, strict=True)}
        (found,) = trials_of(pairs, arms, usual_purpose(2), rows, make_study(balance=BALANCES))
        return found.pairings[0].gains[0].value

    plain, other = series(0.8, 1), series(0.7, 2)

    assert area_of(plain, other) == pytest.approx(-0.1)
    assert area_of(replace(plain, held=on_held), other) == pytest.approx(-0.1)
    assert area_of(replace(plain, held=on_held), replace(other, held=on_held)) == pytest.approx(-0.1 * 6 / 7)


def test_a_study_that_does_not_resample_has_no_trial():
    write_two_clouds()

    assert judged(balance=["none", "class_weight"]).trials == ()


def test_the_page_says_plainly_when_resampling_did_not_help():
    words = "Resampling is not separated, set against class weights (detectable: roc_auc 0.07)."
    found = tuple(pairings(weights=(0.01, "unseparated")))
    trial = ResamplingRow("smote", "knn", "plain", 0.7, 0.1, -0.01, words=words, pairings=found, verdict="unseparated")
    content = replace(page_makers.binary(), trials=(trial, replace(trial, model="svm", verdict="harmed")))

    text = page(content)

    assert "Resampling helped 0 and harmed 1 of 2 resampled candidates beyond chance." in text
    assert words in text
    assert "not separated, detectable 0.070" in text


def test_what_was_tuned_may_differ_between_counterparts():
    study = make_study(balance=["none", "smote"], candidates={"svm": {"params": {"tol": 0.01}, "tune": {"trials": 3}}})
    plans = [replace(made, params={**made.params, "C": float(nth)}) for nth, made in enumerate(plan.fn(study))]

    ((resampled, rivals),) = counterparts(plans, study).values()

    assert resampled.balance == "smote"
    assert rivals["none"].params == {"tol": 0.01, "C": 0.0}
