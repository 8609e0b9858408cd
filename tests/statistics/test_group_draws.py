import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.statistics.group_draws import draw_in_order, draw_parts, drawn_by_place, misses_share


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


def test_groups_in_order_have_their_share_of_each_class_and_none_is_split():
    groups = np.r_[np.zeros(400, int), np.arange(1, 601)]  # 400 rows of 1,000 in one group, which comes first
    labels = np.r_[np.zeros(400, int), np.arange(600) % 3 == 0].astype(int)  # 200 rows of the second class
    places = np.r_[np.zeros(400), (np.arange(600) * 0.618) % 1]

    drawn = draw_in_order(places, groups, labels, 0.2)

    assert not drawn[:400].any()  # it would take its class to 400 of 800 rows
    assert np.bincount(labels[drawn]).tolist() == [160, 40]
    for label in (0, 1):
        mine = (np.arange(1000) >= 400) & (labels == label)
        assert places[mine & drawn].max() < places[mine & ~drawn].min()


@given(st.integers(0, 10**6), st.floats(0.1, 0.4))
@settings(max_examples=30)
def test_groups_in_order_keep_their_share_and_few_rows_move_when_rows_are_added(seed, share):
    draw = np.random.default_rng(seed)
    sizes = np.r_[600, np.full(10, 40), np.ones(1000, int)]
    groups = draw.permutation(np.repeat(np.arange(len(sizes)), sizes))
    places, labels = draw.random(len(sizes))[groups], np.zeros(2000, int)

    drawn, before = (draw_in_order(places[:n], groups[:n], labels[:n], share) for n in (2000, 1960))

    assert drawn.mean() == pytest.approx(share, abs=0.02)
    assert np.mean(drawn[:1960] != before) < 0.06  # one group of forty rows, and single rows that make up for it


@pytest.mark.parametrize(("sizes", "misses"), [([1] * 100, False), ([2] * 50, False), ([20] + [1] * 80, True)])
def test_a_share_is_missed_by_groups_where_they_double_its_deviation(sizes, misses):
    groups = np.repeat(np.arange(len(sizes)), sizes)  # 20 * 20 + 80 = 480 > 4 * 100
    places = np.linspace(0, 0.999, len(sizes))[groups] ** 2  # the first groups are below any share

    assert misses_share(places, groups, 0.2) is misses
    assert not misses_share(places, groups, 0.999)


def test_a_place_below_the_share_decides_where_groups_are_even():
    places = np.random.default_rng(0).random(100) ** 2

    drawn = drawn_by_place(places, np.arange(100), np.zeros(100, int), 0.2)

    assert drawn.tolist() == (places < 0.2).tolist()
