import numpy as np
import pytest
from scipy import stats

from evenhand.statistics import normal_quantiles


def test_three_values_stand_beside_the_quantiles_at_a_sixth_a_half_and_five_sixths():
    found = normal_quantiles([5.0, 1.0, 3.0])

    assert found.observed == pytest.approx((-1, 0, 1))  # mean 3, deviation 2
    assert found.expected == pytest.approx(stats.norm.ppf([1 / 6, 1 / 2, 5 / 6]))
    assert found.n_rows == 3


def test_of_many_values_the_outermost_are_kept():
    values = np.random.default_rng(0).normal(size=5000)

    found = normal_quantiles(values, most=50)

    standardized = (values - values.mean()) / values.std(ddof=1)
    assert len(found.observed) <= 50
    assert (found.observed[0], found.observed[-1]) == pytest.approx((standardized.min(), standardized.max()))
    assert found.n_rows == 5000


def test_the_interval_of_each_value_covers_it_nineteen_times_in_twenty():
    draw, hits = np.random.default_rng(1), np.zeros(20)
    known = normal_quantiles(np.arange(20.0))

    for _ in range(2000):
        values = np.sort(draw.normal(size=20))
        hits += (values >= known.low) & (values <= known.high)

    assert hits / 2000 == pytest.approx(np.full(20, 0.95), abs=0.02)  # four standard errors of .005


def n_outside(found):
    return sum(not low <= value <= high for value, low, high in zip(found.observed, found.low, found.high, strict=True))


def test_normal_values_stay_inside_and_heavy_tails_do_not():
    draw = np.random.default_rng(2)

    normal, heavy = normal_quantiles(draw.normal(size=300)), normal_quantiles(draw.standard_t(2, size=300))

    assert n_outside(normal) <= 30 < n_outside(heavy)


def test_values_without_spread_stay_in_the_middle():
    assert normal_quantiles([2.0, 2.0]).observed == (0, 0)
