"""Probabilities and thresholds: told from out-of-fold scores alone, kept in the model, and priced on the holdout."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decided_study import decided, loaded, out_of_fold
from makers import make_regression, make_study, two_clouds, write_rows, write_two_clouds
from mlflow import MlflowClient

from evenhand.evaluation.threshold_objectives import (
    outcome_of,
    purpose_of,
)
from evenhand.records.decision import as_plain, metrics_of_decided
from evenhand.records.pipeline import FINAL
from evenhand.reporting.html.elements import with_minus
from evenhand.storage.artifact_store import Store, kept_file, local
from evenhand.storage.digests import file_digest
from evenhand.study.study import Decide
from evenhand.tasks.comparing import compare
from evenhand.tasks.deciding import decide
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tracking import mlflow_client

TRUTH = np.array([1, 1, 0, 1, 0, 0])
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
MISS_20 = {"storm": {"calm": 20}, "calm": {"storm": 1}}
UNDERSAMPLED = {"undersample": {"ratio": 1}}
SERVED = {
    "cost": ({"cost": MISS_20}, None),
    "f1": ({"metric": "f1"}, None),
    "f_beta": ({"metric": "f_beta", "beta": 2}, None),
    "matthews": ({"metric": "matthews_corrcoef"}, None),
    "balanced accuracy": ({"metric": "balanced_accuracy"}, None),
    "precision": ({"precision": 0.8}, lambda counts: counts[1][1] >= 0.8 * (counts[0][1] + counts[1][1])),
    "false positives": ({"false_positive_rate": 0.05}, lambda counts: counts[0][1] <= 0.05 * sum(counts[0])),
    "capacity": ({"capacity": {"share": 0.1}}, None),
    "capacity by day": ({"capacity": {"alerts": 2, "per": "day", "day": 1}}, None),
}


def rewritten(judgement, change):
    """The judgement about predictions that were changed, column by column."""
    rows = pq.read_table(local(judgement.predictions))
    columns = {name: rows[name].to_numpy(zero_copy_only=False).copy() for name in rows.column_names}
    change(columns, columns["fold"] == FINAL)
    file = Store().root / "changed.parquet"
    pq.write_table(pa.table(columns), file)
    return replace(judgement, predictions=kept_file(file), digest=file_digest(file))


def test_the_threshold_is_kept_in_the_model_and_applied_to_raw_rows():
    write_two_clouds(n_common=240, n_rare=60)
    study = make_study(positive="storm", decide={"cost": MISS_20}, candidates={"linear_svm": {}})

    worked, judgement = decided(study)
    model, rows = loaded(worked, judgement), pd.read_csv("rows.csv")

    limit = judgement.decided.threshold
    assert limit < 0  # misses are dear, so more is flagged than the margin's own side
    np.testing.assert_array_equal(model.predict(rows) == "storm", model.scores(rows) >= limit)
    assert (model.predict(rows) == "storm").sum() > (model.scores(rows) > 0).sum()


def test_probabilities_of_decision_values_are_kept_in_the_model_and_rise_with_the_score():
    write_two_clouds(n_common=240, n_rare=60)
    study = make_study(positive="storm", calibrate="sigmoid", candidates={"svm": {}})

    worked, judgement = decided(study)
    model, rows = loaded(worked, judgement), pd.read_csv("rows.csv")

    chances = model.predict_proba(rows)
    order = np.argsort(model.scores(rows))
    assert (np.diff(chances[order, 1]) >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert judgement.calibrated.kind == "sigmoid"
    assert judgement.figures[0].calibrated["brier_score_loss"] < 0.2 * 0.8  # better than the base rate for everyone


def test_decision_values_stay_decision_values_where_no_calibration_is_wanted():
    write_two_clouds()

    worked, judgement = decided(make_study(calibrate="none", candidates={"linear_svm": {}}))

    assert judgement.calibrated is None
    assert judgement.figures[0].calibrated == {}
    with pytest.raises(AttributeError, match="decision values, not probabilities"):
        loaded(worked, judgement).predict_proba(pd.read_csv("rows.csv"))


def turned(columns, is_held):
    columns["truth"][is_held] = 1 - columns["truth"][is_held]


@pytest.mark.parametrize("calibrate", ["sigmoid", "isotonic"])
def test_labels_of_the_holdout_change_no_threshold_and_no_calibration(calibrate):
    write_two_clouds(n_common=150, n_rare=50)
    study = make_study(
        decide={"metric": "f1"}, calibrate=calibrate, balance=["none", "undersample"], candidates={"logistic": {}}
    )
    worked, first = decided(study)

    second = decide.fn(rewritten(first, turned), worked.scores, worked.table, study)

    assert second.decided.threshold == first.decided.threshold
    assert second.decided.out_of_fold == first.decided.out_of_fold
    assert second.calibrated.maps == first.calibrated.maps
    assert second.trials != first.trials  # what is judged by the holdout too, and chooses nothing
    assert [each.calibrated for each in second.figures] == [each.calibrated for each in first.figures]
    assert second.decided.holdout != first.decided.holdout


def test_labels_out_of_fold_do_change_the_threshold():
    write_two_clouds(n_common=150, n_rare=50)
    study = make_study(decide={"metric": "f1"}, candidates={"logistic": {}})
    worked, first = decided(study)

    second = decide.fn(
        rewritten(first, lambda columns, is_held: turned(columns, ~is_held)), worked.scores, worked.table, study
    )

    assert second.decided.threshold != first.decided.threshold


def test_deciding_twice_finds_the_same_in_the_store():
    write_two_clouds()
    study = make_study(decide={"capacity": {"share": 0.1}}, balance=["none", "smote"], candidates={"logistic": {}})
    worked, first = decided(study)

    _, second = decided(study, worked)

    assert second == first
    assert first.decided.out_of_fold.flagged_share < 0.2


def test_cross_fitted_and_holdout_costs_stand_beside_the_models_own():
    write_two_clouds(n_common=600, n_rare=200)
    study = make_study(positive="storm", decide={"cost": MISS_20}, candidates={"gaussian_nb": {}})

    _, judgement = decided(study)

    found = judgement.decided
    assert found.is_served
    assert found.gain.estimate == pytest.approx(found.own_out_of_fold.cost - found.out_of_fold.cost)
    assert 0 < found.gain.low < found.gain.estimate
    assert f"Cross-fitted, cost per row is {found.out_of_fold.figure:.4g}" in found.words
    assert f"{found.own_out_of_fold.figure:.4g} (better by {found.gain.estimate:.4g}" in found.words
    (left, wrong), (missed, hit) = found.holdout.counts
    assert found.holdout.cost == pytest.approx((20 * missed + wrong) / (left + wrong + missed + hit))
    assert found.holdout.n_rows == found.own.n_rows
    assert f"{found.holdout.figure:.4g}" in found.words
    figures = metrics_of_decided(found, judgement.calibrated)
    assert figures["threshold"] == found.threshold
    assert figures["holdout_decided_cost_per_row"] == found.holdout.cost
    assert figures["holdout_own_decided_cost_per_row"] == found.own.cost
    assert figures["cv_own_decided_cost_per_row"] == found.own_out_of_fold.cost
    assert figures["decided_gain_low"] == found.gain.low


def test_a_threshold_that_is_not_better_beyond_chance_is_reported_and_not_served(mlruns):
    draw = np.random.default_rng(0)
    y = (draw.random(240) < 0.5).astype(int)
    write_rows("rows.csv", {"telling": draw.normal(size=240) + 2 * y}, y)
    study = make_study(decide={"cost": [[0, 1], [1, 0]]}, candidates={"gaussian_nb": {}}, positive=1)

    with opened(study) as run:
        worked, judgement = decided(study)
        model = refit.fn(judgement, worked.prepared, worked.balanced, worked.table, study)
        parts = (study, worked.snapshot, worked.table, worked.ledger, judgement, model, tuple(worked.scores.values()))
        report = record.fn(run, Results(*parts))

    found, served, rows = judgement.decided, loaded(worked, judgement), pd.read_csv("rows.csv")
    assert (found.is_reached, found.is_served) == (True, False)
    assert found.gain.low <= 0
    assert found.words.endswith("That is not better beyond chance, out of fold: the model keeps its own decision.")
    assert (served.threshold, served.cost) == (None, None)
    np.testing.assert_array_equal(served.predict(rows), served.scores(rows) > 0.5)
    logged = MlflowClient(mlflow_client.tracking_uri()).get_run(report.run_id).data.metrics
    assert "threshold" not in logged
    assert logged["tuned_threshold"] == found.threshold
    assert logged["decided_is_served"] == 0
    kept = report.as_json()["decided"]
    assert (kept["is_served"], kept["own_out_of_fold"]["cost"]) == (False, found.own_out_of_fold.cost)
    words = report.page.read_text(encoding="utf-8")
    assert re.search(r"<th[^>]*>The model\S+s own</th><td[^>]*>yes</td>", words)
    assert found.by_class(found.own) in words
    assert "The mark is the model" in words


def test_what_was_decided_is_in_mlflow_in_the_report_and_on_the_page(mlruns):
    write_two_clouds(n_common=150, n_rare=50)
    study = make_study(
        positive="storm", decide={"cost": MISS_20}, balance=["none", "undersample"], candidates={"logistic": {}}
    )

    with opened(study) as run:
        worked, judgement = decided(study)
        model = refit.fn(judgement, worked.prepared, worked.balanced, worked.table, study)
        parts = (study, worked.snapshot, worked.table, worked.ledger, judgement, model, tuple(worked.scores.values()))
        report = record.fn(run, Results(*parts))

    logged = MlflowClient(mlflow_client.tracking_uri()).get_run(report.run_id).data
    told = report.as_json()
    assert logged.metrics["threshold"] == told["decided"]["threshold"] == judgement.decided.threshold
    assert logged.metrics["holdout_decided_cost_per_row"] == told["decided"]["holdout"]["cost"]
    assert logged.metrics["holdout_calibration_slope"] == told["calibrated"]["holdout"]["slope"][0]
    assert logged.metrics["cv_calibrated_brier_score_loss"] == judgement.winner.calibrated["brier_score_loss"]
    assert logged.tags["evenhand.decided"] == judgement.decided.words
    (trial,) = judgement.trials
    assert trial.name in logged.tags["mlflow.note.content"]
    assert told["trials"][0]["verdict"] == trial.verdict
    words = report.page.read_text(encoding="utf-8")
    assert with_minus(trial.words) in html.unescape(words)
    assert "A false alarm costs 1, a miss 20." in words
    assert "Slope (1 is right), holdout" in words
    assert json.dumps(told, allow_nan=False, default=str)


def test_several_classes_are_decided_by_the_least_expected_cost():
    draw = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    write_rows("rows.csv", {"telling": draw.normal(size=180) + y, "noise": draw.normal(size=180)}, y)
    cost = {0: {1: 1, 2: 1}, 1: {0: 1, 2: 1}, 2: {0: 50, 1: 50}}
    study = make_study(decide={"cost": cost}, candidates={"gaussian_nb": {}}, task="classification")

    worked, judgement = decided(study)
    model, rows = loaded(worked, judgement), pd.read_csv("rows.csv")

    chances = model.predict_proba(rows)
    expected = (chances @ np.array([[0, 1, 1], [1, 0, 1], [50, 50, 0]])).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(rows), expected)
    assert judgement.decided.threshold is None
    assert judgement.decided.is_served
    assert judgement.decided.holdout.cost < judgement.decided.own.cost


def test_a_winner_without_scores_keeps_its_own_decision_and_the_run_goes_on():
    draw = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    write_rows("rows.csv", {"telling": draw.normal(size=120) + 3 * y}, y)
    code = {"model": "logistic", "multiclass": "error_correcting", "code_length": 5}
    study = make_study(decide={"cost": [[0, 1, 1], [1, 0, 1], [9, 9, 0]]}, candidates={"code": code})

    worked, judgement = decided(study)

    found = judgement.decided
    assert not found.is_reached
    assert found.words.startswith(
        "Least cost is not reached: it needs scores that can be weighed, but 'code' gives none"
    )
    assert found.cost is None
    assert found.holdout == found.own
    assert loaded(worked, judgement).cost is None


def test_a_precision_out_of_reach_leaves_the_model_its_own_threshold():
    write_two_clouds()
    worked, judgement = decided(make_study(candidates={"logistic": {}}))
    strict = make_study(candidates={"logistic": {}}, decide={"precision": 0.9})

    def level(columns, is_held):
        columns["score:logistic"][:] = 0.5

    told = decide.fn(rewritten(judgement, level), worked.scores, worked.table, strict)

    found = told.decided
    assert not found.is_reached
    assert re.fullmatch(
        r"Precision of at least 0\.9 is not reached: no threshold of 'logistic' serves it out of fold: A precision of "
        r"0\.9 was asked, but the best on these rows is 0\.\d+\. Ask for less\. The model keeps its own decision\.",
        found.words,
    )
    assert found.threshold is None
    assert found.holdout == found.own
    assert "threshold" not in metrics_of_decided(found, None)
    assert decide.fn(rewritten(judgement, level), worked.scores, worked.table, strict).decided == found


def test_a_run_whose_purpose_is_out_of_reach_is_recorded_in_full(mlruns):
    write_two_clouds()
    study = make_study(candidates={"dummy": {}}, decide={"precision": 0.999}, metric="roc_auc")

    with opened(study) as run:
        worked, judgement = decided(study)
        model = refit.fn(judgement, worked.prepared, worked.balanced, worked.table, study)
        parts = (worked.snapshot, worked.table, worked.ledger, judgement, model, tuple(worked.scores.values()))
        report = record.fn(run, Results(study, *parts))

    kept = MlflowClient(mlflow_client.tracking_uri()).get_run(report.run_id)
    assert kept.info.status == "FINISHED"
    assert "is not reached" in kept.data.tags["evenhand.decided"]
    assert "Precision of at least 0.999 is not reached" in report.page.read_text(encoding="utf-8")
    assert loaded(worked, judgement).threshold is None


def test_numbers_pass_through_untouched():
    draw = np.random.default_rng(0)
    write_rows("rows.csv", {"telling": np.arange(60.0)}, np.arange(60) + draw.normal(size=60))

    worked, judgement = decided(make_regression())

    assert judgement == compare.fn(worked.judgement, worked.table, worked.study)


def test_numbers_that_json_cannot_hold_become_null():
    found = outcome_of(
        purpose_of(Decide(precision=0.5), (0, 1), None), np.zeros(3, dtype=int), np.zeros(3, dtype=int), 2
    )

    told = json.loads(json.dumps(as_plain({"outcome": found, "limits": (np.inf, 1.0)}), allow_nan=False))

    assert told["outcome"]["figure"] is None
    assert told["outcome"]["recall"] is None
    assert told["limits"] == [None, 1.0]


def write_days():
    columns, y = two_clouds(n_common=240, n_rare=60)
    write_rows("rows.csv", {**columns, "day": np.arange(300) // 10}, np.where(y == 1, "storm", "calm"))


@pytest.mark.parametrize("candidates", [{"logistic": {}}, {"linear_svm": {}, "gaussian_nb": {}}], ids=["one", "blend"])
@pytest.mark.parametrize("purpose", SERVED)
def test_every_purpose_is_served_by_the_threshold_that_was_stored(purpose, candidates):
    write_days()
    asked, holds = SERVED[purpose]
    blend = {"ensemble": {}} if len(candidates) > 1 else {}
    study = make_study(positive="storm", decide=asked, columns={"time": "day"}, candidates=candidates, **blend)

    worked, judgement = decided(study)
    model, rows = loaded(worked, judgement), pd.read_csv("rows.csv")

    found = judgement.decided
    assert found.is_reached
    assert found.is_served == (found.gain is None or found.gain.low > 0)
    served = model.scores(rows) >= found.threshold if found.is_served else model.scores(rows) > 0.5
    np.testing.assert_array_equal(model.predict(rows) == "storm", served)
    if holds is not None:
        assert holds(out_of_fold(judgement, worked, found.threshold))
    if "capacity" in purpose:
        (_, alarms), (_, rightly) = out_of_fold(judgement, worked, found.threshold)
        share = 0.1 if purpose == "capacity" else 2 / 10  # ten rows a day
        assert alarms + rightly <= share * worked.ledger.n_training
