"""What became of every tick of a schedule, in a file of our own that hangs on no server.

A tick writes a line when it begins and one when it is over, so that one that died in the middle differs from one
that never came.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from evenhand.runtime.text import time_text
from evenhand.storage.artifact_store import home
from evenhand.storage.digests import digest
from evenhand.storage.ledger import append_line, held, ledgers_in, read_chain, repair_chain
from evenhand.storage.locks import is_held, now, who
from evenhand.study.study import Schedule, Study

TickOutcome = Literal["scheduled", "paused", "resumed", "begun", "retrained", "skipped", "failed", "missed", "refused"]
OVER = ("retrained", "skipped", "failed", "missed")
ON_TIME = ("schedule", "catch-up")
FIRES_WITHIN = timedelta(minutes=3)
WITHOUT_EFFECT = {"description", "schedule", "workers", "engine", "watch", "feedback", "notify"}


@dataclass(frozen=True)
class Tick:
    """One line: the tick by its study and time, what became of it, and why."""

    study: str
    as_of: str
    outcome: TickOutcome
    why: str = ""
    because: str = "schedule"
    data: str = ""
    settings: str = ""
    run_id: str = ""
    flow_run_id: str = ""
    who: str = ""
    when: str = ""
    number: int = 0

    @property
    def moment(self) -> datetime:
        """The time that the tick is of."""
        return datetime.fromisoformat(self.as_of)


def ticks_path(study: str) -> Path:
    """Where the ticks of a study are kept."""
    return home() / "ticks" / f"{study}.jsonl"


def tick_lock(study: str) -> Path:
    """The lock that a tick holds from its beginning to its end."""
    return home() / "locks" / f"{study}.tick.lock"


def ticks_of(study: str) -> tuple[Tick, ...]:
    """Every line of a study, the first written first."""
    return tuple(_tick(line) for line in read_chain(ticks_path(study), "record of ticks").lines)


def tick_ledgers() -> dict[Path, tuple[int, ...]]:
    """The records of ticks, each with what changes when it gets a line."""
    return ledgers_in(home() / "ticks")


def note(tick: Tick) -> Tick:
    """Write a line; it counts once it is on the disk."""
    file = ticks_path(tick.study)
    with held(file):
        repair_chain(file, read_chain(file, "record of ticks"))
        chain = read_chain(file, "record of ticks")
        signed = asdict(tick) | {"who": tick.who or who(), "when": tick.when or now()}
        return _tick(append_line(file, signed, chain))


def settings_digest(study: Study) -> str:
    """What changes when a study would come to something else, or would be gated otherwise."""
    return digest(study.model_dump(by_alias=True, exclude=WITHOUT_EFFECT))


def last_finished(lines: Sequence[Tick], moment: datetime) -> Tick | None:
    """The tick that retrained last as of a moment; of two of one time, the one written last."""
    done = [line for line in lines if line.outcome == "retrained" and line.moment <= moment]
    return max(done, key=lambda line: (line.moment, line.number), default=None)


def is_done(lines: Sequence[Tick], moment: datetime, at: datetime) -> bool:
    """Whether the schedule's tick of this moment, or a later one that has come by `at`, has been seen to.

    A line dated later than that was written while a clock was ahead, and stands for no tick before it.
    """
    over = (line.moment for line in lines if line.outcome in OVER and line.because in ON_TIME)
    return any(moment <= each <= max(moment, at) for each in over)


def is_paused(lines: Sequence[Tick]) -> bool:
    """Whether a person paused the schedule and nobody resumed it since."""
    words = [line.outcome for line in lines if line.outcome in {"paused", "resumed"}]
    return words[-1:] == ["paused"]


def last_word(lines: Sequence[Tick]) -> datetime:
    """When the schedule was last paused or resumed; long ago if never."""
    words = [line.when for line in lines if line.outcome in {"paused", "resumed"}]
    return datetime.fromisoformat(words[-1]) if words else datetime.min.replace(tzinfo=UTC)


def missed(lines: Sequence[Tick], schedule: Schedule, moment: datetime) -> list[datetime]:
    """The ticks before a moment that nobody saw to, since the schedule began or a tick was last seen to."""
    known = [line.moment for line in _on_time(lines) if line.moment < moment]
    return list(takewhile(lambda tick: tick < moment, schedule.ticks.after(max(known)))) if known else []


def not_fired(lines: Sequence[Tick], schedule: Schedule, at: datetime) -> datetime | None:
    """The last tick, if nothing became of it although it was due some minutes ago and is within its grace.

    A server that schedules may leave one out: where clocks skip an hour it takes two times for one.
    """
    due = schedule.ticks.latest(at - FIRES_WITHIN)
    known = [line.moment for line in _on_time(lines) if line.moment <= at]
    if due is None or not known or due <= max(known) or at - due > schedule.leeway or is_paused(lines):
        return None
    return due


def overdue(study: Study, lines: Sequence[Tick], moment: datetime) -> str:
    """What is wrong with the ticks of a study at a moment; empty where each came in time."""
    assert study.schedule is not None
    due = study.schedule.ticks.latest(moment - study.schedule.leeway)
    seen = _on_time(lines)
    if is_paused(lines):
        return ""
    if not seen:
        return "no tick was ever recorded: start `evenhand up`, which notes the schedule once both servers answer"
    come = [line.moment for line in seen if line.moment <= moment]
    if not come:
        first = shown(min(line.moment for line in seen))
        return f"every tick on record is dated in the future, the first {first}: was the clock of this machine ahead?"
    if due is not None and due > max(come):
        late = time_text((moment - due).total_seconds())
        return f"the tick of {shown(due)} never came, and it is {late} past its time: is `evenhand up` running?"
    if (died := died_in_the_middle(study.name, lines)) is not None:
        return f"the tick of {shown(died.moment)} began at {died.when} and died in the middle"
    return ""


def _on_time(lines: Sequence[Tick]) -> list[Tick]:
    """The lines of the schedule's own ticks; one that was refused did nothing, so it stands for none."""
    return [line for line in lines if line.because in ON_TIME and line.outcome != "refused"]


def died_in_the_middle(study: str, lines: Sequence[Tick]) -> Tick | None:
    """The tick that began last, if it never ended and nobody works on it."""
    begun = next((line for line in reversed(lines) if line.outcome == "begun"), None)
    if begun is None or is_held(tick_lock(study)):
        return None
    later = [line for line in lines if line.number > begun.number and line.outcome in OVER]
    return None if any((line.as_of, line.flow_run_id) == (begun.as_of, begun.flow_run_id) for line in later) else begun


def shown(moment: datetime) -> str:
    """A moment for people."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _tick(content: dict[str, Any]) -> Tick:
    return Tick(**{field.name: content[field.name] for field in fields(Tick)})
