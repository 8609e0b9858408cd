"""Statistics: hand-worked values, published examples, other implementations, and short simulations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy.stats import binom, friedmanchisquare, norm
from statsmodels.stats.multitest import multipletests

from evenhand.statistics import (
    Interval,
    auc_by_chance,
    auc_interval,
    auc_power,
    auc_variance,
    corrected_resampled_t,
    counts_between,
    delong,
    delong_test,
    drift,
    friedman_nemenyi,
    holm,
    jensen_shannon,
    odds_shift,
    power_of,
    quantile_edges,
    share_shifts,
    spend_alpha,
    stability_index,
    wilson_interval,
)

# Hanley, McNeil (1982): ratings 1..5 of 58 normal and 51 abnormal CT images
NORMAL, ABNORMAL = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]
RATED = np.repeat([1, 2, 3, 4, 5] * 2, NORMAL + ABNORMAL)
DISEASED = np.repeat([0, 1], [58, 51])

# Demšar (2006), table 6: AUC of C4.5 and three tuned variants on 14 data sets;
# the last but one row prints .975 twice and ranks them 2 and 3, which the fourth digit here brings back
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.9749],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def rivals(draw, n_each, areas=(0.8, 0.8), correlation=0.0):
    """Two binormal scores with the given areas under the curve, correlated within each class."""
    noise = draw.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 2 * n_each)
    y = np.repeat([0, 1], n_each)
    return y, noise + y[:, None] * math.sqrt(2) * norm.ppf(areas)


def at_most(n_draws, share):
    """The count that a chance of `share` exceeds once in a thousand simulations."""
    return binom.ppf(0.999, n_draws, share)


def test_delong_worked_by_hand():
    # positives 3 and 1 lie above 2 and 1 of the negatives 2 and 0: components 1 and .5, negatives .5 and 1;
    # both have variance .125, over 2 rows each: .0625 + .0625
    areas, covariance = delong([1, 1, 0, 0], np.array([3.0, 1.0, 2.0, 0.0]))

    assert areas.tolist() == [0.75]
    assert covariance.tolist() == [[0.125]]


def test_area_error_and_interval_of_the_ct_ratings_are_those_of_stata():
    areas, covariance = delong(DISEASED, RATED)
    interval = auc_interval(DISEASED, RATED, scale="plain")

    assert areas[0] == pytest.approx(0.8932, abs=5e-5)
    assert math.sqrt(covariance[0, 0]) == pytest.approx(0.0307, abs=5e-5)
    assert (interval.low, interval.high) == pytest.approx((0.83295, 0.95339), abs=5e-6)


def test_the_interval_on_the_logit_scale_worked_by_hand():
    # area 3/4, deviation √.125 (see above): logit ln 3, reach 1.96 √.125 / (3/16)
    interval = auc_interval([1, 1, 0, 0], [3, 1, 2, 0])

    reach = 1.959964 * math.sqrt(0.125) * 16 / 3
    assert interval.low == pytest.approx(1 / (1 + math.exp(reach) / 3), abs=1e-6)
    assert interval.high == pytest.approx(1 / (1 + math.exp(-reach) / 3), abs=1e-6)


def test_the_error_before_any_data_of_chance_is_that_of_mann_and_whitney():
    # (n + m + 1) / (12 n m)
    assert auc_variance(0.5, 7, 11) == pytest.approx(19 / (12 * 77))


def test_what_chance_keeps_an_area_within_worked_by_hand():
    # variance (12 + 24 + 1) / (12 * 12 * 24) = 0.010706, deviation 0.10347, times 1.96 is 0.2028
    chance = auc_by_chance(12, 24)

    assert (chance.low, chance.high) == pytest.approx((0.5 - 0.2028, 0.5 + 0.2028), abs=1e-4)
    assert (auc_by_chance(1, 2).low, auc_by_chance(1, 2).high) == (0, 1)


def test_scores_that_know_nothing_leave_what_chance_allows_as_seldom_as_the_level_says():
    draw = np.random.default_rng(5)
    y = np.repeat([1, 0], [15, 45])
    areas = [delong(y, draw.normal(size=60))[0][0] for _ in range(1000)]

    outside = sum(not auc_by_chance(15, 45).covers(area) for area in areas)

    assert binom.ppf(0.001, 1000, 0.05) <= outside <= binom.ppf(0.999, 1000, 0.05)


def test_the_error_before_any_data_is_close_to_the_one_seen():
    # the CT images of Hanley and McNeil: Stata's .0307 from the ratings, .032 by their own formula
    assert math.sqrt(auc_variance(0.893, 51, 58)) == pytest.approx(0.0307, abs=0.0015)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_midranks_give_the_components_that_comparing_every_pair_gives(seed):
    draw = np.random.default_rng(seed)
    y, scores = np.repeat([0, 1], [9, 6]), draw.integers(0, 5, (15, 2))

    areas, covariance = delong(y, scores)

    ups, downs = scores[y == 1], scores[y == 0]
    wins = (ups[:, None] > downs[None]) + 0.5 * (ups[:, None] == downs[None])
    by_pairs = np.cov(wins.mean(axis=1).T) / 6 + np.cov(wins.mean(axis=0).T) / 9
    np.testing.assert_allclose(areas, wins.mean(axis=(0, 1)))
    np.testing.assert_allclose(covariance, by_pairs, atol=1e-12)


def test_scores_that_order_alike_do_not_differ_and_have_no_error():
    y, scores = rivals(np.random.default_rng(0), 30)

    compared = delong_test(y, scores[:, 0], np.exp(scores[:, 0]))

    assert (compared.difference, compared.p_value) == (0, 1)


def test_four_rows_that_part_perfectly_do_not_prove_that_scores_know_the_label():
    # Wilson's interval with 2 of 2: low end 1 - z² / (2 + z²) = 1 - 3.8415 / 5.8415
    few, many = auc_interval([0, 0, 1, 1], [1, 2, 3, 4]), auc_interval(np.repeat([0, 1], 50), np.arange(100))

    assert few.low == pytest.approx(1 - 3.8415 / 5.8415, abs=1e-4)
    assert few.covers(0.5)
    assert not many.covers(0.5)


def test_chance_lies_outside_the_interval_of_a_reversed_score_too():
    assert not auc_interval(DISEASED, -RATED).covers(0.5)


@pytest.mark.parametrize(
    "y, words", [([1, 1, 1], r"holds 1: \[1\]"), ([0, 1, 1], "two rows of each class, but found 2 and 1")]
)
def test_areas_refuse_rows_they_cannot_judge(y, words):
    with pytest.raises(ValueError, match=words):
        auc_interval(y, [1, 2, 3])


def test_corrected_t_worked_by_hand():
    # gaps .1 .2 .3: mean .2, s² .01; (1/3 + .25/.75) .01 = 1/150; t² = .04 * 150 = 6; for 2 degrees p = 1 - t/√(2 + t²)
    compared = corrected_resampled_t([0.8, 0.9, 0.9], [0.7, 0.7, 0.6], test_share=0.25)

    assert compared.difference == pytest.approx(0.2)
    assert compared.statistic == pytest.approx(math.sqrt(6))
    assert compared.p_value == pytest.approx(1 - math.sqrt(6 / 8))
    assert compared.interval.high - 0.2 == pytest.approx(4.30265 / math.sqrt(150), abs=1e-5)


@pytest.mark.parametrize("gap, p_value", [(0.0, 1.0), (0.5, 0.0)])
def test_corrected_t_of_gaps_without_spread_is_all_or_nothing(gap, p_value):
    assert corrected_resampled_t([0.5 + gap] * 3, [0.5] * 3, test_share=0.2).p_value == p_value


def test_corrected_t_needs_two_folds():
    with pytest.raises(ValueError, match="two folds or more, but found 1"):
        corrected_resampled_t([0.5], [0.4], test_share=0.2)


def test_holm_worked_by_hand():
    # sorted .005 .01 .03 .04 times 4 3 2 1: .02 .03 .06 .04, and the last is raised to the one before
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])


def test_friedman_and_nemenyi_of_demsars_example():
    ranking = friedman_nemenyi(DEMSAR)

    np.testing.assert_allclose(ranking.mean_ranks, [3.143, 2.0, 2.893, 1.964], atol=5e-4)
    # 9.28 without correction for ties; three pairs (2**3 - 2 = 6 each) and one four (4**3 - 4 = 60) tie, of 14 * 60
    assert ranking.chi_squared == pytest.approx(9.28 / (1 - (3 * 6 + 60) / (14 * 60)), abs=0.01)
    # Iman and Davenport: 13 * 10.23 / (14 * 3 - 10.23)
    assert ranking.f_statistic == pytest.approx(4.19, abs=0.01)
    assert ranking.critical_difference == pytest.approx(1.25, abs=0.005)
    assert ranking.p_value < 0.05
    assert friedman_nemenyi(DEMSAR, alpha=0.1).critical_difference == pytest.approx(1.12, abs=0.005)


def test_the_group_of_the_best_reaches_one_critical_difference():
    # 3.143 - 1.964 = 1.179 lies within 1.25 and beyond 1.12, 2.893 - 1.964 = 0.929 within both
    assert friedman_nemenyi(DEMSAR).group_of_best == [0, 1, 2, 3]
    assert friedman_nemenyi(DEMSAR, alpha=0.1).group_of_best == [1, 2, 3]


def test_the_bars_of_demsars_diagram():
    # ranks in order 1.964 2.0 2.893 3.143 and 1.12 as reach: 2.893 - 1.964 = .929 and 3.143 - 2.893 = .25 lie within,
    # 3.143 - 2.0 = 1.143 does not; one bar would not be the largest if it were part of another
    assert friedman_nemenyi(DEMSAR, alpha=0.1).groups == [[3, 1, 2], [2, 0]]
    assert friedman_nemenyi(DEMSAR).groups == [[3, 1, 2, 0]]


def test_friedmans_p_value_is_that_of_scipy_where_nothing_is_tied():
    figures = np.random.default_rng(0).normal(size=(9, 4))

    assert friedman_nemenyi(figures).chi_squared_p_value == pytest.approx(friedmanchisquare(*figures.T).pvalue)


def test_friedmans_p_value_is_that_of_scipy_where_figures_are_tied():
    figures = np.random.default_rng(0).integers(0, 4, size=(9, 5)).astype(float)

    assert friedman_nemenyi(figures).chi_squared == pytest.approx(friedmanchisquare(*figures.T).statistic)
    assert friedman_nemenyi(figures).chi_squared_p_value == pytest.approx(friedmanchisquare(*figures.T).pvalue)


def test_models_that_are_all_tied_show_no_difference():
    ranking = friedman_nemenyi(np.ones((5, 3)))

    assert (ranking.chi_squared, ranking.chi_squared_p_value) == (0.0, 1.0)


def test_mean_ranks_lie_a_critical_difference_apart_where_scikit_posthocs_separates_the_pair():
    figures = np.random.default_rng(1).normal(size=(12, 5)) + np.array([0, 0.2, 0.4, 0.9, 1.5])

    ranking = friedman_nemenyi(figures)

    is_apart = np.abs(np.subtract.outer(ranking.mean_ranks, ranking.mean_ranks)) > ranking.critical_difference
    expected = posthoc_nemenyi_friedman(figures).to_numpy() < 0.05
    assert 0 < expected.sum() < 20  # some pairs, not all
    np.testing.assert_array_equal(is_apart, expected)


def test_holms_p_values_are_those_of_statsmodels():
    p_values = np.random.default_rng(2).uniform(size=30) ** 3

    np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1])


def test_ranks_without_any_disagreement_are_certain():
    assert friedman_nemenyi(np.tile([0.9, 0.8, 0.7], (5, 1))).p_value == 0


def test_ranks_over_a_single_study_are_refused():
    with pytest.raises(ValueError, match="two studies and two models, but found 1 and 2"):
        friedman_nemenyi(np.array([[0.5, 0.6]]))


def test_obrien_fleming_spending_is_that_of_demets_and_lan():
    # their table for .025 and five looks: .0038 spent after the third, .0122 after the fourth
    spent = np.cumsum(spend_alpha(0.025, 5, shape="obrien_fleming"))

    np.testing.assert_allclose(spent[2:], [0.0038, 0.0122, 0.025], atol=5e-5)


@pytest.mark.parametrize("shape", ["even", "obrien_fleming", "pocock"])
def test_every_way_of_spending_spends_alpha_and_no_more(shape):
    levels = spend_alpha(0.05, 52, shape=shape)

    assert levels.shape == (52,)
    assert levels.min() >= 0
    assert levels.sum() == pytest.approx(0.05)


def test_an_unknown_way_of_spending_names_the_known_ones():
    with pytest.raises(ValueError, match=r"'late'\. Choose one of even, obrien_fleming, pocock"):
        spend_alpha(0.05, 4, shape="late")


def test_wilson_of_none_in_ten():
    # z² / (n + z²) = 3.8415 / 13.8415
    interval = wilson_interval(0.0, 10)

    assert (interval.low, interval.high) == pytest.approx((0, 0.27753), abs=1e-5)


def test_share_shift_of_newcombes_example():
    # Newcombe (1998), Statistics in Medicine 17, method 10: 56/70 against 48/80 gives .2, from .0524 to .3339
    shift, interval = share_shifts([32, 48], [14, 56])[1]

    assert shift == pytest.approx(0.2)
    assert (interval.low, interval.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_drift_measures_worked_by_hand():
    # shares .5 .5 and .25 .75: .25 ln 2 + .25 ln 1.5, and H(.375) - (H(.5) + H(.25)) / 2 = .9544 - (1 + .8113) / 2;
    # with .001 on each of them .5 .5 and .251 .751 of 1.002, which makes both a little less
    before, after = np.array([5, 5]), np.array([25, 75])

    assert stability_index(before, after) == pytest.approx(0.25 / 1.002 * math.log(0.751 / 0.251), abs=1e-9)
    assert stability_index(before, after) == pytest.approx(0.25 * math.log(3), rel=0.01)
    assert jensen_shannon(before, after) == pytest.approx(0.9544 - 1.8113 / 2, rel=0.01)


@pytest.mark.parametrize("after", [[20, 80, 0], [90, 10, 0], [50, 40, 10]])
def test_the_same_shares_give_the_same_figure_for_any_number_of_rows(after):
    before = np.array([60, 40, 0])

    for measure in (stability_index, jensen_shannon):
        few, many = measure(before, np.array(after)), measure(before * 10**6, np.array(after) * 10**4)
        assert few == pytest.approx(many, rel=1e-12)


def test_a_shift_of_odds_worked_by_hand():
    # 10 of 100 and 20 of 100: (20.5 / 80.5) / (10.5 / 90.5); s² of its logarithm is the sum of the inverse counts
    times, interval = odds_shift((10, 100), (20, 100))

    expected = (20.5 / 80.5) / (10.5 / 90.5)
    reach = math.exp(1.959964 * math.sqrt(1 / 20.5 + 1 / 80.5 + 1 / 10.5 + 1 / 90.5))
    assert times == pytest.approx(expected)
    assert (interval.low, interval.high) == pytest.approx((expected / reach, expected * reach), rel=1e-6)


def test_noise_is_what_sampling_alone_is_expected_to_give():
    draw = np.random.default_rng(0)
    pairs = [draw.multinomial(500, [0.2, 0.3, 0.5], 4000) for _ in range(2)]

    found = drift(pairs[0][0], pairs[1][0])
    expected, divergence = found["psi"].noise, found["jensen_shannon"].noise

    assert expected == pytest.approx(2 * (1 / 500 + 1 / 500), rel=0.1)
    assert stability_index(*pairs).mean() == pytest.approx(expected, rel=0.1)
    assert jensen_shannon(*pairs).mean() == pytest.approx(divergence, rel=0.1)


@pytest.mark.parametrize("after", [[0.2, 0.3, 0.5], [0.4, 0.3, 0.3]])
def test_the_interval_of_a_drift_covers_the_true_one(after):
    draw = np.random.default_rng(0)
    before = np.array([0.2, 0.3, 0.5])
    truth = ((np.array(after) - before) * np.log(np.array(after) / before)).sum()
    seen = [(draw.multinomial(400, before), draw.multinomial(400, after)) for _ in range(200)]

    missed = sum(not drift(*pair, n_draws=300, seed=3)["psi"].interval.covers(truth) for pair in seen)

    assert missed <= at_most(200, 0.07)


def test_bins_are_the_quantiles_of_the_reference_and_missing_values_have_their_own():
    reference, current = np.array([1.0, 2, 3, 4, np.nan]), np.array([0.0, 2.6, 2.7, np.nan, np.nan])

    edges = quantile_edges(reference, n_bins=2)
    before, after = counts_between(reference, edges), counts_between(current, edges)

    assert before.tolist() == [2, 2, 1]
    assert after.tolist() == [1, 2, 2]


def test_bins_of_nothing_known_are_refused():
    with pytest.raises(ValueError, match="every reference value is missing"):
        quantile_edges(np.array([np.nan]))


def test_between_equal_models_a_difference_is_found_at_most_as_often_as_alpha_says():
    draw = np.random.default_rng(0)
    tested = [rivals(draw, 150, correlation=0.5) for _ in range(400)]

    found = sum(delong_test(y, *scores.T).differs(0.05) for y, scores in tested)

    assert found <= at_most(400, 0.05)


def test_the_stated_power_is_the_share_of_true_differences_found():
    draw = np.random.default_rng(1)
    stated = auc_power(0.02, auc=0.8, n_positive=3000, n_negative=3000)

    found = sum(
        delong_test(y, *scores.T).differs() for y, scores in (rivals(draw, 3000, (0.8, 0.82)) for _ in range(150))
    )

    assert 0.6 < stated < 0.85
    assert binom.ppf(0.001, 150, stated) <= found <= binom.ppf(0.999, 150, stated)


def test_the_power_reported_beside_a_comparison_is_the_share_of_true_differences_found():
    draw = np.random.default_rng(3)
    seen = [delong_test(y, *scores.T) for y, scores in (rivals(draw, 3000, (0.8, 0.82)) for _ in range(150))]

    told = np.mean([power_of(0.02, each.interval) for each in seen])

    assert 0.6 < told < 0.85
    assert binom.ppf(0.001, 150, told) <= sum(each.differs() for each in seen) <= binom.ppf(0.999, 150, told)


def test_the_power_of_an_interval_worked_by_hand():
    # half a width of 1.96 is a deviation of 1: a difference of 1.96 is found as often as a normal exceeds 0
    assert power_of(1.96, Interval(-1.96, 1.96, 0.95)) == pytest.approx(0.5, abs=1e-3)
    assert power_of(0.0, Interval(-1.96, 1.96, 0.95), alpha=0.2) == pytest.approx(0.2)
    assert power_of(0.02, Interval(0.0, 0.0, 0.95)) == 1.0
    assert power_of(0.0, Interval(0.0, 0.0, 0.95)) == 0.05


def test_power_without_a_difference_is_alpha_and_grows_with_rows_and_correlation():
    common = {"auc": 0.8, "n_positive": 500, "n_negative": 500}

    none = auc_power(0.0, **common)
    some, paired = auc_power(0.02, **common), auc_power(0.02, **common, correlation=0.6)
    many = auc_power(0.02, auc=0.8, n_positive=5000, n_negative=5000)

    assert none == pytest.approx(0.05)
    assert 0.05 < some < paired < many


def test_power_refuses_an_area_above_one():
    with pytest.raises(ValueError, match=r"auc=0\.99 and difference=0\.02 give 1\.01"):
        auc_power(0.02, auc=0.99, n_positive=100, n_negative=100)


def test_a_year_of_weekly_looks_between_equals_promotes_seldom():
    draw = np.random.default_rng(2)
    levels = spend_alpha(0.05, 10)
    years = [[rivals(draw, 60) for _ in range(10)] for _ in range(100)]

    promoted = sum(
        any(delong_test(y, *scores.T).differs(level) for (y, scores), level in zip(year, levels, strict=True))
        for year in years
    )

    assert promoted <= at_most(100, 0.05)
