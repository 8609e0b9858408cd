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
from makers import make_regression, make_study, two_clouds, work, write_rows, write_two_clouds
from mlflow import MlflowClient
from pydantic import ValidationError
from scipy.special import expit

from evenhand.data.splits import fold_rows
from evenhand.errors import ConfError
from evenhand.evaluation.calibrated_scores import (
    Calibrator,
    PredictionProfile,
    fitted_to,
    fold_places,
    losses_by_fold,
    reliability,
    row_codes,
)
from evenhand.evaluation.calibration import calibration_report
from evenhand.evaluation.metrics import confusion
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
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
from evenhand.models.probability_map import ScoreMap, calibrated
from evenhand.models.serialization import read_model
from evenhand.records.decision import as_plain, metrics_of_decided
from evenhand.records.pipeline import ENSEMBLE, FINAL
from evenhand.storage.artifact_store import Store, kept_file, local
from evenhand.storage.digests import file_digest
from evenhand.study.study import Capacity, Decide
from evenhand.tasks.checking import check
from evenhand.tasks.comparing import compare
from evenhand.tasks.deciding import decide
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tracking import mlflow_client

TRUTH = np.array([1, 1, 0, 1, 0, 0])
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
MISS_20 = {"storm": {"calm": 20}, "calm": {"storm": 1}}


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


def decided(study, worked=None):
    """A study worked through, and its judgement after deciding."""
    worked = worked or work(study)
    judgement = compare.fn(worked.judgement, worked.table, study)
    return worked, decide.fn(judgement, worked.scores, worked.table, study)


def loaded(worked, judgement):
    """The served model, read back from its file."""
    model = refit.fn(judgement, worked.prepared, worked.balanced, worked.table, worked.study)
    models = [each.plan.model for each in judgement.figures if each.plan.name != ENSEMBLE]
    return read_model(local(model.stored), models)[0]


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


def test_overconfident_probabilities_are_fixed():
    columns = {f"copy_{k}": np.zeros(0) for k in range(6)}
    draw = np.random.default_rng(0)
    y = (draw.random(900) < 0.3).astype(int)
    score = draw.normal(size=900) + y
    write_rows("rows.csv", {name: score + 0.01 * draw.normal(size=900) for name in columns}, y)

    _, judgement = decided(make_study())

    best = judgement.best
    assert best.calibrated["log_loss"] < best.mean("log_loss")  # six copies of one column count six times
    assert judgement.calibrated.kind in {"sigmoid", "isotonic"}
    slope, low, high = judgement.calibrated.out_of_fold["slope"]
    assert 0.75 < slope < 1.3
    assert low < slope < high


@pytest.fixture
def rare_rows():
    """What makes rows of a logistic model with 1 % positives."""

    def make(n_rows, seed):
        draw = np.random.default_rng(seed)
        frame = pd.DataFrame(draw.normal(size=(n_rows, 2)), columns=["strong", "weak"])
        chance = expit(1.2 * frame["strong"] + 0.5 * frame["weak"] - 5.395).to_numpy()
        return frame, (draw.random(n_rows) < chance).astype(int), chance

    return make


@pytest.mark.parametrize("setting", ["auto", "none"])
def test_probabilities_after_undersampling_have_the_true_rate_and_slope(rare_rows, setting):
    frame, y, chance = rare_rows(250_000, seed=0)
    assert chance.mean() == pytest.approx(0.01, rel=0.1)
    frame.assign(y=y).to_parquet("rows.parquet")
    study = make_study(
        source={"path": "rows.parquet"}, balance={"undersample": {"ratio": 1}}, candidates={"logistic": {}},
        calibrate=setting,
    )  # fmt: skip

    worked, judgement = decided(study)
    model = loaded(worked, judgement)

    new, truth, true_chance = rare_rows(300_000, seed=1)
    found = model.predict_proba(new)[:, 1]
    assert model.scores(new).mean() > 10 * true_chance.mean()  # what half and half makes of it
    assert found.mean() == pytest.approx(true_chance.mean(), rel=0.05)
    assert 0.9 < calibration_report(truth, found).slope.value < 1.1


@pytest.mark.parametrize(
    ("training", "held", "true", "factor"),
    [
        (0.3, 0.25, (0.2, 0.2), 1.2),  # no drift: both ways say 1.2
        (0.3, 0.25, (0.1, 0.2), 1.2),  # a rate that doubles unseen: 1.2 as they are, 2.4 against the truth
        (0.2, 0.4, (0.1, 0.2), 1.0),  # one that doubles and is seen: a half as they are, 1 against the truth
    ],
)
def test_where_rows_drift_the_factor_nearer_to_one_counts(training, held, true, factor):
    as_is = Calibrator("none", {}, (ScoreMap("none"),), np.empty(0))
    fold = PredictionProfile(np.array([training]), np.array([held]), np.array([true[0]]), np.array([true[1]]))

    found = fitted_to(
        PredictionProfile(np.array([0.5, 0.7]), np.empty(0), np.array([0.1]), np.empty(0)), [fold], as_is, drifts=True
    )

    assert found(np.array([0.5, 0.7])).mean() == pytest.approx(0.1 * factor)


def test_several_classes_are_brought_to_their_shares_together():
    as_is = Calibrator("none", {}, (ScoreMap("none"),) * 3, np.empty(0))
    even, shares = np.full((2, 3), 1 / 3), np.array([0.7, 0.2, 0.1])
    said = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]])

    found = fitted_to(
        PredictionProfile(said, np.empty(0), shares, shares), [PredictionProfile(even, even, shares, shares)], as_is
    )

    assert found(said).mean(axis=0) == pytest.approx(shares)


UNDERSAMPLED = {"undersample": {"ratio": 1}}


def drifting_rows(n_rows, seed):
    """Rows of a logistic model whose rate triples over time."""
    draw = np.random.default_rng(seed)
    when = np.sort(draw.random(n_rows))
    frame = pd.DataFrame(draw.normal(size=(n_rows, 2)), columns=["strong", "weak"]).assign(when=when)
    chance = expit(1.2 * frame["strong"] + 0.5 * frame["weak"] + 1.1 * when - 5.395).to_numpy()
    return frame.assign(y=(draw.random(n_rows) < chance).astype(int)), chance


def test_folds_by_time_give_probabilities_of_the_true_rate_too():
    frame, _ = drifting_rows(250_000, seed=0)
    frame.to_parquet("rows.parquet")
    study = make_study(
        source={"path": "rows.parquet"}, columns={"time": "when"}, balance=UNDERSAMPLED,
        split={"folds": 4, "holdout": "time", "holdout_share": 0.1}, candidates={"logistic": {}}, calibrate="none",
    )  # fmt: skip

    worked, judgement = decided(study)

    trained = frame.iloc[fold_rows(worked.ledger, FINAL)[0]]
    found = loaded(worked, judgement).predict_proba(trained)[:, 1]
    assert found.mean() == pytest.approx(trained["y"].mean(), rel=0.05)


def test_an_ensemble_of_resampled_models_has_probabilities_of_the_true_rate(rare_rows):
    frame, y, _ = rare_rows(80_000, seed=0)
    frame.assign(y=y).to_parquet("rows.parquet")
    study = make_study(
        source={"path": "rows.parquet"}, balance=UNDERSAMPLED, candidates={"logistic": {}, "gaussian_nb": {}},
        calibrate="none", ensemble={"bags": 1, "initial": 2}, metric="roc_auc",
    )  # fmt: skip

    worked, judgement = decided(study)
    judgement = replace(judgement, chosen=ENSEMBLE)
    judgement = decide.fn(judgement, worked.scores, worked.table, study)

    trained = fold_rows(worked.ledger, FINAL)[0]
    found = loaded(worked, judgement).predict_proba(frame.iloc[trained])[:, 1]
    assert found.mean() == pytest.approx(y[trained].mean(), rel=0.05)


def test_several_resampled_classes_have_their_true_rates():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(120_000, 2))
    odds = np.column_stack([np.zeros(len(X)), X[:, 0] - 3, 0.8 * X[:, 1] - 4])
    chances = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    y = (draw.random((len(X), 1)) > chances.cumsum(axis=1)).sum(axis=1)
    half = len(X) // 2
    pd.DataFrame(X, columns=["first", "second"]).assign(y=y).iloc[:half].to_parquet("rows.parquet")
    study = make_study(
        source={"path": "rows.parquet"}, balance={"undersample": {}}, candidates={"logistic": {}}, calibrate="none"
    )

    worked, judgement = decided(study)

    new = pd.DataFrame(X[half:], columns=["first", "second"])
    found = loaded(worked, judgement).predict_proba(new).mean(axis=0)
    assert found == pytest.approx(chances[half:].mean(axis=0), rel=0.06)


def test_the_served_model_is_brought_to_the_rate_less_what_it_overstates_its_own_rows_by():
    as_is = Calibrator("none", {}, (ScoreMap("none"),), np.empty(0))
    half = np.array([0.5])
    folds = [
        PredictionProfile(np.array([0.4, 0.2]), np.array([0.25, 0.25]), half, half)
    ]  # 0.3 on its own rows, 0.25 on held ones

    found = fitted_to(PredictionProfile(np.array([0.5, 0.7]), np.empty(0), np.array([0.1]), half), folds, as_is)

    low, high = found(np.array([0.5, 0.7]))
    assert (low + high) / 2 == pytest.approx(0.12)  # 1.2 times the rate of .1
    assert (high / (1 - high)) / (low / (1 - low)) == pytest.approx(7 / 3)
    assert found.maps[0].kind == "prior"


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
    assert trial.words in html.unescape(words)
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


def test_copies_of_a_row_in_repeats_keep_to_one_fold():
    fold = np.array(["a0", "a0", "a1", "a1", "b0", "b0", "b1", "b1"], dtype=object)
    part = CandidatePredictions("x", fold, np.array([1, 2, 3, 4, 1, 3, 2, 4]), *[np.zeros(8)] * 2, None, False)

    np.testing.assert_array_equal(row_codes(part), [0, 0, 1, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(fold_places(part), [0, 0, 1, 1, 2, 2, 3, 3])


def test_losses_are_means_over_the_rows_of_each_fold():
    found = losses_by_fold(np.array([1, 0, 1]), np.array([0.5, 0.5, 0.9]), np.array([0, 0, 1]))

    np.testing.assert_allclose(found["brier_score_loss"], [0.25, 0.01])
    np.testing.assert_allclose(found["log_loss"], [np.log(2), -np.log(0.9)])


def test_a_map_survives_as_plain_facts():
    maps = [ScoreMap("sigmoid", -1.0, 2.0), ScoreMap("isotonic", x=np.array([0.0, 1.0]), y=np.array([0.1, 0.9]))]

    back = [ScoreMap.from_facts(json.loads(json.dumps(each.as_facts()))) for each in maps]

    for first, second in zip(maps, back, strict=True):
        np.testing.assert_array_equal(first([-1.0, 0.5, 2.0]), second([-1.0, 0.5, 2.0]))


def test_probabilities_of_several_classes_sum_to_one_also_where_all_maps_say_nothing():
    maps = [ScoreMap("isotonic", x=np.array([0.0, 1.0]), y=np.array([0.0, 1.0]))] * 3

    found = calibrated(np.array([[0.2, 0.1, 0.1], [-1.0, -1.0, -1.0]]), maps)

    np.testing.assert_allclose(found, [[0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]])


def test_no_slope_is_reported_where_classes_part_completely():
    found = reliability(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.8, 0.9]))

    assert found == {"mean_probability": (0.5,), "rate": (0.5,)}


def test_numbers_that_json_cannot_hold_become_null():
    found = outcome_of(purpose(precision=0.5), np.zeros(3, dtype=int), np.zeros(3, dtype=int), 2)

    told = json.loads(json.dumps(as_plain({"outcome": found, "limits": (np.inf, 1.0)}), allow_nan=False))

    assert told["outcome"]["figure"] is None
    assert told["outcome"]["recall"] is None
    assert told["limits"] == [None, 1.0]


def write_days():
    columns, y = two_clouds(n_common=240, n_rare=60)
    write_rows("rows.csv", {**columns, "day": np.arange(300) // 10}, np.where(y == 1, "storm", "calm"))


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


def out_of_fold(judgement, worked, threshold):
    """The counts that the threshold comes to on the rows that it was told from."""
    winner = judgement.winner
    said = Predictions(local(judgement.predictions), worked.table).of(winner.plan.name, winner.scale).out_of_fold
    return confusion(said.truth, said.scores >= threshold, 2).tolist()
