"""Who goes on from round to round is decided by scores and seconds that were kept."""

from dataclasses import replace

import pytest
from makers import make_study

from evenhand.models.halving.under_way import UnderWay, kept_for_the_end, under_way
from evenhand.records.halving import Attempt
from evenhand.records.pipeline import Ledger, Plan
from evenhand.records.reference import NOWHERE


def plan(name, weight=1.0):
    return Plan(name, name, "gaussian_nb", {}, "plain", "none", weight=weight)


def attempt(name, score, seconds=0.1, error=0.01, **more):
    return Attempt(name, 1 / 3, 500, score, error, seconds, **more)


def running(names, seconds=1000.0, **more):
    """Candidates before a single round on a third of the rows, each to be fitted six times after it."""
    given = {"shares": (1 / 3,), "n_rounds": 1, "n_fits": 6, "minutes": 5.0, **more}
    return UnderWay(tuple(plan(name) for name in names), seconds=seconds, **given)


def names(found):
    return [made.name for made in found.left]


def test_all_go_on_where_there_is_time_and_none_is_far_behind():
    found = running("abcdef").after([attempt(name, 0.9) for name in "abcdef"])

    assert names(found) == list("abcdef")
    assert found.stopped == ()
    assert found.shares == ()


def test_one_that_is_beyond_chance_behind_four_others_is_stopped_and_the_reason_says_so():
    # three standard errors of a difference are 3 sqrt(.01^2 + .01^2) = .042
    behind = [attempt("far", 0.85), attempt("near", 0.86)]

    found = running(["a", "b", "c", "d", "far", "near"]).after([attempt(name, 0.9) for name in "abcd"] + behind)

    (stopped,) = found.stopped
    assert stopped.name == "far"
    assert stopped.is_stopped
    assert stopped.why == "on 500 rows it scored 0.850 and the best 0.900: it cannot win any more"


def test_the_best_of_a_model_goes_on_for_an_ensemble_though_it_cannot_win_alone():
    others = dict.fromkeys("abcd", 0.9)
    far = [plan("far"), plan("farther"), *map(plan, others)]
    far[:2] = [replace(made, model="knn") for made in far[:2]]
    given = [attempt(name, score) for name, score in {"far": 0.5, "farther": 0.4, **others}.items()]

    alone, mixed = (
        UnderWay(tuple(far), (1 / 3,), 1000.0, 5.0, 6, n_rounds=1, has_ensemble=has_ensemble).after(given)
        for has_ensemble in (False, True)
    )

    assert names(alone) == list("abcd")
    assert names(mixed) == ["far", *"abcd"]


def test_the_best_of_a_model_has_time_after_those_that_can_win():
    # six fits of one on all rows take 19 s, of the far one 188 s; 250 s are given, of which attempts took 14
    far = replace(plan("far"), model="knn")
    given = [*(attempt(name, 0.9, 1.0) for name in "abcd"), attempt("far", 0.5, 10.0)]

    found = UnderWay((far, *map(plan, "abcd")), (1 / 3,), 250.0, 5.0, 6, n_rounds=1, has_ensemble=True).after(given)

    assert names(found) == list("abcd")
    assert found.stopped[0].why.startswith("all its fits would take about 188 s")


def test_of_a_metric_that_should_be_low_the_highest_is_stopped():
    found = running("abcde", order=-1.0).after(
        [attempt(name, 0.1) for name in "abcd"] + [attempt("e", 0.9)],
    )

    assert [each.name for each in found.stopped] == ["e"]


def test_three_ahead_are_too_few_to_stop_anything():
    found = running("abcz").after([attempt(name, 0.9) for name in "abc"] + [attempt("z", 0.1)])

    assert names(found) == list("abcz")


def test_the_best_go_on_as_far_as_the_time_reaches():
    # a fit on all rows takes 1.3 x 10 x 3^.8 + .1 = 31.4 s, six of them 188 s; two candidates fit into 600 - 50 s
    found = running("abcd", seconds=600.0).after(
        [attempt("a", 0.7, 20.0), attempt("b", 0.9, 10.0), attempt("c", 0.8, 10.0), attempt("d", 0.75, 10.0)]
    )

    assert names(found) == ["b", "c"]
    assert {each.name: each.why for each in found.stopped} == {
        "a": "all its fits would take about 376 s, more than 5 minutes leave",
        "d": "all its fits would take about 188 s, more than 5 minutes leave",
    }


def test_the_cheapest_goes_on_where_there_is_time_for_none():
    found = running("ab", seconds=10.0).after([attempt("a", 0.9, 50.0), attempt("b", 0.5, 40.0)])

    assert names(found) == ["b"]


@pytest.mark.parametrize(
    ("weight", "seconds", "power"),
    [
        (1.0, 3.0, 1.0),  # 1 s on a ninth and 3 s on a third of the rows
        (1.0, 15.0, 1.4),  # 15 s would be a power of 2.46, which is a moment's load and no growth of trees
        (1.0, 1.0, 0.25),
        (100.0, 9.0, 2.0),
        (100.0, 1.0, 1.0),  # the first try of a kernel paid for an import
        (100.0, 30.0, 2.2),
    ],
)
def test_cost_grows_as_it_was_seen_to_grow_within_what_its_kind_can(weight, seconds, power):
    one = plan("a", weight)
    before = UnderWay((one,), (1 / 9, 1 / 3), 1000.0, 5.0, 6, n_rounds=2)

    found = before.after([Attempt("a", 1 / 9, 100, 0.9, 0.01, 1.0)]).after([attempt("a", 0.9, seconds)])

    assert found._forecast(one, 1.0) == pytest.approx(1.3 * seconds * 3**power + 0.1)


def test_what_reading_and_encoding_took_is_not_counted_for_every_fit():
    found = running("a").after([attempt("a", 0.9, 10.0, fit_seconds=1.0)])

    assert found._forecast(plan("a"), 1.0) == pytest.approx(1.3 * 1.0 * 3**0.8 + 0.1)


def test_what_one_attempt_waited_for_is_no_cost_of_its_own():
    # together 12 s by the clock for 6 s of work, so each fit takes twice its work: 2 s, and not the 7 s of the one
    given = [
        attempt("late", 0.9, fit_seconds=7.0, cpu_seconds=1.0), attempt("b", 0.9, fit_seconds=5.0, cpu_seconds=5.0)
    ]  # fmt: skip

    found = running(["late", "b"]).after(given)

    assert found._forecast(plan("late"), 1.0) == pytest.approx(1.3 * 2.0 * 3**0.8 + 0.1)


def test_a_model_that_works_in_threads_of_its_own_costs_a_quarter_of_its_clock_at_least():
    given = [
        attempt("threads", 0.9, fit_seconds=8.0, cpu_seconds=0.1), attempt("b", 0.9, fit_seconds=90.0, cpu_seconds=90.0)
    ]  # fmt: skip

    found = running(["threads", "b"]).after(given)

    assert found._forecast(plan("threads"), 1.0) == pytest.approx(1.3 * 2.0 * 3**0.8 + 0.1)


def test_a_dear_candidate_waits_until_cheaper_ones_behind_it_have_their_room():
    # six fits on all rows: a 19 s, dear 376 s, the others 19 s each; 450 s are given, of which rounds took 24
    costs = {"a": 1.0, "dear": 20.0, "b": 1.0, "c": 1.0, "d": 1.0}
    tried = [attempt(name, 0.9 - k / 1000, seconds) for k, (name, seconds) in enumerate(costs.items())]

    found = running(list(costs), seconds=450.0).after(tried)

    assert names(found) == ["a", "b", "c", "d"]
    assert names(running(list(costs), seconds=1000.0).after(tried)) == list(costs)


def test_one_minute_is_a_minute_in_words():
    slow = attempt("slow", float("nan"), refused="it took more than 2.0 s", is_too_slow=True)

    (stopped,) = running(["a", "slow"], minutes=1.0).after([attempt("a", 0.9), slow]).stopped

    assert stopped.why == "it took more than 2.0 s on 500 rows, which is too long for a minute"


def test_one_that_took_too_long_is_stopped_and_one_that_could_not_be_fitted_on_few_rows_goes_on():
    slow = attempt("slow", float("nan"), refused="it took more than 2.0 s", is_too_slow=True)
    odd = attempt("odd", float("nan"), refused="smote needs at least 6 rows")

    found = running(["a", "slow", "odd"]).after([attempt("a", 0.9), slow, odd])

    assert names(found) == ["a", "odd"]
    assert [each.why for each in found.stopped] == [
        "it took more than 2.0 s on 500 rows, which is too long for 5 minutes"
    ]


def test_the_same_attempts_decide_alike_whatever_the_clock_says():
    attempts = [attempt(name, 0.9 - k / 100, 20.0) for k, name in enumerate("abcdef")]

    assert running("abcdef").after(attempts) == running("abcdef").after(attempts)


def test_fits_are_stopped_at_a_moment_but_for_the_cheapest_kind():
    found = UnderWay((plan("svm", 100.0), plan("nb", 1.0)))

    assert found.ends_for(plan("svm", 100.0), 12.0)[0] == 12.0
    assert found.ends_for(plan("nb"), 12.0)[0] is None


def test_the_best_so_far_are_not_stopped_either_where_all_their_fits_take_little():
    # six fits of one on all rows: 1.3 * 2.41 * .1 s and .1 s each, 2.5 s in all; of the slow ones 19 s
    quick = UnderWay((plan("svm", 10.0), plan("nb"), plan("knn", 2.0)), (1 / 3,), 30.0, n_fits=6, n_rounds=1)
    scores = {"svm": 0.9, "nb": 0.7, "knn": 0.8}

    after = quick.after([attempt(name, score) for name, score in scores.items()])
    slow = replace(quick, seconds=100.0).after([attempt(name, score, 1.0) for name, score in scores.items()])
    longer = replace(after, seconds=100.0)

    def ends(found):
        return {each.name: found.ends_for(each, 12.0)[0] for each in found.left}

    assert ends(after) == {"svm": None, "nb": None, "knn": 12.0}  # .15 * 30 = 4.5 s: one of them
    assert ends(longer) == {"svm": None, "nb": None, "knn": None}  # 15 s: all
    assert ends(slow) == {"svm": 12.0, "nb": None, "knn": 12.0}


def test_the_best_are_fitted_first_after_a_round_and_as_given_without_one():
    plans = [plan(name) for name in "abc"]
    before = running("abc")

    after = before.after([attempt("a", 0.1), attempt("b", 0.3), attempt("c", 0.2)])

    assert [made.name for made in before.in_order(plans)] == list("abc")
    assert [made.name for made in after.in_order(plans)] == list("bca")


def test_without_minutes_there_are_no_rounds():
    ledger = Ledger("", NOWHERE, 9000, 0, 0, ("fold_0", "fold_1", "fold_2"))

    assert under_way([plan("a"), plan("b")], ledger, make_study()).shares == ()
    # 6,750 of 9,000 rows: a ninth of them has 500 and more, a 27th has not
    assert under_way([plan("a"), plan("b")], ledger, make_study(minutes=5)).shares == pytest.approx((1 / 9, 1 / 3))


def test_nobody_is_stopped_for_the_time_of_all_fits_after_one_attempt_on_few_rows():
    # one fit on all rows would take 1.3 * 2 * 100^.8 = 104 s by the first attempt; the next round, 6 s, has room
    found = running("ab", seconds=300.0, shares=(0.01, 0.03, 0.1), n_rounds=3)

    first = found.after([Attempt("a", 0.01, 500, 0.9, 0.01, 2.0), Attempt("b", 0.01, 500, 0.8, 0.01, 0.1)])
    second = first.after([Attempt("a", 0.03, 1500, 0.9, 0.01, 6.0), Attempt("b", 0.03, 1500, 0.8, 0.01, 0.1)])

    assert names(first) == ["a", "b"]
    assert names(second) == ["b"]  # as it grew, 6 s become 6 * 1.3 * 33 s for each of six fits
    assert "all its fits would take about" in second.stopped[0].why


def test_a_fit_is_not_begun_where_less_than_half_of_its_forecast_is_left():
    # on all rows it takes 1.3 x 10 x 3^.8 + .1 = 31.4 s, of which half must be left before the moment 1,000
    found = running("ab").after([attempt("a", 0.9, 0.1), attempt("b", 0.8, 10.0)])

    stopped_at, begun_until = found.ends_for(plan("b"), 1000.0)

    assert stopped_at == 1000.0
    assert begun_until == pytest.approx(1000 - 31.4 / 2, abs=0.1)
    assert found.ends_for(plan("a"), 1000.0) == (None, None)
    assert found.ends_for(plan("b"), None) == (None, None)


@pytest.mark.parametrize(
    ("started", "kept"),
    [(8.0, 12.0), (20.0, 13.0), (50.0, 30.0)],  # of a minute: a fifth, .65 of what starting took, at most half
)
def test_what_is_kept_for_the_end_grows_with_what_starting_took(started, kept):
    assert kept_for_the_end(1.0, started) == pytest.approx(kept)
