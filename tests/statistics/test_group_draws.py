import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.statistics.group_draws import draw_parts


@given(st.integers(0, 10**6), st.floats(0.1, 0.5), st.integers(2, 60))
@settings(max_examples=40)
def test_groups_stay_together_and_the_share_of_rows_holds_within_two_points(seed, share, largest):
    draw = np.random.default_rng(seed)
    groups = np.repeat(np.arange(400), draw.integers(1, largest, 400))
    labels = (draw.random(400) < 0.3).astype(int)[groups]

    part = draw_parts(groups, labels, np.array([1 - share, share]), seed)

    assert len(np.unique(groups * 2 + part)) == 400
    assert np.mean(part == 1) == pytest.approx(share, abs=0.02)


def test_single_rows_even_out_what_large_groups_take():
    groups = np.r_[np.zeros(300, int), np.arange(1, 701)]  # 300 rows of 1,000 in one group
    labels = np.r_[np.zeros(300, int), np.arange(700) % 2]

    for seed in range(20):
        part = draw_parts(groups, labels, np.array([0.6, 0.4]), seed)

        assert np.sum(part == 1) == 400
        assert np.sum(part[labels == 1] == 1) == 140  # 40 % of 350


def test_a_class_of_single_rows_is_dealt_out_evenly_over_folds():
    groups = np.r_[np.repeat(np.arange(50), 4), np.arange(50, 80)]
    labels = np.r_[np.zeros(200, int), np.ones(30, int)]

    part = draw_parts(groups, labels, np.full(5, 0.2), 0)

    assert np.bincount(part[labels == 1]).tolist() == [6, 6, 6, 6, 6]
    assert np.ptp(np.bincount(part)) <= 4


def test_every_group_has_the_chance_of_its_share_to_be_drawn_whatever_its_size():
    groups = np.repeat(np.arange(40), np.r_[[20, 10, 5, 3], np.ones(36, int)])
    labels = np.zeros(len(groups), int)

    drawn = np.array([draw_parts(groups, labels, np.array([0.7, 0.3]), seed) for seed in range(400)])

    for row in (0, 20, 30, 35, 60):
        assert drawn[:, row].mean() == pytest.approx(0.3, abs=0.08)  # 3.5 standard errors of 400 draws


def test_the_seed_settles_the_draw():
    groups, labels = np.repeat(np.arange(30), 3), np.zeros(90, int)
    first, again, other = (draw_parts(groups, labels, np.array([0.5, 0.5]), seed) for seed in (0, 0, 1))

    assert first.tolist() == again.tolist() != other.tolist()
