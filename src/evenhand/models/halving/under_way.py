"""Candidates under way: after each round on a share of the rows, which of them go on to more.

Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016: each
round gets the same time, and the best go on. Every decision is made of scores and seconds that are kept in the store,
never of what a clock says now, so that a run that finds them there decides as the one that made them.
"""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from evenhand.models.successive_halving import shares_of
from evenhand.records.failures import Failed
from evenhand.records.halving import Attempt
from evenhand.records.pipeline import Ledger, Plan
from evenhand.study.registry import LOWER_IS_BETTER
from evenhand.study.study import Study

ROUNDS = 0.3  # of the time: for all rounds on shares of the rows
BEFORE_AND_AFTER, SERVED = 12.0, 0.25  # seconds to start and record; share of the rest to judge, explain and refit
FITTED_AT, MOST_KEPT = 0.8, 0.5  # of the minutes: when fits are stopped at the latest; most that is kept for the end
LIKE_START = 0.65  # of what starting took: what the end takes
BEGUN = 0.5  # of its forecast: what must be left of the time of fits for one to be begun
LONGEST = 0.25  # of the time of one round: what one attempt in it may take
SHORT = 0.15  # of the time: what all fits of the best may take together to be spared where the time is over
FEWEST_GOING_ON, BEYOND_CHANCE = 4, 3.0
STEEP_FROM = 50.0  # the weight of kernels and neighbours
STEEP, EVEN = (1.0, 1.7, 2.2), (0.25, 0.8, 1.4)  # how cost grows with rows: at least, until it was seen, at most
DEAR = 1 / 3  # of the room that is left: who costs more waits until those that cost less have theirs
ELSEWHERE = 0.25  # of its time by the clock: what a fit takes at least, as it may work in threads of its own
JUDGING = 1.3  # a fit that is kept is also asked about its training rows
HANDLING = 0.1  # seconds beside it


@dataclass(frozen=True)
class UnderWay:
    """The candidates left and what is known of them; `seconds` are those of all workers, `shares` the rounds to come.

    `order` is 1 where a higher score is better, else -1; `n_fits` are those of each candidate that is not stopped. With
    `has_ensemble` the best of each model goes on while there is time, though it cannot win alone.
    """

    left: tuple[Plan, ...]
    shares: tuple[float, ...] = ()
    seconds: float = 0.0
    minutes: float = 0.0
    n_fits: int = 1
    order: float = 1.0
    n_rounds: int = 0
    has_ensemble: bool = False
    attempts: tuple[Attempt, ...] = ()
    stopped: tuple[Failed, ...] = ()

    @property
    def longest(self) -> float:
        """The seconds that one attempt of a round may take."""
        return LONGEST * self._of_a_round

    def ends_for(self, made: Plan, end_of_fits: float | None) -> tuple[float | None, float | None]:
        """The moments at which a fit is stopped, and from which it is not begun: compiled code cannot be stopped.

        Some are always made, so that there is a good one to serve.
        """
        if end_of_fits is None or made.name in self._sure:
            return None, None
        return end_of_fits, end_of_fits - BEGUN * self._forecast(made, 1.0)

    def in_order(self, plans: Sequence[Plan]) -> list[Plan]:
        """Plans by their last score, so that where time runs out the least are lost; without one as given."""
        found = {each.plan: each for each in self.attempts}
        return sorted(plans, key=lambda made: _place(found.get(made.name), self.order))

    @property
    def _sure(self) -> set[str]:
        """The cheapest kind of candidate, of one kind the one with the best last score; and the best that are short."""
        in_order, room = self.in_order(self.left), SHORT * self.seconds
        sure = {min(in_order, key=lambda made: made.weight).name}
        for made in in_order:
            whole = self.n_fits * self._forecast(made, 1.0)
            if self._seen(made) and whole <= room:
                sure.add(made.name)
                room -= whole
        return sure

    @property
    def _of_a_round(self) -> float:
        return ROUNDS * self.seconds / max(self.n_rounds, 1)

    def after(self, attempts: Iterable[Attempt]) -> Self:
        """What is left after a round: the best for which there is time, without those that cannot win any more."""
        found = {each.plan: each for each in attempts}
        rest = self.shares[1:]
        known = replace(self, shares=rest, attempts=(*self.attempts, *found.values()))
        why = {name: words for name, each in found.items() if (words := known._hopeless(each, found.values()))}
        for name in known._first_of_models(found) if self.has_ensemble else ():
            why.pop(name, None)
        why |= known._without_time([each for each in known.in_order(self.left) if each.name not in why], rest)
        kept = tuple(each for each in self.left if each.name not in why)
        return replace(known, left=kept, stopped=(*self.stopped, *(_stopped(self.left, why))))

    def _first_of_models(self, found: Mapping[str, Attempt]) -> set[str]:
        """The best of each model that came to a score."""
        first: dict[str, str] = {}
        for made in self.in_order(self.left):
            if made.name in found and math.isfinite(found[made.name].score):
                first.setdefault(made.model, made.name)
        return set(first.values())

    @property
    def _allowed(self) -> str:
        return "a minute" if self.minutes == 1 else f"{self.minutes:g} minutes"

    def _hopeless(self, one: Attempt, others: Iterable[Attempt]) -> str:
        """Why a candidate cannot win any more: too slow, or behind several by more than chance can explain."""
        if one.is_too_slow:
            return f"{one.refused} on {one.n_rows:,} rows, which is too long for {self._allowed}"
        if not math.isfinite(one.score):
            return ""
        scored = [each for each in others if math.isfinite(each.score)]
        ahead = [each for each in scored if self._is_ahead(each, one)]
        best = max(scored, key=lambda each: self.order * each.score)
        if len(ahead) < FEWEST_GOING_ON:
            return ""
        return f"on {one.n_rows:,} rows it scored {one.score:.3f} and the best {best.score:.3f}: it cannot win any more"

    def _is_ahead(self, other: Attempt, one: Attempt) -> bool:
        error = math.hypot(one.error, other.error)
        return self.order * (other.score - one.score) > BEYOND_CHANCE * error > 0

    def _without_time(self, plans: Sequence[Plan], rest: Sequence[float]) -> dict[str, str]:
        """Who has no time left to go on, the best served first; one always goes on."""
        room = self.seconds - sum(each.seconds for each in self.attempts)
        if rest:  # of the time of rounds that is left, half for the next one
            room = max(self._of_a_round, (room - (1 - ROUNDS) * self.seconds) / 2)
        share, times = (rest[0], 1) if rest else (1.0, self.n_fits)
        why: dict[str, str] = {}
        left = f"{self._allowed} {'leaves' if self.minutes == 1 else 'leave'}"
        costs = {made.name: times * self._forecast(made, share) for made in plans}
        for made in _dear_last(plans, costs, room):
            whole = self.n_fits * self._forecast(made, 1.0)
            is_known = len(self._seen(made)) > 1  # one attempt on few rows is mostly what does not grow with them
            if costs[made.name] > room or (is_known and whole > (1 - ROUNDS) * self.seconds):
                why[made.name] = f"all its fits would take about {whole:,.0f} s, more than {left}"
            else:
                room -= costs[made.name]
        if plans and len(why) == len(plans):
            del why[min(plans, key=lambda made: self._forecast(made, 1.0)).name]
        return why

    def _forecast(self, made: Plan, share: float) -> float:
        """The seconds of one fit on a share of the rows, by what the last attempts took."""
        seen = self._seen(made)
        if not seen:
            return 0.0
        last = seen[-1]
        least, power, most = STEEP if made.weight >= STEEP_FROM else EVEN
        if len(seen) > 1 and min(seen[-2].work, last.work) > 0:
            grown = math.log(last.work / seen[-2].work) / math.log(last.share / seen[-2].share)
            power = min(max(grown, least), most)  # a moment's load is no growth
        took = max(self._crowding * last.work, ELSEWHERE * last.clock)
        return JUDGING * took * (share / last.share) ** power + HANDLING

    @property
    def _crowding(self) -> float:
        """How much longer fits take by the clock than they work, where other work has the processors too.

        Of all attempts together: what one of them waited for, another fit need not wait for.
        """
        fitted = [each for each in self.attempts if math.isfinite(each.score)]
        work = sum(each.work for each in fitted)
        return max(sum(each.clock for each in fitted) / work, 1.0) if work > 0 else 1.0

    def _seen(self, made: Plan) -> list[Attempt]:
        """The attempts of a candidate that came to a score."""
        return [each for each in self.attempts if each.plan == made.name and math.isfinite(each.score)]


def kept_for_the_end(minutes: float, started: float) -> float:
    """The seconds kept to judge, explain, refit and record: a fifth of the minutes, or by what it took to start.

    On a busy machine both take as much longer; on few rows the end takes about two thirds of what the start took.
    """
    return min(max((1 - FITTED_AT) * 60 * minutes, LIKE_START * started), MOST_KEPT * 60 * minutes)


def under_way(plans: Sequence[Plan], ledger: Ledger, study: Study) -> UnderWay:
    """All candidates before the first round; a study without minutes has no rounds."""
    if study.minutes is None or len(plans) < 2:
        return UnderWay(tuple(plans))
    n_rows = int(ledger.n_training * (1 - 1 / (len(ledger.folds) / study.split.repeats + 1)))
    shares = shares_of(n_rows)[:-1] or (1 / 3,)
    n_workers = study.workers or os.cpu_count() or 1
    seconds = n_workers * max((60 * study.minutes - BEFORE_AND_AFTER) * (1 - SERVED), 1.0)
    return UnderWay(
        left=tuple(plans),
        shares=shares,
        seconds=seconds,
        minutes=study.minutes,
        n_fits=len(ledger.folds) + 2,  # one on all training rows, and once more for the model that is served
        order=-1.0 if study.metric in LOWER_IS_BETTER else 1.0,
        n_rounds=len(shares),
        has_ensemble=study.ensemble is not None,
    )


def _dear_last(plans: Sequence[Plan], costs: Mapping[str, float], room: float) -> list[Plan]:
    """The first of some plans, then those that cost little of what it leaves, then the dear ones; else as given."""
    if not plans:
        return []
    left = max(room - costs[plans[0].name], 0.0)
    return [plans[0], *sorted(plans[1:], key=lambda made: costs[made.name] > DEAR * left)]


def _place(found: Attempt | None, order: float) -> tuple[bool, float]:
    is_scored = found is not None and math.isfinite(found.score)
    return (not is_scored, -order * found.score if found is not None and is_scored else 0.0)


def _stopped(plans: Sequence[Plan], why: Mapping[str, str]) -> list[Failed]:
    return [
        Failed(made.name, why[made.name], made.model, made.encoding, made.balance, made.params, is_stopped=True)
        for made in plans
        if made.name in why
    ]
