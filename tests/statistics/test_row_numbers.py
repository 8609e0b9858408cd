"""Numbers that were given to rows are recognised, and numbers that were measured of them are not."""

import numpy as np
import pytest

from evenhand.statistics.row_numbers import row_numbers
from evenhand.statistics.serial import lag_of_copy, normal_scores, serial_correlation

RANDOM = np.random.default_rng(0)
N = 500


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        (RANDOM.permutation(N) + 100_000, "unique"),
        (RANDOM.choice(10 * N, N, replace=False), "unique"),
        (np.arange(N) * 7 + 3, "unique"),
        (RANDOM.integers(10**9, 10**10, N), "unique"),  # too wide for any two to coincide, and spread evenly
        (np.cumsum(RANDOM.integers(0, 9, 20 * N)), "rising"),  # some seconds have two rows
        (RANDOM.integers(0, 10 * N, N), ""),  # some 25 pairs coincide: 500 * 499 / 2 / 5000
        (np.sort(RANDOM.integers(18, 80, N)), ""),  # sorted by age
        (RANDOM.lognormal(20, 2, N).round(), ""),  # wide, but not spread evenly
        (RANDOM.normal(size=N), ""),
        (np.where(np.arange(N) == 7, np.nan, RANDOM.permutation(N)), ""),
        (np.arange(19), ""),
    ],
)
def test_numbers_given_to_rows_are_recognised(numbers, found):
    assert row_numbers(np.asarray(numbers, dtype=float)) == found


def test_measured_whole_numbers_are_taken_for_given_ones_no_more_often_than_the_level():
    random = np.random.default_rng(1)

    found = [row_numbers(random.integers(0, 20_000, 100).astype(float), level=0.05) for _ in range(400)]

    assert sum(each != "" for each in found) == 0  # 100 * 99 / 2 / 20000 = .25 pairs are due: none is no evidence


def test_neighbours_of_independent_values_are_alike_by_chance_only():
    random = np.random.default_rng(2)

    p_values = [serial_correlation(normal_scores(random.exponential(size=200)))[1] for _ in range(400)]

    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.08  # .05 +- 3 sqrt(.05 * .95 / 400) = .05 +- .033


def test_neighbours_of_a_series_are_as_alike_as_it_says():
    random, values = np.random.default_rng(3), [0.0]
    for shock in random.normal(size=5000):
        values.append(0.6 * values[-1] + shock)

    correlation, p_value = serial_correlation(normal_scores(np.array(values)))

    assert correlation == pytest.approx(0.6, abs=0.04)  # three standard errors, sqrt((1 - .6^2) / 5000) = .011
    assert p_value < 1e-10


def test_values_that_are_not_known_take_no_part():
    scores = np.array([1.0, np.nan, 1.0, 1.0, -1.0, -1.0, np.nan, -1.0])

    assert serial_correlation(scores)[0] == pytest.approx(1 / 3)  # pairs 1 1, 1 -1 and -1 -1; the mean square is 1


def test_too_few_values_or_equal_ones_have_no_correlation():
    assert serial_correlation(np.array([1.0, np.nan, 1.0])) == (0.0, 1.0)
    assert serial_correlation(np.zeros(10)) == (0.0, 1.0)


def test_a_column_of_earlier_targets_is_recognised_with_its_lag():
    target = np.random.default_rng(4).normal(size=100)

    assert lag_of_copy(np.roll(target, 2), target) == 2
    assert lag_of_copy(target, target) == 0
    assert lag_of_copy(np.random.default_rng(5).normal(size=100), target) == 0


def test_two_classes_are_no_evidence_of_a_lag():
    target = np.tile([0.0, 1.0], 50)

    assert lag_of_copy(np.roll(target, 1), target) == 0
