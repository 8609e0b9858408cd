from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from evenhand.statistics import FoldInfluence, expected_of_chosen, joint_figures, verdicts
from evenhand.statistics.against_best import factors, firmer, gaps_to_leader, moderated, on_holdout
from evenhand.statistics.equal_candidates import equal_candidates
from evenhand.statistics.joint import HeldFigures, JointFigures


def of_losses(losses: np.ndarray, n_folds: int = 5) -> JointFigures:
    """Candidates (columns) judged by the mean over rows, greater is better, folds dealt in turn."""
    fold = np.arange(len(losses)) % n_folds
    return joint_figures([of_fold(losses[fold == k], np.flatnonzero(fold == k)) for k in range(n_folds)])


def of_fold(part: np.ndarray, rows: np.ndarray) -> FoldInfluence:
    return FoldInfluence(part.mean(axis=0), part - part.mean(axis=0), rows, np.zeros(len(rows), dtype=int))


def apart(*means: float, n_rows: int = 1000, noise: float = 0.1, seed: int = 0) -> JointFigures:
    """Candidates whose rows lie around these means."""
    draw = np.random.default_rng(seed)
    return of_losses(np.array(means) + noise * draw.normal(size=(n_rows, len(means))))


def test_the_covariance_of_means_over_folds_is_that_of_the_mean_over_rows():
    values = np.random.default_rng(0).normal(size=(1000, 2)) @ [[1.0, 0.5], [0.0, 1.0]]

    joint = of_losses(values)

    # equal folds: the mean over folds is the mean over rows, whose covariance is that of the rows over their number
    np.testing.assert_allclose(joint.covariance, np.cov(values, rowvar=False) / 1000, rtol=0.02)
    np.testing.assert_allclose(joint.means, values.mean(axis=0))


def test_a_row_judged_in_two_repeats_counts_as_one_row():
    values, rows = np.random.default_rng(1).normal(size=(200, 2)), np.arange(200)
    once = [of_fold(values[:100], rows[:100]), of_fold(values[100:], rows[100:])]

    twice = joint_figures([*once, *once])

    np.testing.assert_allclose(twice.covariance, joint_figures(once).covariance)


def test_a_candidate_far_behind_is_worse_and_its_lower_limit_is_above_zero():
    best, close, far = verdicts(apart(0.5, 0.5, 0.3))

    assert {best.verdict, close.verdict} == {"best", "unseparated"}
    assert far.verdict == "worse"
    assert far.low > 0
    assert far.p_value < 0.01


def test_verdict_limit_and_p_value_never_contradict_each_other():
    draws = [verdicts(apart(0.5, 0.49, 0.48, 0.47, 0.46, n_rows=200, noise=0.2, seed=seed)) for seed in range(20)]

    others = [each for found in draws for each in found if each.verdict != "best"]
    assert len(others) == 20 * 4
    assert {each.verdict for each in others} == {"worse", "unseparated"}
    for each in others:
        assert (each.verdict == "worse") == (each.low > 0) == (each.p_value <= 0.05)


def test_identical_candidates_are_practically_the_same_with_no_gap_at_all():
    column = np.random.default_rng(0).normal(size=(500, 1))

    _, other = verdicts(of_losses(np.hstack([column, column])))

    assert (other.verdict, other.estimate, other.low, other.high, other.p_value) == ("same", 0, 0, 0, 1)


def test_a_gap_inside_the_region_is_practically_the_same_even_beyond_chance():
    joint = apart(0.5, 0.499, n_rows=200_000, noise=0.05)

    assert verdicts(joint, region=0.01)[1].verdict == "same"
    assert verdicts(joint, region=0.0)[1].verdict == "worse"


def test_a_gap_of_the_detectable_size_is_found_in_four_of_five_runs():
    hits = []
    for seed in range(150):
        size = max(each.detectable for each in verdicts(apart(0.5, 0.5, n_rows=500, seed=seed)))
        found = verdicts(apart(0.5, 0.5 - size, n_rows=500, seed=1000 + seed))
        hits.append(found[1].verdict == "worse")

    # the variance is taken at least 1.75 times that of the judged rows, as if training rows were redrawn; here none
    # are, and the gap varies less than was reckoned with: the share lies above 80 %
    assert 0.8 <= np.mean(hits) <= 1.0


def test_equal_candidates_are_called_worse_no_more_often_than_asked():
    any_worse = [
        any(each.verdict == "worse" for each in verdicts(apart(*[0.5] * 6, n_rows=200, seed=seed)))
        for seed in range(100)
    ]

    assert np.mean(any_worse) <= 0.05


def of_equals(n_models: int, degrees: int) -> np.ndarray:
    """Draws of the greatest standardised gap among equal candidates that vary independently."""
    joint = JointFigures(np.zeros((5, n_models)), np.eye(n_models), np.zeros((5, n_models, n_models)), degrees)
    return equal_candidates(joint, n_draws=40_000).gaps(np.ones(n_models, dtype=bool)).max(axis=1)


def test_of_two_equal_candidates_the_critical_value_is_that_of_a_two_sided_test():
    # the leader is the greater of two, so the standardised gap is |z|: 1.96 at 95 %
    assert np.quantile(of_equals(2, degrees=100_000), 0.95) == pytest.approx(1.96, abs=0.03)


def test_the_more_candidates_the_greater_the_critical_value():
    few, many = (np.quantile(of_equals(n, 1000), 0.95) for n in (3, 20))

    # the range of 20 normals is 5.01 at 95 % by the tables of the studentized range, over sqrt 2
    assert few < many == pytest.approx(5.01 / np.sqrt(2), abs=0.06)


def test_how_far_equal_candidates_lie_apart_is_chi_squared():
    joint = JointFigures(np.zeros((5, 2)), np.eye(2), np.zeros((5, 2, 2)), 100_000)

    equals, both = equal_candidates(joint, n_draws=40_000), np.ones(2, dtype=bool)
    seen, drawn = equals.spreads(both, np.array([1.0, 3.0]), np.ones(2))

    # of two, both deviations from the mean are the same one turned round: twice chi squared with one degree, which is
    # 3.84 at 95 %; the deviations of 1 have a variance of 1.75 / 2
    assert seen == pytest.approx(2 * 1 / (1.75 / 2))
    assert np.quantile(drawn, 0.95) == pytest.approx(2 * 3.84, rel=0.03)
    # one that may lie twice as far by chance counts a sixteenth, once what steady ones show is allowed for
    assert equals.spreads(both, np.array([1.0, 3.0]), np.array([1.0, 2.8]))[0] == pytest.approx(seen * (1 + 1 / 16) / 2)


def test_the_variance_of_a_gap_is_never_below_that_of_the_judged_rows_raised():
    joint = apart(0.5, 0.4, 0.3)

    _, deviations = gaps_to_leader(joint)

    of_rows = np.array([1, -1, 0]) @ joint.covariance @ np.array([1, -1, 0])
    assert deviations[0] == 0
    assert deviations[1] ** 2 >= 1.75 * of_rows - 1e-15


def test_folds_that_vary_beyond_their_rows_raise_the_variance():
    joint = apart(0.5, 0.4)
    unsteady = JointFigures(
        joint.folds + np.outer([-0.1, 0.1, 0, -0.1, 0.1], [0, 1]), joint.covariance, joint.of_folds, joint.degrees
    )

    assert gaps_to_leader(unsteady)[1][1] > 3 * gaps_to_leader(joint)[1][1]


def test_fits_that_fail_by_themselves_are_not_weighed_as_if_folds_shared_them():
    within, by_fold = np.ones(1), np.array([[-4.0], [4.0], [-4.0], [4.0], [0.0]])

    (factor,), (of_fits,) = factors(by_fold, within, None)

    # variance 64 / 4 = 16, moderated (6 * 10 + 4 * 16) / 10 = 12.4; of its excess 11.4, 8 count 1 + 5 * .2 / .8 times
    assert factor == pytest.approx(1 + 8 * 2.25 + 3.4)
    assert of_fits == pytest.approx(11.4)


def test_a_gap_that_the_holdout_does_not_confirm_raises_the_variance():
    joint = apart(0.5, 0.4)
    by_folds = joint.means[0] - joint.means[1]
    alike, other = (
        HeldFigures(np.array([by_folds + moved, 0.0]), 5 * joint.covariance, 1 / 6, 100) for moved in (0.0, 0.3)
    )

    first, second = (gaps_to_leader(replace(joint, held=held))[1][1] for held in (alike, other))

    assert second > 1.5 * first


def test_the_excess_of_one_pair_is_drawn_towards_that_of_all():
    # prior of six folds and four degrees: (6 * mean + 4 * ratio) / 10, the mean being (1 + 1 + 4) / 3 = 2
    found = moderated(np.array([1.0, 1.0, 4.0]), np.ones(3), degrees=4)

    np.testing.assert_allclose(found, [1.6, 1.6, 2.8])


def test_too_few_rows_of_a_class_separate_nobody():
    joint = apart(0.9, 0.1)
    few = JointFigures(joint.folds, joint.covariance, joint.of_folds, degrees=0)

    assert verdicts(few)[1].verdict == "unseparated"


@pytest.mark.parametrize("n_folds", [2, 3, 10])
def test_any_number_of_folds_gives_finite_verdicts(n_folds):
    draw = np.random.default_rng(0)
    joint = of_losses(0.1 * draw.normal(size=(300, 4)) + [0.5, 0.5, 0.4, 0.2], n_folds)

    found = verdicts(joint)

    assert len(found) == 4
    for each in found:
        assert np.isfinite([each.estimate, each.low, each.high, each.detectable, each.p_value]).all()
        assert each.low <= each.estimate <= each.high


def test_one_candidate_is_the_best():
    found = verdicts(apart(0.5))

    assert [each.verdict for each in found] == ["best"]


def test_limits_and_the_detectable_gap_are_no_wider_than_figures_can_lie_apart():
    joint = apart(0.9, 0.5, 0.6, n_rows=10, noise=2.0)

    (_, *free), (_, *within) = verdicts(joint), verdicts(joint, span=1.0)

    for one, other in zip(free, within, strict=True):
        assert one.low < -1.0 < 1.0 < min(one.high, one.detectable)
        assert (other.low, other.high, other.detectable) == (-1.0, 1.0, 1.0)
        assert (one.verdict, one.estimate, one.p_value) == (other.verdict, other.estimate, other.p_value)


def test_of_candidates_with_equal_means_the_first_leads():
    column = np.random.default_rng(0).normal(size=(100, 1))

    assert of_losses(np.hstack([column, column, column])).leader == 0


def test_a_single_candidate_is_expected_to_score_what_it_scored():
    joint = apart(0.5)

    estimate, interval = expected_of_chosen(joint)

    assert estimate == pytest.approx(joint.means[0], abs=1e-12)
    assert interval.low < joint.means[0] < interval.high


@pytest.mark.parametrize(
    ("degrees", "factor"),
    [(800, 1.4), (200, 1.4), (100, 1 + 0.4 * 2**0.5), (10, 1.75)],  # more where the rarest class has few rows
)
def test_a_figure_that_no_row_moves_has_the_error_that_is_given_for_it(degrees, factor):
    still = JointFigures(np.ones((5, 1)), np.zeros((1, 1)), np.zeros((5, 1, 1)), degrees=degrees)

    estimate, interval = expected_of_chosen(still, least_error=0.01)

    reach = student.ppf(0.975, degrees) * 0.01 * factor**0.5
    assert (estimate, interval.low, interval.high) == pytest.approx((1.0, 1 - reach, 1 + reach))


def test_the_best_of_many_equal_ones_is_expected_to_score_what_all_do():
    errors, plain = [], []
    for seed in range(60):
        joint = apart(*[0.5] * 20, n_rows=400, seed=seed)
        errors.append(expected_of_chosen(joint)[0] - 0.5)
        plain.append(joint.means.max() - 0.5)

    # the greatest of 20 normals lies 1.87 deviations up: 1.87 * .1 / sqrt(400) = .0093
    assert np.mean(plain) == pytest.approx(0.0093, abs=0.0015)
    assert abs(np.mean(errors)) < 0.003


def test_one_that_is_far_ahead_is_hardly_corrected():
    joint = apart(0.9, 0.5, 0.5)

    assert expected_of_chosen(joint)[0] == pytest.approx(joint.means[0], abs=0.001)


@pytest.mark.parametrize("behind", [0.0, 0.02, 0.3, 0.6])
def test_for_having_been_chosen_nothing_is_corrected_upwards(behind):
    joint = apart(0.9, 0.9 - behind, n_rows=40)

    assert expected_of_chosen(joint)[0] <= joint.means.max() + 1e-12


def test_evidence_that_was_cut_decides_only_what_was_not_separated():
    plain, cut = verdicts(apart(0.5, 0.47, 0.2, n_rows=60)), verdicts(apart(0.5, 0.4, 0.3))

    found = firmer(plain, cut)

    assert [each.verdict for each in plain] == ["best", "unseparated", "worse"]
    assert [each.verdict for each in found] == ["best", "worse", "worse"]
    assert (found[1].low, found[1].estimate) == (cut[1].low, plain[1].estimate)
    assert found[2] == plain[2]


def with_holdout(joint: JointFigures, *figures: float, error: float = 0.01, share: float = 0.2) -> JointFigures:
    """The same with figures on a holdout, whose standard error is given."""
    held = HeldFigures(np.array(figures), error**2 * np.eye(len(figures)), share, degrees=500)
    return JointFigures(joint.folds, joint.covariance, joint.of_folds, joint.degrees, held)


def test_the_gap_is_that_of_all_judged_rows():
    joint = with_holdout(apart(0.5, 0.45), 0.5, 0.3)

    gaps, _ = gaps_to_leader(joint)

    over_folds = joint.means[0] - joint.means[1]
    assert gaps.tolist() == pytest.approx([0, 0.8 * over_folds + 0.2 * 0.2])


def test_the_holdout_has_no_say_in_who_leads():
    joint = with_holdout(apart(0.5, 0.45), 0.2, 0.9)

    found = verdicts(joint)

    assert joint.leader == 0
    assert [each.verdict for each in found] == ["best", "unseparated"]
    assert found[1].estimate < 0


def test_a_gap_that_folds_and_holdout_show_together_is_found_where_the_folds_alone_are_unsure():
    folds = apart(0.5, 0.5, 0.48, n_rows=200, noise=0.1, seed=3)
    error = 0.1 / np.sqrt(50)

    alone, both = verdicts(folds), verdicts(with_holdout(folds, 0.5, 0.5, 0.4, error=error))

    assert alone[2].verdict == "unseparated"
    assert both[2].verdict == "worse"
    assert both[2].low > 0 >= alone[2].low


def test_verdict_limit_and_p_value_agree_with_a_holdout_too():
    draw = np.random.default_rng(4)
    for seed in range(40):
        means = 0.5 - 0.01 * np.arange(8)
        joint = apart(*means, n_rows=200, noise=0.2, seed=seed)
        held = with_holdout(joint, *(means + 0.03 * draw.normal(size=8)), error=0.03)
        for each in verdicts(held):
            if each.verdict != "best":
                assert (each.verdict == "worse") == (each.low > 0) == (each.p_value <= 0.05)


def test_equal_candidates_with_one_far_behind_are_called_worse_no_more_often_than_asked():
    any_worse = [
        any(each.verdict == "worse" for each in verdicts(apart(*[0.5] * 8, 0.2, n_rows=200, seed=seed))[:8])
        for seed in range(60)
    ]

    assert np.mean(any_worse) <= 0.05


def test_the_holdout_alone_gives_the_difference_of_its_figures_with_its_error():
    joint = with_holdout(apart(0.5, 0.4), 0.6, 0.5, error=0.01)

    _, found = on_holdout(joint)

    reach = student.ppf(0.975, 500) * 0.01 * np.sqrt(2)
    assert (found.difference, found.interval.low, found.interval.high) == pytest.approx((0.1, 0.1 - reach, 0.1 + reach))
    assert found.p_value == pytest.approx(2 * student.sf(0.1 / (0.01 * np.sqrt(2)), 500))


def test_a_holdout_with_four_rows_of_a_class_has_no_say():
    fold = FoldInfluence(np.zeros(2), np.zeros((10, 2)), np.arange(10), np.arange(10) % 2)
    held = FoldInfluence(np.zeros(2), np.zeros((12, 2)), np.arange(20, 32), (np.arange(12) < 4).astype(int))

    assert joint_figures([fold, fold], held).held is None
    assert on_holdout(joint_figures([fold, fold], held)) is None


def test_one_that_a_few_wild_rows_pull_down_does_not_move_what_the_best_is_expected_to_score():
    draw = np.random.default_rng(0)
    losses = draw.normal([0.5, 0.52, 0.48], 0.1, (400, 3))
    wild = np.append(draw.normal(0.5, 0.1, 398), [-900.0, -1200.0])

    alone, beside = (expected_of_chosen(of_losses(each)) for each in (losses, np.column_stack([losses, wild])))

    assert beside[0] == pytest.approx(alone[0], abs=0.002)
    assert beside[1].low == pytest.approx(alone[1].low, abs=0.002)


def test_rivals_of_a_leader_that_never_varies_still_have_their_luck():
    losses = np.random.default_rng(0).normal([1.0, 0.99, 0.985], [1e-9, 0.2, 0.2], (200, 3))

    estimate, _ = expected_of_chosen(of_losses(losses))

    assert estimate < 0.998


def test_a_figure_varies_with_the_draw_of_one_row_as_its_rows_do():
    joint = of_losses(np.random.default_rng(0).normal(0.5, 0.2, size=(2000, 1)))

    assert joint.row_errors == pytest.approx([0.2], rel=0.05)
