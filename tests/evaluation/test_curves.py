import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics

from evenhand.errors import DataError
from evenhand.evaluation import curves

TRUTH, SCORE = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]


def scored_rows(n_rows=5000, share=0.1, seed=0):
    random = np.random.default_rng(seed)
    truth = (random.random(n_rows) < share).astype(int)
    return truth, random.normal(size=n_rows) + 1.5 * truth


def test_roc_of_four_rows_is_the_one_drawn_by_hand():
    found = curves.roc(TRUTH, SCORE)

    # falling: .8 positive (tpr .5), .4 negative (fpr .5), .35 positive (tpr 1), .1 negative (fpr 1); area .5*.5 + .5*1
    assert found.fpr == (0, 0, 0.5, 0.5, 1)
    assert found.tpr == (0, 0.5, 0.5, 1, 1)
    assert found.thresholds == (np.inf, 0.8, 0.4, 0.35, 0.1)
    assert found.area == 0.75


@pytest.mark.parametrize(("n_rows", "places"), [(3000, 1), (3000, 9), (300, 0), (2, 9)])
def test_curves_of_rows_that_tie_are_those_of_scikit_learn(n_rows, places):
    truth, score = scored_rows(n_rows, 0.5)
    truth[:2], score = (0, 1), score.round(places)

    roc, steps, sweep = (make(truth, score, most=10**6) for make in (curves.roc, curves.precision_recall, curves.sweep))

    fpr, tpr, thresholds = metrics.roc_curve(truth, score)
    kept = [thresholds.tolist().index(each) for each in roc.thresholds]
    assert (roc.fpr, roc.tpr) == (tuple(fpr[kept]), tuple(tpr[kept]))
    assert roc.area == metrics.auc(fpr, tpr)
    assert curves.tpr_by_fpr_percent(truth, score) == pytest.approx(
        np.interp(np.arange(101) / 100, *metrics.roc_curve(truth, score, drop_intermediate=False)[:2]), abs=0
    )
    precision, recall, thresholds = metrics.precision_recall_curve(truth, score)
    known = set(zip(recall.tolist(), precision.tolist(), strict=True))
    assert {(x, y) for x, y in zip(steps.recall, steps.precision, strict=True) if x} & known
    assert set(steps.thresholds) <= set(thresholds.tolist())
    assert steps.area == pytest.approx(metrics.average_precision_score(truth, score), abs=1e-12)
    tn, fp, fn, tp, _ = metrics.confusion_matrix_at_thresholds(truth, score)
    found = set(zip(sweep.tn, sweep.fp, sweep.fn, sweep.tp, strict=True))
    assert found <= {
        *zip(*(each.tolist() for each in (tn, fp, fn, tp)), strict=True),
        (n_rows - sum(truth), 0, sum(truth), 0),
    }


def test_thinned_roc_stays_within_half_a_pixel_of_the_full_one():
    truth, score = scored_rows(60_000, 0.01)

    thin = curves.roc(truth, score)

    full_fpr, full_tpr, _ = metrics.roc_curve(truth, score)
    distance = distance_to_line(full_fpr, full_tpr, thin.fpr, thin.tpr)
    assert len(thin.fpr) <= 200
    assert distance.max() < 0.5 / 300  # drawn 300 pixels wide
    assert thin.area == pytest.approx(metrics.roc_auc_score(truth, score), abs=1e-12)


def distance_to_line(x, y, line_x, line_y):
    """The distance of each point to the nearest of the line's segments."""
    points, line = np.column_stack([x, y])[:, None], np.column_stack([line_x, line_y])
    start, way = line[:-1], np.diff(line, axis=0)
    length = np.maximum((way**2).sum(axis=1), 1e-30)
    part = (((points - start) * way).sum(axis=2) / length).clip(0, 1)
    return np.sqrt(((points - start - part[..., None] * way) ** 2).sum(axis=2)).min(axis=1)


def test_each_kept_threshold_gives_the_rates_beside_it():
    truth, score = scored_rows()

    found = curves.roc(truth, score)

    assert len(found.fpr) > 20
    for fpr, tpr, threshold in list(zip(found.fpr, found.tpr, found.thresholds, strict=True))[::20]:
        called = score >= threshold
        assert fpr == pytest.approx(called[truth == 0].mean())
        assert tpr == pytest.approx(called[truth == 1].mean())


def test_precision_recall_of_four_rows_is_a_staircase_with_its_corners():
    found = curves.precision_recall(TRUTH, SCORE)

    # falling: recall .5 at precision 1, then 1/2, then recall 1 at 2/3, then 2/4; area .5*1 + .5*2/3
    assert found.recall == (0, 0.5, 0.5, 0.5, 1, 1)
    assert found.precision == pytest.approx((1, 1, 0.5, 2 / 3, 2 / 3, 0.5))
    assert found.area == pytest.approx(5 / 6)
    assert found.share_positive == 0.5


def test_area_under_precision_recall_is_the_average_precision_of_scikit_learn():
    truth, score = scored_rows()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(truth))

    found = curves.precision_recall(truth, score, weights)

    assert found.area == pytest.approx(metrics.average_precision_score(truth, score, sample_weight=weights))


def test_a_weight_of_two_equals_the_row_twice():
    truth, score = scored_rows(300)
    weights = np.random.default_rng(2).integers(1, 4, 300)

    weighted = curves.roc(truth, score, weights), curves.precision_recall(truth, score, weights)
    repeated = (
        curves.roc(np.repeat(truth, weights), np.repeat(score, weights)),
        curves.precision_recall(np.repeat(truth, weights), np.repeat(score, weights)),
    )

    assert [one.area for one in weighted] == pytest.approx([one.area for one in repeated])


def test_tpr_by_percent_takes_the_top_of_a_step_and_keeps_steps_upright():
    found = curves.tpr_by_fpr_percent(TRUTH, SCORE)

    assert len(found) == 101
    assert (found[0], found[25], found[49], found[50], found[100]) == (0.5, 0.5, 0.5, 1.0, 1.0)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=2, max_size=40))
@settings(max_examples=60, deadline=None)
def test_tpr_by_percent_never_falls_and_ends_at_one(rows):
    truth, score = [0, 1, *(t for t, _ in rows)], [3, 3, *(s for _, s in rows)]

    found = np.array(curves.tpr_by_fpr_percent(truth, score))

    assert (np.diff(found) >= -1e-12).all()
    assert found[-1] == 1


def test_mean_roc_of_one_fold_twice_is_that_fold_without_spread():
    band = curves.mean_roc([(TRUTH, SCORE)] * 2)

    assert band.mean == band.low == band.high == curves.tpr_by_fpr_percent(TRUTH, SCORE)
    assert band.areas == (0.75, 0.75)


def test_band_is_one_sample_standard_deviation_to_each_side_inside_zero_and_one():
    perfect, reversed_ = ([0, 1], [0.1, 0.9]), ([0, 1], [0.9, 0.1])

    band = curves.mean_roc([perfect, reversed_])

    # at fpr .5 the two say 1 and 0: mean .5, sample deviation sqrt(.5) = .707, so the band is cut at 0 and 1
    assert (band.mean[50], band.low[50], band.high[50]) == (0.5, 0, 1)


def test_mean_precision_recall_averages_precision_at_the_same_recall():
    found = curves.mean_precision_recall([([0, 1, 1], [0.1, 0.5, 0.9]), ([0, 0, 1], [0.3, 0.2, 0.1])])

    # the first keeps precision 1 throughout, the second finds its positive last, at precision 1/3
    assert (found.mean[50], found.mean[100]) == pytest.approx((2 / 3, 2 / 3))
    assert found.areas == pytest.approx((1, 1 / 3))


def test_calibration_bins_hold_all_rows_and_count_what_came():
    score = np.repeat([0.1, 0.3, 0.9], [10, 10, 20])
    truth = np.concatenate([np.arange(10) < 1, np.arange(10) < 4, np.arange(20) < 16]).astype(int)

    found = curves.calibration(truth, score, n_bins=4)

    assert [(one.mean_score, one.share, one.n_rows) for one in found.bins] == [
        (pytest.approx(0.1), 0.1, 10),
        (pytest.approx(0.3), 0.4, 10),
        (pytest.approx(0.9), 0.8, 20),
    ]
    assert found.error == pytest.approx((0 * 10 + 0.1 * 10 + 0.1 * 20) / 40)


def test_top_bin_is_halved_where_positives_are_rare():
    score = np.arange(1000) / 1000
    truth = (score >= 0.98).astype(int)

    found = curves.calibration(truth, score)

    # tenths of 100 rows; 20 positives, so the last hundred is halved to 50 and again to 25, which is the fewest
    assert [one.n_rows for one in found.bins] == [100] * 9 + [50, 25, 25]
    assert found.bins[-1].share == 20 / 25


def test_top_bin_stays_whole_where_positives_are_many():
    score = np.arange(1000) / 1000

    found = curves.calibration((score >= 0.5).astype(int), score)

    assert [one.n_rows for one in found.bins] == [100] * 10


def test_equal_scores_share_one_bin():
    assert len(curves.calibration([0, 1, 0, 1], [0.5] * 4).bins) == 1


@pytest.mark.parametrize("successes, trials", [(0, 10), (3, 10), (10, 10), (1, 1000)])
def test_wilson_interval_is_that_of_scipy(successes, trials):
    expected = binomtest(successes, trials).proportion_ci(method="wilson")

    assert curves.wilson(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_counts_at_a_chosen_threshold_are_among_the_few_that_are_kept():
    draw = np.random.default_rng(0)
    truth, score = draw.random(5000) < 0.01, draw.normal(size=5000)
    chosen = float(np.sort(score)[-37])  # flags 37 rows

    found = curves.sweep(truth, score, most=5, chosen=chosen)

    flagged = np.array(found.tp) + np.array(found.fp)
    assert 37 in flagged
    assert found.thresholds[list(flagged).index(37)] == chosen
    assert curves.sweep(truth, score, most=5, chosen=np.inf).thresholds[0] == np.inf


def test_sweep_counts_every_outcome_from_nothing_to_everything_flagged():
    found = curves.sweep(TRUTH, SCORE)

    assert found.thresholds == (np.inf, 0.8, 0.4, 0.35, 0.1)
    assert found.tp == (0, 1, 1, 2, 2)
    assert found.fp == (0, 0, 1, 1, 2)
    assert found.fn == (2, 1, 1, 0, 0)
    assert found.tn == (2, 2, 1, 1, 0)


def test_a_chosen_threshold_between_two_scores_is_a_step_with_the_rows_above_it():
    found = curves.sweep(TRUTH, SCORE, chosen=0.38)

    # above it are the scores .8, positive, and .4, negative
    place = found.thresholds.index(0.38)
    assert (found.tp[place], found.fp[place], found.fn[place], found.tn[place]) == (1, 1, 1, 1)
    assert found.thresholds == tuple(sorted(found.thresholds, reverse=True))


def test_cheapest_threshold_weighs_the_two_mistakes():
    found = curves.sweep(TRUTH, SCORE)

    # cost at inf .8 .4 .35 .1: a miss dearer 2*5, 5, 1+5, 1, 2; an alarm dearer 2, 1, 5+1, 5, 10
    assert found.cost(1, 5) == (10, 5, 6, 1, 2)
    assert found.cheapest(1, 5) == 0.35
    assert found.cheapest(5, 1) == 0.8


def test_sweep_puts_half_its_thresholds_where_the_rare_rows_are():
    truth, score = scored_rows(100_000, 0.002)

    found = curves.sweep(truth, score)

    steps = np.diff(found.tp)
    assert len(found.thresholds) <= 200
    assert steps.max() <= 0.02 * sum(truth)
    assert {(tp + fn, fp + tn) for tp, fp, fn, tn in zip(found.tp, found.fp, found.fn, found.tn, strict=True)} == {
        (truth.sum(), len(truth) - truth.sum())
    }


def test_confusion_has_a_row_per_true_class_in_the_order_given():
    found = curves.confusion(["a", "a", "b", "c"], ["a", "b", "b", "b"], ["c", "b", "a"])

    assert found.labels == ("c", "b", "a")
    assert found.counts == ((0, 1, 0), (0, 1, 0), (0, 1, 1))


def test_class_figures_are_those_of_scikit_learn_and_missing_where_nothing_was_called():
    truth, predicted = ["a", "a", "b", "c"], ["a", "b", "b", "b"]

    found = curves.per_class(curves.confusion(truth, predicted, ["a", "b", "c"]))

    expected = np.transpose(metrics.precision_recall_fscore_support(truth, predicted, zero_division=np.nan))
    assert [(one.precision, one.recall, one.f1, one.support) for one in found] == [
        pytest.approx(tuple(row), nan_ok=True) for row in expected
    ]


def test_thinned_points_keep_the_worst_miss_and_report_how_many_rows_there_were():
    actual = np.arange(5000.0)
    predicted = actual.copy()
    predicted[1234] += 99

    found = curves.predicted_actual(actual, predicted, most=100)

    assert len(found.actual) <= 100
    assert (1234, 1333) in set(zip(found.actual, found.predicted, strict=True))
    assert found.n_rows == 5000


def test_residuals_are_actual_minus_predicted_and_none_is_lost():
    actual, predicted = np.random.default_rng(3).standard_t(2, (2, 3000))

    found = curves.residuals(actual, predicted)

    assert sum(found.counts) + found.n_below + found.n_above == 3000
    assert (found.n_below, found.n_above) == (15, 15)  # half a percent of 3000 at either end
    assert len(found.counts) <= 40
    assert np.histogram(actual - predicted, found.edges)[0].tolist() == list(found.counts)


def test_deciles_follow_the_predicted_value():
    predicted = np.arange(20.0)
    actual = predicted + np.where(predicted >= 18, 3, 0)

    found = curves.deciles(actual, predicted)

    assert [one.n_rows for one in found] == [2] * 10
    assert (found[-1].low, found[-1].high) == (18, 19)
    assert (found[-1].mean_predicted, found[-1].mean_actual) == (18.5, 21.5)
    assert [one.mean_absolute_error for one in found] == [0] * 9 + [3]


def test_outline_keeps_the_ends_and_the_corner_first():
    x, y = np.array([0, 1, 2, 3, 4.0]), np.array([0, 0, 0, 1, 2.0])

    assert curves.outline(x, y, 3).tolist() == [0, 2, 4]
    assert curves.outline(x, y, 5).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: curves.roc([1, 1], [0.1, 0.2]), "both classes, but all 2 are positive"),
        (lambda: curves.precision_recall([0, 0], [0.1, 0.2]), "both classes, but all 2 are negative"),
        (lambda: curves.sweep([0, 2], [0.1, 0.2]), r"truth as 0 and 1, but found \[0, 2\]"),
        (lambda: curves.roc(["no", "yes"], [0.1, 0.2]), r"truth as 0 and 1, but found \['no', 'yes'\]"),
        (lambda: curves.calibration([0, 1], [0.1, np.nan]), "finite scores, but 1 of 2 are not"),
        (lambda: curves.roc([0, 1, 1], [0.1, 0.2]), "there are 3 and 2"),
        (lambda: curves.calibration([], []), "there are 0 and 0"),
        (lambda: curves.residuals([1.0], [1.0, 2.0]), "there are 2 and 1"),
        (lambda: curves.deciles([1.0, np.inf], [1.0, 2.0]), "missing or infinite"),
    ],
)
def test_unusable_input_is_reported_with_what_was_found(call, words):
    with pytest.raises(DataError, match=words):
        call()
