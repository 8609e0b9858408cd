"""A tuned threshold is served where it beats the model's own decision beyond chance, the choice of it counted in."""

import numpy as np
import pytest
from scipy.stats import norm

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.evaluation.threshold_gain import by_thresholds, gain_over_own
from evenhand.evaluation.threshold_objectives import cross_thresholds, purpose_of
from evenhand.study.study import Decide

EVEN = purpose_of(Decide.model_validate({"cost": [[0, 1], [1, 0]]}), (0, 1))
DEAR = purpose_of(Decide.model_validate({"cost": [[0, 1], [20, 0]]}), (0, 1))


def judged(seed, n=300, distance=1.5, n_repeats=1):
    """Log odds of two normal classes that are right as they are."""
    draw = np.random.default_rng(seed)
    y = (draw.random(n) < 0.3).astype(int)
    odds = distance * (draw.normal(size=n) + distance * y) - distance**2 / 2 + np.log(0.3 / 0.7)
    rows = np.tile(np.arange(n), n_repeats)
    fold = np.concatenate([draw.permutation(n) % 5 + 5 * k for k in range(n_repeats)])
    return CandidatePredictions("x", fold, rows, y[rows], (odds[rows] > 0).astype(int), odds[rows], False)


def gain(purpose, part, alpha=0.05):
    return gain_over_own(purpose, part, by_thresholds(purpose, part, part.fold % 5), 2, alpha=alpha)


def test_the_gain_is_the_cross_fitted_cost_below_the_models_own():
    part = judged(0)

    found = gain(DEAR, part)

    tuned = part.scores >= cross_thresholds(DEAR, part.truth, part.scores, part.fold)
    costs = [np.where(part.truth == 1, 20 * (labels == 0), labels == 1).mean() for labels in (part.predicted, tuned)]
    assert found.estimate == pytest.approx(costs[0] - costs[1])


def test_a_metric_that_rises_is_better_above():
    purpose = purpose_of(Decide(metric="f1"), (0, 1))
    part = judged(0)
    silent = CandidatePredictions("x", part.fold, part.row, part.truth, np.zeros(300, dtype=int), part.scores, False)

    assert gain(purpose, silent).low > 0.5


def test_limits_of_decisions_that_are_given_are_those_of_the_rows():
    part = judged(0, n=2000)
    labels = (part.scores > -1).astype(int)

    found = gain_over_own(DEAR, part, lambda _: labels, 2, alpha=0.05)

    cost = np.array([[0, 1], [20, 0]])
    gaps = cost[part.truth, part.predicted] - cost[part.truth, labels]
    reach = norm.isf(0.05) * gaps.std() / np.sqrt(2000)
    assert found.estimate - found.low == pytest.approx(reach, rel=0.15)
    assert found.high - found.estimate == pytest.approx(found.estimate - found.low)
    assert found.p_value == pytest.approx(norm.sf(gaps.mean() / (reach / norm.isf(0.05))), abs=0.02)


def test_the_choice_of_the_threshold_widens_the_limits():
    part = judged(0)
    tuned = part.scores >= cross_thresholds(EVEN, part.truth, part.scores, part.fold)

    chosen, given = gain(EVEN, part), gain_over_own(EVEN, part, lambda _: tuned, 2, alpha=0.05)

    assert chosen.estimate == given.estimate
    assert chosen.estimate - chosen.low > 1.3 * (given.estimate - given.low)


def test_copies_of_a_row_in_repeats_are_drawn_together():
    labels = (judged(0).scores > -1).astype(int)
    once = gain_over_own(DEAR, judged(0), lambda _: labels, 2, alpha=0.05)

    twice = gain_over_own(DEAR, judged(0, n_repeats=2), lambda _: np.tile(labels, 2), 2, alpha=0.05)

    assert twice == once


def test_the_lower_limit_is_above_zero_exactly_where_the_p_value_is_below_alpha():
    for seed in range(12):
        found = gain(purpose_of(Decide(metric="f1"), (0, 1)), judged(seed), alpha=0.3)

        assert (found.low > 0) == (found.p_value < 0.3)


def test_where_the_models_own_threshold_is_best_another_is_seldom_served():
    served = [gain(EVEN, judged(seed)).low > 0 for seed in range(40)]

    assert np.mean(served) <= 0.05


def test_where_misses_are_dear_the_tuned_threshold_is_served():
    served = [gain(DEAR, judged(seed)).low > 0 for seed in range(20)]

    assert np.mean(served) >= 0.95


def test_the_same_decision_gains_nothing_for_sure():
    part = judged(0)

    found = gain_over_own(EVEN, part, lambda _: part.predicted, 2, alpha=0.05)

    assert (found.estimate, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_rows_without_one_class_gain_nothing():
    part = judged(0)
    alone = CandidatePredictions("x", part.fold, part.row, np.zeros(300, dtype=int), part.predicted, part.scores, False)
    purpose = purpose_of(Decide(metric="matthews_corrcoef"), (0, 1))

    assert gain(purpose, alone).low <= 0
