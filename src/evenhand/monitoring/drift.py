"""How far new rows have moved from the rows a model was trained on, column by column, and whether that is drift.

The verdict hangs on the size of a shift: at least the threshold, and more than sampling gives among so many looks.
More rows narrow the interval and leave the verdict; too few to exclude a drift are reported as too few.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.monitoring.reference_profile import Profile, Shape, Tallies, Tally
from evenhand.statistics import drift, odds_shift, share_shifts
from evenhand.study.study import Watch

State = Literal["drift", "unsure", "stable", "nothing new", "unknown"]
LEVEL = 0.95
FALSE_ALARMS = 0.01  # how often rows without any shift may be called drifted, over all columns and measures
WORDS = {
    "psi": "stability index {value:.2f}",
    "jensen_shannon": "Jensen-Shannon divergence {value:.3f} bits",
    "missing": "share of missing values {value:+.1%}",
    "unseen": "share of unseen values {value:+.1%}",
    "prior": "odds times {value:.2f}",
}


@dataclass(frozen=True)
class Shift:
    """One measure of one column: its value and interval, the threshold, and what it comes to."""

    column: str
    measure: str
    value: float
    low: float
    high: float
    threshold: float
    state: State

    @property
    def words(self) -> str:
        """The shift for people."""
        return f"{self.column}: {WORDS[self.measure].format(value=self.value)}"


@dataclass(frozen=True)
class Watched:
    """What a drift check found: the rows, the run they were compared with, every shift and what it comes to."""

    study: str
    against: str
    version: int
    n_rows: int
    state: State
    shifts: tuple[Shift, ...] = ()
    as_of: str = ""
    run_id: str = ""
    data: str = ""
    notes: tuple[str, ...] = ()

    @property
    def drifted(self) -> tuple[Shift, ...]:
        """The shifts that are drift, the furthest beyond its threshold first."""
        found = [shift for shift in self.shifts if shift.state == "drift"]
        return tuple(sorted(found, key=lambda shift: -_size(shift.measure, shift.value) / _bar(shift)))

    @property
    def furthest(self) -> tuple[Shift, ...]:
        """The columns that have drifted, each by the measure that says so most."""
        return tuple({shift.column: shift for shift in reversed(self.drifted)}.values())[::-1]

    @property
    def words(self) -> str:
        """The outcome in one line."""
        champion = f"version {self.version}" if self.version else f"run {self.against}"
        rows = f"{self.n_rows:,} new row{'s' * (self.n_rows != 1)} against what {champion} was trained on"
        if self.state == "nothing new":
            return f"no rows have come since {champion} was trained"
        if self.state == "unknown":
            return (
                f"drift is unknown: {champion} of '{self.study}' was recorded by a version that kept no profile of "
                "its training rows. Run the study again and make that run champion (`evenhand champion promote`); from "
                "then on it can."
            )
        if self.state == "drift":
            return f"drift: {rows}: {'; '.join(shift.words for shift in self.furthest[:3])}{self._rest}"
        if self.state == "unsure":
            return f"too few rows to decide: {rows} show no drift, but do not exclude it in {self._unsure}"
        rare = [shift.column for shift in self.shifts if shift.state == "unsure"]
        return f"no drift: {rows}" + f"; too few of them to estimate the odds of {', '.join(rare[:5])}" * bool(rare)

    @property
    def _rest(self) -> str:
        more = len(self.furthest) - 3
        return f" and {more} more columns" if more > 1 else " and 1 more column" if more == 1 else ""

    @property
    def _unsure(self) -> str:
        names = list(dict.fromkeys(shift.column for shift in self.shifts if shift.state == "unsure"))
        return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def shifts_of(profile: Profile, new: Tallies, settings: Watch) -> tuple[Shift, ...]:
    """Every measure of every column that both sides have."""
    n_looks = 4 * len(profile.columns) + sum(len(shape.counts) for shape in profile.targets)
    strict = FALSE_ALARMS / max(n_looks, 1)
    found = [shift for shape in profile.columns for shift in _column(shape, new.columns[shape.name], settings, strict)]
    for shape in profile.targets:
        found += _target(shape, new.targets[shape.name], settings, strict)
    return tuple(found)


def state_of(shifts: tuple[Shift, ...]) -> State:
    """Drift where any shift is one; unsure where one of a column cannot be excluded.

    A rare class takes very many rows to estimate its odds: that they are unknown is reported, but leaves the verdict.
    """
    if any(shift.state == "drift" for shift in shifts):
        return "drift"
    return "unsure" if any(shift.state == "unsure" and shift.measure != "prior" for shift in shifts) else "stable"


def _column(shape: Shape, new: Tally, settings: Watch, strict: float) -> Iterator[Shift]:
    yield from _spread(shape, new, settings, strict)
    yield _share("missing", shape, (shape.n_missing, shape.n_rows), (new.n_missing, new.n_rows), settings, strict)
    n_told, n_new = shape.n_rows - shape.n_missing, new.n_rows - new.n_missing
    if shape.is_named and shape.others is not None and n_told and n_new:
        yield _share("unseen", shape, (shape.n_once, n_told), (new.n_unseen, n_new), settings, strict)


def _spread(shape: Shape, new: Tally, settings: Watch, strict: float) -> Iterator[Shift]:
    """How differently known values are spread over the cells."""
    before, after = np.array(shape.counts), new.counts
    if not before.sum() or not after.sum() or np.count_nonzero(before + after) < 2:
        return
    for measure, found in drift(before, after, level=LEVEL).items():
        threshold = getattr(settings, measure)
        state = _state(found.effect, found.interval.high, threshold, found.p_value < strict)
        yield Shift(shape.name, measure, found.effect, found.interval.low, found.interval.high, threshold, state)


def _share(
    measure: str, shape: Shape, before: tuple[int, int], after: tuple[int, int], settings: Watch, strict: float
) -> Shift:
    """The change of a share; values seen once say how many unseen ones were to be expected."""
    threshold = getattr(settings, measure)
    counts = [np.array([part, whole - part]) for part, whole in (before, after)]
    (value, interval), (_, wide) = (share_shifts(*counts, level=level)[0] for level in (LEVEL, 1 - strict))
    is_real = wide.low > 0 or wide.high < 0
    reach = max(abs(interval.low), abs(interval.high))
    return Shift(
        shape.name, measure, value, interval.low, interval.high, threshold,
        _state(abs(value), reach, threshold, is_real),
    )  # fmt: skip


def _target(shape: Shape, new: Tally, settings: Watch, strict: float) -> Iterator[Shift]:
    if not new.n_known:
        return
    if not shape.is_named:
        yield from _spread(shape, new, settings, strict)
        return
    n_before, n_after = sum(shape.counts), new.n_known
    cells = list(zip(shape.values, shape.counts, new.counts.tolist(), strict=True))
    for value, before, after in cells[len(cells) == 2 :]:  # of two classes the positive one says all
        pairs = (before, n_before), (after, n_after)
        (times, interval), (_, wide) = (odds_shift(*pairs, level=level) for level in (LEVEL, 1 - strict))
        is_real = wide.low > 1 or wide.high < 1
        reach = max(_size("prior", interval.low), _size("prior", interval.high))
        state = _state(_size("prior", times), reach, float(np.log(settings.prior)), is_real)
        yield Shift(f"{shape.name}={value}", "prior", times, interval.low, interval.high, settings.prior, state)


def _state(size: float, reach: float, threshold: float, is_real: bool) -> State:
    if size >= threshold and is_real:
        return "drift"
    return "unsure" if reach >= threshold else "stable"


def _size(measure: str, value: float) -> float:
    """How far a value is from no shift."""
    return abs(float(np.log(value))) if measure == "prior" else abs(value)


def _bar(shift: Shift) -> float:
    return _size(shift.measure, shift.threshold)
