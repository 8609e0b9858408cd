"""Probabilities: brought to the true rate after resampling, in drift and in several classes."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from decided_study import decided, loaded
from makers import make_study, write_rows
from scipy.special import expit

from evenhand.data.splits import fold_rows
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
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.models.probability_map import ScoreMap, calibrated
from evenhand.records.pipeline import ENSEMBLE, FINAL
from evenhand.tasks.deciding import decide

UNDERSAMPLED = {"undersample": {"ratio": 1}}


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
