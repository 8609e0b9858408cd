"""Calibration and thresholds: hand-worked cases, generated logistic data, and scikit-learn's own curves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, balanced_accuracy_score, fbeta_score, matthews_corrcoef

from evenhand.evaluation import calibration
from evenhand.evaluation.calibration import (
    RISE,
    _fits,
    best_by_cost,
    best_by_metric,
    calibration_report,
    choose_calibration,
    decide_by_cost,
    fit_logistic,
    for_capacity,
    operating_points,
    share_offset,
    with_false_positive_rate,
    with_precision,
)

# scores in order .9 .8 .7 .6 .5 with labels 1 0 1 1 0: after each threshold 1/0 2/... are found
LABELS, SCORES = np.array([1, 0, 1, 1, 0]), np.array([0.9, 0.8, 0.7, 0.6, 0.5])
POINTS = operating_points(LABELS, SCORES)


def rare_events(n_rows, seed):
    """Rows of a logistic model with about one positive in a hundred."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n_rows, 3))
    chance = expit(x @ [1.0, -0.7, 0.4] - 5.3)
    return x, (draw.random(n_rows) < chance).astype(int), chance


def undersampled(seed, n_rows=200_000):
    """The true share, chances by a model of even classes on its rows and on fresh ones, and what happened there."""
    x, y, known = rare_events(n_rows, seed)
    kept = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)[: y.sum()]]
    model = LogisticRegression(C=np.inf).fit(x[kept], y[kept])
    fresh, happened, chance = rare_events(n_rows, seed + 100)
    return known.mean(), model.predict_proba(x)[:, 1], model.predict_proba(fresh)[:, 1], happened, chance.mean()


@pytest.mark.parametrize("seed", range(3))
def test_an_offset_from_naturally_balanced_rows_is_right_each_time(seed):
    share, seen, fresh, happened, truth = undersampled(seed)

    report = calibration_report(happened, expit(logit(fresh) + share_offset(seen, share)))

    assert report.mean_probability == pytest.approx(truth, rel=0.05)
    assert 0.9 < report.slope.value < 1.1


def test_an_offset_worked_by_hand():
    # odds 1 and 3 times 1/3 are 1/3 and 1: chances 1/4 and 1/2, on average 3/8
    offset = share_offset([0.5, 0.75], 3 / 8)

    assert offset == pytest.approx(-np.log(3))


def test_probabilities_that_are_right_are_left_alone():
    _, y, chance = rare_events(40_000, seed=2)

    chosen = choose_calibration(y, chance)

    assert chosen.kind == "none"
    np.testing.assert_array_equal(chosen.apply(chance[:5]), chance[:5])
    assert set(chosen.log_losses) == {"none", "sigmoid", "isotonic"}


def test_decision_values_get_a_sigmoid_that_recovers_the_truth():
    draw = np.random.default_rng(0)
    decision = draw.normal(size=20_000)
    y = (draw.random(20_000) < expit(2 * decision - 1)).astype(int)

    chosen = choose_calibration(y, decision)

    assert chosen.kind == "sigmoid"
    assert "none" not in chosen.log_losses
    np.testing.assert_allclose(chosen.apply([-1, 0, 1]), expit([-3, -1, 1]), atol=0.02)


def test_a_bend_that_no_sigmoid_has_gets_an_isotonic_curve():
    draw = np.random.default_rng(0)
    score = draw.random(20_000)
    y = (draw.random(20_000) < np.where(score < 0.8, 0.1, 0.6)).astype(int)

    chosen = choose_calibration(y, score, folds=np.arange(20_000) % 4)

    assert chosen.kind == "isotonic"
    np.testing.assert_allclose(chosen.apply([0.3, 0.95]), [0.1, 0.6], atol=0.05)


@pytest.mark.parametrize("scale", ["probability", "decision"])
def test_probabilities_by_steps_rank_rows_as_their_scores_do(scale):
    draw = np.random.default_rng(0)
    margin = draw.normal(size=400)
    y = (draw.random(400) < expit(3 * margin)).astype(int)
    score = expit(margin) if scale == "probability" else margin

    chances = _fits(["isotonic"], y, score, np.ones(400))["isotonic"](score)

    assert np.array_equal(np.argsort(chances), np.argsort(score))
    assert average_precision_score(y, chances) == average_precision_score(y, score)
    assert np.all((chances > 0) & (chances < 1))


def test_steps_without_any_order_in_the_rows_stay_level():
    y, score = np.tile([1, 0], 50), np.tile([0.0, 1.0], 50)  # higher scores have fewer positives

    found = _fits(["isotonic"], y, score, np.ones(100))["isotonic"]

    assert found.rise == 0.0
    assert found([0.0, 1.0]).tolist() == [0.5, 0.5]


def test_weights_stand_for_repeated_rows_in_every_loss():
    draw = np.random.default_rng(0)
    score, weight = draw.random(200), draw.integers(1, 4, 200)
    y = (draw.random(200) < score).astype(int)
    folds, twice = np.arange(200) % 3, np.repeat(np.arange(200), weight)

    weighted = choose_calibration(y, score, folds=folds, sample_weight=weight)
    repeated = choose_calibration(y[twice], score[twice], folds=folds[twice])

    assert weighted.log_losses["none"] == pytest.approx(repeated.log_losses["none"])
    assert weighted.log_losses["sigmoid"] == pytest.approx(repeated.log_losses["sigmoid"], abs=1e-3)


def test_a_sigmoid_of_very_many_rows_is_that_of_every_single_row():
    draw = np.random.default_rng(0)
    score = draw.normal(size=60_000) ** 3
    y = (draw.random(60_000) < expit(score - 4)).astype(int)
    exact, _ = fit_logistic(score, y, np.ones(60_000))

    chosen = choose_calibration(y, score, folds=np.arange(60_000) % 2, kinds=["sigmoid"])

    assert (chosen.apply.intercept, chosen.apply.slope) == pytest.approx(exact, abs=0.005)


def test_odds_are_only_shifted_where_only_the_prior_is_to_be_corrected():
    y, chance = np.repeat([0, 1], [90, 10]), np.tile([0.2, 0.8], 50)

    chosen = choose_calibration(y, chance, kinds=["prior"])

    low, high = chosen.apply([0.2, 0.8])
    assert (low + high) / 2 == pytest.approx(0.1)
    assert (high / (1 - high)) / (low / (1 - low)) == pytest.approx(16)


def test_cross_fitted_probabilities_come_from_maps_that_did_not_see_the_row():
    y, score, folds = np.tile([0, 1], 50), np.tile([0.0, 1.0], 50), np.arange(100) // 50
    turned = np.where(folds == 0, 1 - y, y)

    chosen = choose_calibration(turned, score, folds=folds, kinds=["isotonic"])

    np.testing.assert_allclose(chosen.cross_fitted[:2], [0.01, 0.99], atol=RISE)
    np.testing.assert_allclose(chosen.cross_fitted[-2:], [0.5, 0.5], atol=RISE)  # steps through falling rows are level


def test_classes_that_part_completely_still_get_a_finite_curve():
    chosen = choose_calibration(np.repeat([0, 1], 20), np.arange(40) - 19.5)

    assert 0 < chosen.apply([-20.0])[0] < 0.1
    assert 0.9 < chosen.apply([20.0])[0] < 1


def test_the_logistic_fit_is_scikit_learns_and_its_errors_hold():
    draw = np.random.default_rng(0)
    x, weight = draw.normal(size=2000), draw.integers(1, 3, 2000)
    y = (draw.random(2000) < expit(1.5 * x - 2)).astype(int)

    found, covariance = fit_logistic(x, y, weight)

    model = LogisticRegression(C=np.inf, tol=1e-10).fit(x[:, None], y, sample_weight=weight)
    np.testing.assert_allclose(found, [model.intercept_[0], model.coef_[0, 0]], rtol=1e-4)
    np.testing.assert_allclose(found, [-2, 1.5], atol=3 * np.sqrt(np.diag(covariance)).max())


def test_slope_and_intercept_name_the_way_probabilities_are_wrong():
    # log odds doubled and raised by 1: the truth is half the stated log odds, less a half
    _, y, chance = rare_events(100_000, seed=3)

    report = calibration_report(y, expit(2 * logit(chance) + 1))

    assert report.slope.low < 0.5 < report.slope.high
    assert report.intercept.low < -0.5 < report.intercept.high


def test_the_expected_error_worked_by_hand():
    # two bins of two rows: residuals .9 + -.1 and .3 + -.5: (|.8| + |-.2|) / 4
    report = calibration_report([1, 0, 1, 0], [0.1, 0.1, 0.7, 0.5], n_bins=2)

    assert report.expected_error.value == pytest.approx(0.25)
    assert report.rate == 0.5
    assert report.mean_probability == pytest.approx(0.35)


@pytest.mark.parametrize("shift, covered", [(0.0, True), (1.0, False)])
def test_the_interval_of_the_expected_error_holds_zero_only_if_calibrated(shift, covered):
    draw = np.random.default_rng(0)
    chance = draw.uniform(0.1, 0.9, 5000)
    y = (draw.random(5000) < expit(logit(chance) + shift)).astype(int)

    error = calibration_report(y, chance).expected_error

    assert (error.low == 0) is covered
    assert error.low <= error.value


def test_every_distinct_score_is_a_threshold_and_nothing_flagged_is_one_too():
    points = operating_points([1, 0, 1, 0], [0.5, 0.5, 0.9, 0.1])

    assert points.thresholds.tolist() == [np.inf, 0.9, 0.5, 0.1]
    assert points.true_positives.tolist() == [0, 1, 2, 2]
    assert points.false_positives.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    "miss, alarm, threshold, cost",
    [
        (1, 1, 0.6, 0.2),  # flag four: one false alarm
        (1, 5, 0.9, 0.4),  # flag one: two misses
        (0, 1, np.inf, 0.0),  # flag nothing: misses are free
    ],
)
def test_the_threshold_by_cost_worked_by_hand(miss, alarm, threshold, cost):
    point = best_by_cost(POINTS, [[0, alarm], [miss, 0]])

    assert (point.threshold, point.figure) == (threshold, pytest.approx(cost))


@pytest.mark.parametrize(
    "metric, beta, measured",
    [
        ("f_beta", 1.0, lambda y, flags: fbeta_score(y, flags, beta=1, zero_division=0)),
        ("f_beta", 2.0, lambda y, flags: fbeta_score(y, flags, beta=2, zero_division=0)),
        ("matthews_corrcoef", 1.0, matthews_corrcoef),
        ("balanced_accuracy", 1.0, balanced_accuracy_score),
    ],
)
def test_no_threshold_has_a_better_metric(metric, beta, measured):
    draw = np.random.default_rng(0)
    y, scores = np.tile([0, 0, 1], 30), draw.integers(0, 20, 90) + np.tile([0, 0, 4], 30)

    point = best_by_metric(operating_points(y, scores), metric, beta=beta)

    figures = {threshold: measured(y, scores >= threshold) for threshold in np.unique(scores)}
    assert point.figure == pytest.approx(max(figures.values()))
    assert point.figure == pytest.approx(figures[point.threshold])


def test_a_precision_is_held_while_most_positives_are_found():
    # precisions down the list: 1, 1/2, 2/3, 3/4, 3/5
    point = with_precision(POINTS, 0.7)

    assert (point.threshold, point.recall, point.precision) == (0.6, 1.0, 0.75)


def test_a_false_positive_rate_is_held_while_most_positives_are_found():
    # one of two negatives lies above .6, none above .9
    assert with_false_positive_rate(POINTS, 0.5).threshold == 0.6
    assert with_false_positive_rate(POINTS, 0.1).recall == pytest.approx(1 / 3)
    assert with_false_positive_rate(POINTS, 0.0).threshold == 0.9


def test_a_capacity_is_filled_and_never_exceeded_by_equal_scores():
    tied = operating_points(LABELS, [0.9, 0.8, 0.8, 0.6, 0.5])

    assert for_capacity(POINTS, 2).threshold == 0.8
    assert for_capacity(tied, 2).figure == 1
    assert for_capacity(tied, 3).flagged_share == 0.6


def test_a_weight_of_two_equals_the_row_twice():
    weight = np.array([1, 2, 1, 3, 1])
    twice = np.repeat(np.arange(5), weight)

    weighted = operating_points(LABELS, SCORES, weight)
    repeated = operating_points(LABELS[twice], SCORES[twice])

    np.testing.assert_array_equal(weighted.true_positives, repeated.true_positives)
    np.testing.assert_array_equal(weighted.precision, repeated.precision)


def test_three_classes_are_decided_by_least_expected_cost():
    # classes cost 0 to get right and 1 to get wrong, but missing the third costs 10:
    # row 1 expects .4 + 10*.15 = 1.9, ... , .85: the third; row 2 has none of the third: its likeliest class
    cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]

    assert decide_by_cost([[0.45, 0.40, 0.15], [0.3, 0.7, 0.0]], cost).tolist() == [2, 1]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: operating_points([0, 0], [0.1, 0.2]), r"needs rows of class 0 and class 1, but the rows hold \[0\]"),
        (lambda: with_precision(operating_points([0, 1], [0.2, 0.1]), 0.9), r"best on these rows is 0\.5000"),
        (lambda: best_by_metric(POINTS, "accuracy"), "Choose one of f_beta, matthews_corrcoef, balanced_accuracy"),
        (lambda: decide_by_cost([[0.5, 0.5]], np.eye(3)), "has 3 rows, but there are 2 classes"),
    ],
)
def test_what_cannot_be_decided_is_refused_with_a_remedy(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("kind", ["plain", "ties", "weights", "some weigh nothing"])
def test_the_steps_are_those_of_scikit_learn(kind):
    random = np.random.default_rng(0)
    scores = random.normal(size=200)
    scores = np.round(scores, 1) if kind == "ties" else scores
    y = (random.random(200) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    weight = np.ones(200) if kind in {"plain", "ties"} else random.integers(kind == "weights", 4, 200).astype(float)
    least, asked = 0.5 / 200, np.linspace(-4, 4, 300)

    ours = replace(_fits(["isotonic"], y, scores, weight)["isotonic"], rise=0.0)(asked)

    theirs = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip").fit(scores, y, weight)
    np.testing.assert_allclose(ours, theirs.predict(asked), atol=1e-12)


def test_the_flagged_share_counts_every_row_from_the_threshold_on():
    points = operating_points([1, 0, 1, 0, 0], [0.9, 0.7, 0.5, 0.5, 0.1])

    # flagged from .5 on are four of five rows, two of them positive; a score at the threshold is flagged
    found = next(points.at(place, 0.0) for place, at in enumerate(points.thresholds) if at == 0.5)
    assert (found.flagged_share, found.precision, found.recall) == (4 / 5, 2 / 4, 1.0)
    assert found.false_positive_rate == pytest.approx(2 / 3)


def test_a_limit_that_is_just_met_is_met():
    points = operating_points([1, 0, 1, 0, 0], [0.9, 0.7, 0.5, 0.4, 0.1])

    assert with_precision(points, 2 / 3).threshold == 0.5
    assert with_false_positive_rate(points, 1 / 3).threshold == 0.5
    assert for_capacity(points, 3).threshold == 0.5


def test_the_curve_that_steps_rise_along_is_that_of_the_same_rows_and_fitted_once(monkeypatch):
    random = np.random.default_rng(0)
    y, score = random.integers(0, 2, 300), random.normal(size=300)
    fitted = []
    monkeypatch.setattr(calibration, "fit_logistic", lambda *given: fitted.append(given) or fit_logistic(*given))

    found = _fits(["isotonic", "sigmoid"], y, score, np.ones(300))

    assert len(fitted) == 1
    assert (found["isotonic"].intercept, found["isotonic"].slope) == (
        found["sigmoid"].intercept,
        found["sigmoid"].slope,
    )
