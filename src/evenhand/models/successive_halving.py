"""Successive halving over shares of the rows: many points on few rows, the best third of them on three times as many.

Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016; begun
anew while a budget lasts as in Li et al., "Hyperband", JMLR 18, 2018. With a budget, pilots show on how many rows a
trial is small beside it: the first round is held there, and time that no larger trial fits in is spent there too.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, Protocol

import numpy as np

from evenhand.records.tuning import Trial

KEPT = 3
STEEP = 2.0  # the cost of a fit is taken to grow with the square of the rows until it was seen to
MOST_IN_A_BRACKET = 27
MOST_POINTS = 1_000
PASSED_OVER = 60  # points that wait, as too dear for the time that is left, for one that is not
SLACK = 0.08  # of the seconds: what a trial may go over
SMALL = 0.1  # of the seconds: what a trial of the first round may take
SAFE = 1 / 3  # of the seconds: what the next pilot may take if its cost grows as steeply as it may
EXHAUSTED, NO_ROOM = "every point was tried on all rows", "no further trial fits"


class Evaluate(Protocol):
    """Scores of a point on a share of the rows, one for each inner fold; None when stopped between two of them.

    A point that cannot be fitted gives the reason instead.
    """

    def __call__(self, params: dict[str, Any], share: float, stop_at: float) -> Sequence[float] | str | None: ...


def shares_of(n_rows: int, fewest: int = 500, most_rounds: int = 5) -> tuple[float, ...]:
    """The shares of rows that rounds are held on, rising by three to 1; the first has at least `fewest` rows."""
    n_rounds = 1 + int(math.log(max(n_rows / fewest, 1.0)) / math.log(KEPT) + 1e-9)
    return tuple(KEPT ** -float(place) for place in reversed(range(min(n_rounds, most_rounds))))


@dataclass
class Search:
    """One search under way: `sign` is -1 where a lower score is better."""

    points: Iterator[dict[str, Any]]
    shares: tuple[float, ...]
    evaluate: Evaluate
    sign: float
    clock: Callable[[], float]
    pilots: tuple[float, ...] = ()  # shares below the first, rising
    tried: list[Trial] = field(default_factory=list)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    end: float = math.inf
    slack: float = 0.0
    ended: str = ""

    def by_trials(self, n_trials: int) -> list[Trial]:
        """All trials of one bracket that begins with so many points; nothing in it hangs on the clock."""
        rounds = min(len(self.shares), 1 + int(math.log(n_trials) / math.log(KEPT) + 1e-9))
        alive = list(islice(self.points, n_trials))
        for number, share in enumerate(self.shares[-rounds:]):
            done = [self._try(params, share, number, 0) for params in alive]
            alive = [trial.params for trial in self._best_first([one for one in done if one])[: _kept(len(alive))]]
        return self.tried

    def by_seconds(self, seconds: float, began: float) -> list[Trial]:
        """The trials that fit into so many seconds from then on, by what trials before them cost."""
        self.end, self.slack = began + seconds, SLACK * seconds
        self._settle_on_first_share(seconds)
        for bracket in count():
            if not self._first_round(bracket):
                break
            for number in range(1, len(self.shares)):
                self._next_round(number, bracket)
        while self._one_more():
            pass
        return self.tried

    def best(self) -> Trial | None:
        """The best trial on the largest share that any point was tried on; the first of equals."""
        scored = [trial for trial in self.tried if math.isfinite(trial.score)]
        last = max((trial.share for trial in scored), default=0.0)
        return next(iter(self._best_first([trial for trial in scored if trial.share == last])), None)

    def _settle_on_first_share(self, seconds: float) -> None:
        """Try the first point on ever more rows up to the first share, while that takes little of the seconds.

        Only the last of these trials is kept. The very first also pays for what is slow once.
        """
        point = next(self.points, None) if self.pilots else None
        if point is None:
            return
        ladder, costs = (*self.pilots, *self.shares), []
        for place in (0, *range(len(ladder))):
            trial = self._try(point, ladder[place], 0, 0)
            if trial is None:
                break
            self.tried, self.shares = [trial], ladder[place:]
            costs.append(trial.seconds)
            growth = costs[-1] / costs[-2] if place else 0.0
            is_small = costs[-1] * growth <= SMALL * seconds and costs[-1] * KEPT**STEEP <= SAFE * seconds
            if not trial.refused and not (is_small and place < len(self.pilots)):
                break

    def _first_round(self, bracket: int) -> int:
        """Try new points on the smallest share, as many as leave time for the rounds after; how many were tried."""
        began, n_done = self.clock(), sum(trial.bracket == bracket for trial in self.tried)
        while n_done < self._n_affordable(self.end - began) and len(self._costs(0)) < MOST_POINTS:
            params = self._next_point()
            if params is None or self._try(params, self.shares[0], 0, bracket) is None:
                break
            n_done += 1
        return n_done

    def _next_point(self) -> dict[str, Any] | None:
        """The first point that fits by the dearer of its neighbours, else by the cheaper; None where none does."""
        for forecast in (max, min):
            for place in range(PASSED_OVER):
                if place == len(self.waiting):
                    self.waiting += islice(self.points, 1)
                if place == len(self.waiting):
                    break
                if self._fits(forecast(self._near(self.waiting[place]))):
                    return self.waiting.pop(place)
        return None

    def _next_round(self, number: int, bracket: int) -> None:
        before = [trial for trial in self.tried if (trial.round, trial.bracket) == (number - 1, bracket)]
        for trial in self._best_first([one for one in before if math.isfinite(one.score)])[: _kept(len(before))]:
            if self._fits(trial.seconds * self._growth(number)):
                self._try(trial.params, self.shares[number], number, bracket)

    def _one_more(self) -> bool:
        """Where time is left when all points were drawn, try the next best of a round on more rows after all."""
        n_drawn = len(self._costs(0))
        self.ended = (
            NO_ROOM if self.waiting else EXHAUSTED if n_drawn < MOST_POINTS else f"{n_drawn:,} points were tried"
        )
        for number in reversed(range(1, len(self.shares))):
            done = [trial.params for trial in self.tried if trial.round == number]
            rest = [trial for trial in self.tried if trial.round == number - 1 and trial.params not in done]
            for trial in self._best_first([one for one in rest if math.isfinite(one.score)]):
                self.ended = NO_ROOM
                if self._fits(trial.seconds * self._growth(number)):
                    return self._try(trial.params, self.shares[number], number, trial.bracket) is not None
        return False

    def _n_affordable(self, left: float) -> int:
        """The points to begin a bracket with, so that halving them takes the time that is left."""
        if not self._costs(0):
            return 1
        each = float(np.mean(self._costs(0)))
        whole = each * sum(
            math.prod(self._growth(later) / KEPT for later in range(1, number + 1))
            for number in range(len(self.shares))
        )
        return min(max(int(left / whole), 1), MOST_IN_A_BRACKET)

    def _fits(self, seconds: float) -> bool:
        """Whether a trial would end nearer to the end than it begins, and not much after it."""
        now = self.clock()
        return not self.tried or (now + seconds / 2 <= self.end and now + seconds <= self.end + self.slack)

    def _costs(self, number: int) -> list[float]:
        return [trial.seconds for trial in self.tried if trial.round == number]

    def _near(self, params: dict[str, Any]) -> list[float]:
        """What the two tried points that are nearest to one cost in the first round; nothing where none was tried."""
        first = [trial for trial in self.tried if trial.round == 0]
        near = sorted(first, key=lambda trial: _distance(trial.params, params))[:2]
        return [trial.seconds for trial in near] or [0.0]

    def _growth(self, number: int) -> float:
        """How much dearer a trial of this round is than the same point's of the round before: the most seen."""
        before = {repr(one.params): one.seconds for one in self.tried if one.round == number - 1}
        seen = [one.seconds / before[repr(one.params)] for one in self.tried if one.round == number]
        return max(seen) if seen else float(KEPT**STEEP)

    def _best_first(self, trials: Sequence[Trial]) -> list[Trial]:
        def place(trial: Trial) -> tuple[bool, float]:
            return (not math.isfinite(trial.score), -self.sign * trial.score if math.isfinite(trial.score) else 0.0)

        return sorted(trials, key=place)

    def _try(self, params: dict[str, Any], share: float, number: int, bracket: int) -> Trial | None:
        """A trial, kept; None for one that was stopped, of which nothing is kept. The first is never stopped."""
        began = self.clock()
        evaluated = self.evaluate(params, share, self.end + self.slack if self.tried else math.inf)
        if evaluated is None:
            return None
        scores = [] if isinstance(evaluated, str) else [value for value in evaluated if math.isfinite(value)]
        trial = Trial(
            params=params,
            share=share,
            score=float(np.mean(scores)) if scores else math.nan,
            spread=float(np.std(scores)) if scores else math.nan,
            seconds=max(self.clock() - began, 1e-9),
            round=number,
            bracket=bracket,
            refused=evaluated if isinstance(evaluated, str) else "",
        )
        self.tried.append(trial)
        return trial


def _distance(one: dict[str, Any], other: dict[str, Any]) -> float:
    """How far apart two points are: in powers of e where both are numbers above 0, else 1 where they differ."""

    def apart(a: Any, b: Any) -> float:
        are_numbers = all(isinstance(each, int | float) and each > 0 for each in (a, b))
        return abs(math.log(a / b)) if are_numbers else float(a != b)

    return sum(apart(one[name], other[name]) for name in one)


def _kept(n: int) -> int:
    return max(math.ceil(n / KEPT), 1)
