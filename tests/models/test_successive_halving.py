import math
from itertools import count

import pytest

from evenhand.models.successive_halving import Search, shares_of


class Bench:
    """A clock that only trials move, and scores by a formula; what was tried is kept."""

    def __init__(self, score=lambda params, share: params["x"], cost=lambda params, share: share):
        self.now, self.score, self.cost = 0.0, score, cost

    def clock(self):
        return self.now

    def evaluate(self, params, share, stop_at):
        for place in range(2):
            if place and self.now + self.cost(params, share) / 2 > stop_at:
                return None
            self.now += self.cost(params, share) / 2
        told = self.score(params, share)
        return told if isinstance(told, str) else [told] * 2


def searched(bench, points, shares=(1 / 9, 1 / 3, 1.0), sign=1.0):
    return Search(iter(points), shares, bench.evaluate, sign, bench.clock)


def numbered(n=None):
    return ({"x": number} for number in (count() if n is None else range(n)))


@pytest.mark.parametrize(("n_rows", "n_shares"), [(10, 1), (1499, 1), (1500, 2), (4500, 3), (10**9, 5)])
def test_rounds_begin_with_enough_rows_and_end_with_all(n_rows, n_shares):
    shares = shares_of(n_rows)

    assert len(shares) == n_shares
    assert shares[-1] == 1
    assert shares[0] * n_rows >= 500 or n_shares == 1


def test_each_round_keeps_the_best_third():
    search = searched(Bench(), numbered())

    search.by_trials(9)

    by_round = [[trial.params["x"] for trial in search.tried if trial.round == number] for number in range(3)]
    assert by_round == [list(range(9)), [8, 7, 6], [8]]
    assert search.best().params == {"x": 8}


def test_a_lower_score_is_better_where_the_sign_says_so():
    search = searched(Bench(), numbered(), sign=-1.0)

    search.by_trials(9)

    assert search.best().params == {"x": 0}


def test_few_trials_are_all_on_all_rows():
    search = searched(Bench(), numbered())

    search.by_trials(2)

    assert [trial.share for trial in search.tried] == [1.0, 1.0]


def test_of_equals_the_first_drawn_is_chosen():
    search = searched(Bench(score=lambda params, share: 0.5), numbered())

    search.by_trials(9)

    assert search.best().params == {"x": 0}


def test_a_point_that_cannot_be_fitted_is_reported_and_never_chosen():
    search = searched(Bench(score=lambda params, share: "too few rows" if params["x"] % 2 else 1.0), numbered(4))

    search.by_trials(4)

    assert {trial.refused for trial in search.tried if trial.params["x"] % 2} == {"too few rows"}
    assert search.best().params["x"] % 2 == 0


def test_nothing_is_best_where_nothing_can_be_fitted():
    search = searched(Bench(score=lambda params, share: math.nan), numbered(4))

    search.by_trials(4)

    assert search.best() is None


@pytest.mark.parametrize(("seconds", "steepness"), [(5.0, 1), (5.0, 2), (5.0, 3), (30.0, 2), (100.0, 1)])
def test_a_budget_is_kept_within_a_tenth_by_what_trials_cost(seconds, steepness):
    bench = Bench(cost=lambda params, share: 0.5 * (1 + params["x"] % 3) * share**steepness)
    search = searched(bench, numbered())

    search.by_seconds(seconds, 0.0)

    assert 0.9 * seconds <= bench.now <= 1.1 * seconds
    assert search.best().share == 1.0


def test_a_budget_too_small_for_all_rows_is_spent_on_fewer():
    bench = Bench(cost=lambda params, share: 100 * share**2)
    search = searched(bench, numbered())

    search.by_seconds(20.0, 0.0)

    assert search.best().share < 1
    assert bench.now <= 22


def test_dear_points_are_passed_over_when_time_is_short():
    bench = Bench(cost=lambda params, share: 4.0 if params["x"] > 50 else 0.1)
    search = searched(bench, ({"x": 1 + 99 * (number % 2)} for number in count()), shares=(1.0,))

    search.by_seconds(10.0, 0.0)

    assert 9 <= bench.now <= 11


def test_a_search_ends_when_every_point_was_tried():
    bench = Bench()
    search = searched(bench, numbered(5))

    search.by_seconds(1e6, 0.0)

    assert {trial.params["x"] for trial in search.tried} == set(range(5))


def test_a_trial_that_was_stopped_leaves_nothing():
    search = searched(Bench(), numbered())
    search.evaluate = lambda params, share, stop_at: [params["x"]] if stop_at == math.inf else None

    search.by_seconds(1.0, 0.0)

    assert [trial.params["x"] for trial in search.tried] == [0]


def test_the_first_trial_is_done_however_long_it_takes():
    bench = Bench(cost=lambda params, share: 100.0)
    search = searched(bench, numbered())

    search.by_seconds(1.0, 0.0)

    assert search.best().params == {"x": 0}
    assert bench.now == 100.0


def test_a_search_without_end_is_ended():
    bench = Bench(cost=lambda params, share: 1e-6)
    search = searched(bench, numbered(), shares=(1.0,))

    search.by_seconds(1e6, 0.0)

    assert len(search.tried) == 1000


LADDER = tuple(3.0**-power for power in range(5, -1, -1))


def with_pilots(bench, points):
    return Search(iter(points), LADDER[3:], bench.evaluate, 1.0, bench.clock, pilots=LADDER[:3])


@pytest.mark.parametrize(("fixed", "steepness"), [(0.0, 2), (0.5, 1), (2.0, 0.5), (0.3, 3)])
@pytest.mark.parametrize("dear", [2.0, 8.0, 25.0, 60.0, 120.0])
def test_a_budget_is_kept_where_a_trial_on_all_rows_is_large_beside_it(fixed, steepness, dear):
    bench = Bench(cost=lambda params, share: (fixed + dear * share**steepness) * (1 + params["x"] % 3 / 4))
    search = with_pilots(bench, numbered())

    search.by_seconds(60.0, 0.0)

    assert 54 <= bench.now <= 66
    assert search.best() is not None


def test_a_search_begins_on_fewer_rows_where_the_first_share_is_dear():
    cheap, dear = (Bench(cost=lambda params, share, unit=unit: unit * share**2) for unit in (1.0, 90.0))
    searches = [with_pilots(bench, numbered()) for bench in (cheap, dear)]

    for search in searches:
        search.by_seconds(10.0, 0.0)

    first = [min(trial.share for trial in search.tried) for search in searches]
    assert first == [1 / 9, 1 / 27]  # 90 / 27^2 = 0.12 s are little of 10 s, nine times as much is more than a tenth


def test_what_is_slow_once_does_not_keep_a_search_from_going_on():
    costs = iter([3.0] * 3)
    bench = Bench(cost=lambda params, share: next(costs, 0.5 * share))
    search = with_pilots(bench, numbered())

    search.by_seconds(30.0, 0.0)

    assert search.best().share == 1
    assert 27 <= bench.now <= 33


def test_points_refused_on_few_rows_begin_on_more():
    bench = Bench(score=lambda params, share: "too few rows" if share < 1 / 4 else params["x"])
    search = with_pilots(bench, numbered(20))

    search.by_seconds(1.0, 0.0)

    assert search.best() is not None
    assert min(trial.share for trial in search.tried if not trial.refused) >= 1 / 4


def test_time_left_when_all_points_were_drawn_goes_to_more_rows():
    search = searched(Bench(), numbered(9))

    search.by_seconds(100.0, 0.0)

    assert sum(trial.share == 1.0 for trial in search.tried) == 9
    assert search.ended == "every point was tried on all rows"


def test_points_too_dear_for_now_wait_for_their_turn():
    bench = Bench(score=lambda params, share: -params["x"], cost=lambda params, share: 2.0 if params["x"] % 2 else 0.2)
    search = searched(bench, numbered(8), shares=(1.0,))

    search.by_seconds(100.0, 0.0)

    assert {trial.params["x"] for trial in search.tried} == set(range(8))


def test_a_search_reports_why_it_used_less():
    bench = Bench(cost=lambda params, share: 40.0)
    search = searched(bench, numbered(), shares=(1.0,))

    search.by_seconds(70.0, 0.0)

    assert (bench.now, search.ended) == (40.0, "no further trial fits")
