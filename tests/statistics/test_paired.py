"""Pairs of candidates named beforehand: better, worse, practically the same or not separated, from one computation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from evenhand.statistics.against_best import critical_of, p_value_of, verdicts
from evenhand.statistics.joint import FoldInfluence, HeldFigures, joint_figures
from evenhand.statistics.paired import greatest_of, paired_verdicts


def joint_of(means, seed=0, n_rows=600, n_folds=3, spread=1.0, alike=0.0, n_classes=2):
    """Mean figures of rows drawn anew: candidates as far apart as asked, the more alike the less their gap varies."""
    draw = np.random.default_rng(seed)
    common = draw.normal(size=(n_rows, 1))
    values = np.asarray(means) + spread * (
        alike * common + np.sqrt(1 - alike**2) * draw.normal(size=(n_rows, len(means)))
    )
    fold, strata = np.arange(n_rows) % n_folds, np.arange(n_rows) // n_folds % n_classes
    return joint_figures(
        [
            FoldInfluence(
                values[fold == k].mean(axis=0),
                values[fold == k] - values[fold == k].mean(axis=0),
                np.flatnonzero(fold == k),
                strata[fold == k],
            )
            for k in range(n_folds)
        ]
    )


def test_the_gap_of_a_pair_is_that_of_its_means_and_turns_with_the_pair():
    joint = joint_of([0.3, 0.0])

    one, other = paired_verdicts(joint, [(0, 1)])[0], paired_verdicts(joint, [(1, 0)])[0]

    assert one.estimate == pytest.approx(joint.means[0] - joint.means[1])
    assert (other.estimate, other.low, other.high) == pytest.approx((-one.estimate, -one.high, -one.low))
    assert (one.verdict, other.verdict, one.p_value) == ("better", "worse", other.p_value)


def test_a_holdout_weighs_by_its_rows_and_makes_limits_narrower():
    joint = joint_of([0.3, 0.0])
    held = HeldFigures(np.array([0.5, 0.1]), 4 * joint.covariance, 0.2, 149)  # a quarter as many rows

    (alone,), (both,) = (paired_verdicts(each, [(0, 1)]) for each in (joint, replace(joint, held=held)))

    assert both.estimate == pytest.approx(0.8 * alone.estimate + 0.2 * 0.4)
    assert both.high - both.low < alone.high - alone.low


def test_the_critical_value_of_one_pair_is_that_of_a_two_sided_test():
    nulls = greatest_of(np.array([[2.0]]), 10_000)

    assert critical_of(nulls, 0.05) == pytest.approx(norm.isf(0.025), abs=0.06)


def test_the_critical_value_of_independent_pairs_is_sidaks():
    nulls = greatest_of(np.eye(6), 10_000)

    assert critical_of(nulls, 0.05) == pytest.approx(norm.isf((1 - 0.95 ** (1 / 6)) / 2), abs=0.07)


def test_families_share_alpha_and_raise_p_values():
    joint = joint_of([0.12, 0.0])

    one, three = (paired_verdicts(joint, [(0, 1)], n_families=n)[0] for n in (1, 3))

    assert three.p_value == pytest.approx(3 * one.p_value)
    assert three.low < one.low


def test_pairs_without_any_difference_are_practically_the_same():
    joint = joint_of([0.0])
    of_folds = np.repeat(np.repeat(joint.of_folds, 2, 1), 2, 2)
    twice = type(joint)(joint.folds[:, [0, 0]], np.full((2, 2), joint.covariance[0, 0]), of_folds, joint.degrees)

    (found,) = paired_verdicts(twice, [(0, 1)])

    assert (found.verdict, found.estimate, found.low, found.high, found.p_value) == ("same", 0, 0, 0, 1)


def test_a_gap_whose_limits_lie_inside_the_region_is_practically_the_same():
    joint = joint_of([0.02, 0.0], spread=0.05)

    assert paired_verdicts(joint, [(0, 1)])[0].verdict == "better"
    assert paired_verdicts(joint, [(0, 1)], region=0.1)[0].verdict == "same"
    assert paired_verdicts(joint, [(1, 0)], region=0.1)[0].verdict == "same"


def test_what_is_found_leaves_and_the_rest_are_looked_at_again():
    joint = joint_of([5.0, 5.0, 5.0, 5.0, 0.1, 0.0])
    pairs = [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5)]

    *_, last = paired_verdicts(joint, pairs)

    alone = paired_verdicts(joint, pairs[-1:])[0]
    width = (last.high - last.low) / (alone.high - alone.low)
    assert width < 1.05  # the critical value of one pair, though its own excess is drawn to that of others


def test_pairs_of_equals_are_called_different_no_more_often_than_asked():
    pairs = [(0, 1), (2, 1), (3, 1)]
    found = [
        any(one.verdict in {"better", "worse"} for one in paired_verdicts(joint_of([0.0] * 4, seed), pairs, seed=seed))
        for seed in range(150)
    ]

    assert np.mean(found) <= 0.05 + 2 * np.sqrt(0.05 / 150)


def test_a_gain_of_the_detectable_size_is_found_in_four_of_five_runs():
    size = paired_verdicts(joint_of([0.0, 0.0]), [(0, 1)])[0].detectable

    found = [paired_verdicts(joint_of([size, 0.0], seed), [(0, 1)])[0].verdict == "better" for seed in range(100)]

    # training rows are not drawn anew here, so the raised variance finds more than the four fifths it promises
    assert np.mean(found) >= 0.75


def test_too_few_rows_to_know_their_spread_separate_nobody():
    joint = joint_of([9.0, 0.0], n_rows=6, spread=0.01)

    (found,) = paired_verdicts(joint, [(0, 1)])

    assert joint.degrees == 0
    assert (found.verdict, found.p_value) == ("unseparated", 1.0)
    assert found.low <= 0 <= found.high


def test_a_draw_is_critical_exactly_where_p_values_reach_alpha():
    nulls = np.arange(1.0, 20.0)  # 19 draws: the greatest is exceeded with p = 1/20

    assert critical_of(nulls, 0.05) == 19
    assert critical_of(nulls, 0.10) == 18
    assert critical_of(nulls, 0.01) == np.inf
    assert p_value_of(19.5, 1.0, nulls) == 0.05
    assert p_value_of(19.0, 1.0, nulls) == 0.10


MADE = {
    "means": st.lists(st.floats(-0.4, 0.4), min_size=2, max_size=7),
    "seed": st.integers(0, 10_000),
    "n_folds": st.integers(2, 6),
    "n_rows": st.sampled_from([12, 40, 200, 900]),
    "alike": st.sampled_from([0.0, 0.7, 0.999]),
    "region": st.sampled_from([0.0, 0.01, 0.2]),
    "alpha": st.sampled_from([0.01, 0.05, 0.2]),
}


@settings(max_examples=60)
@given(**MADE)
def test_verdict_limits_and_p_value_of_a_candidate_never_contradict_each_other(
    means, seed, n_folds, n_rows, alike, region, alpha
):
    joint = joint_of(means, seed, n_rows, n_folds, alike=alike)

    found = verdicts(joint, region=region, alpha=alpha)

    for j, one in enumerate(found):
        assert np.isfinite([one.estimate, one.low, one.high, one.detectable, one.p_value]).all()
        assert one.low <= one.estimate <= one.high
        assert one.estimate == pytest.approx(joint.means.max() - joint.means[j])
        assert one.estimate >= 0
        if one.verdict == "best":
            assert j == joint.leader
            continue
        assert (one.p_value <= alpha) == (one.low > 0)
        assert (one.verdict == "worse") == (one.low > 0 and one.high > region)
        assert (one.verdict == "same") == (one.high <= region and (joint.degrees > 0 or one.low == one.high))
        assert one.verdict in {"worse", "same", "unseparated"}
    assert [one.verdict for one in found].count("best") == 1
    ranked = sorted(range(len(found)), key=lambda j: -joint.means[j])
    assert [found[j].estimate for j in ranked] == sorted(one.estimate for one in found)


@settings(max_examples=40)
@given(**MADE)
def test_verdict_limits_and_p_value_of_a_pair_never_contradict_each_other(
    means, seed, n_folds, n_rows, alike, region, alpha
):
    joint = joint_of(means, seed, n_rows, n_folds, alike=alike)
    pairs = [(0, j) for j in range(1, len(means))]

    found = paired_verdicts(joint, pairs, region=region, alpha=alpha, n_families=2)

    assert len(found) == len(pairs)
    for one in found:
        assert one.low <= one.estimate <= one.high
        is_beyond = one.low > 0 or one.high < 0
        assert (one.p_value <= alpha) == is_beyond
        is_same = -region <= one.low and one.high <= region
        expected = "same" if is_same else "better" if one.low > 0 else "worse" if one.high < 0 else "unseparated"
        assert one.verdict == expected
