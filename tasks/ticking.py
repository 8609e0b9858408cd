"""What a tick of a schedule asks and writes down, before and after the study is run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from evenhand import tracking
from evenhand.conf import load_study
from evenhand.errors import ConfError, EvenhandError
from evenhand.locks import Held, alone
from evenhand.log import logger
from evenhand.settings import Study
from evenhand.steps import step
from evenhand.tables import Report, Table
from evenhand.ticks import (
    ON_TIME,
    Outcome,
    Tick,
    died_in_the_middle,
    is_done,
    is_paused,
    last_finished,
    last_word,
    missed,
    note,
    settings_digest,
    shown,
    tick_lock,
    ticks_of,
)
from evenhand.wording import counted

__all__ = [
    "Held",
    "Tick",
    "begin",
    "close_recorded",
    "fail",
    "finish",
    "has_finished",
    "is_paused",
    "last_word",
    "lateness",
    "one_tick_of",
    "pause",
    "read",
    "reckon",
    "refuse",
    "refuse_unbounded",
    "scheduled",
    "skip",
    "ticks_of",
    "unchanged",
]


@step("read")
def read(conf: str, changes: Sequence[str], promotes: bool) -> Study:
    """The study of a file with its changes; a mistake ends the tick before any store is touched."""
    study = load_study(conf, changes)
    return study if promotes else study.model_copy(update={"gate": None})


def scheduled(confs: Sequence[str]) -> dict[str, Study]:
    """The studies with a schedule among study files, by their file; two of one name are refused."""
    found: dict[str, Study] = {}
    for conf in confs:
        study = load_study(conf)
        if study.schedule is None:
            continue
        if twin := next((file for file, other in found.items() if other.name == study.name), None):
            raise ConfError(f"'{twin}' and '{conf}' are both named '{study.name}': name them apart")
        found[conf] = study
    if not found:
        raise ConfError("no study file given has a schedule: add schedule.cron to one, such as '0 3 * * *'")
    return found


def reckon(study: Study, at: datetime) -> datetime | None:
    """Note when a schedule began or what came of it while nothing was up; the tick that can still be caught up with."""
    assert study.schedule is not None
    this = Tick(study.name, at.isoformat(timespec="seconds"), "scheduled")
    lines, words = ticks_of(study.name), f"{study.schedule.cron} {study.schedule.timezone}"
    if next((line.why for line in reversed(lines) if line.outcome == "scheduled"), "") != words:
        note(replace(this, why=words))
        return None
    owed = [] if is_paused(lines) else missed(lines, study.schedule, at)
    if died := died_in_the_middle(study.name, lines):
        owed = [died.moment, *owed]
    if owed and at - owed[-1] <= study.schedule.leeway:
        return owed[-1]
    if died is not None:
        note(replace(died, outcome="failed", why="it was killed in the middle"))
    if gone := owed[died is not None :]:
        why = (
            f"{counted(len(gone), 'tick')} from {shown(gone[0])} on never came, the last longer ago than schedule.grace"
        )
        skip.fn(replace(this, as_of=gone[-1].isoformat(), outcome="missed"), why)
    return None


def close_recorded(studies: Sequence[str]) -> list[str]:
    """Close the MLflow runs of studies whose process is gone; their ids."""
    store = tracking.open_store()
    known = [store.client().get_experiment_by_name(name) for name in studies]
    places = [tracking.Place(store.uri, found.experiment_id) for found in known if found is not None]
    return [run_id for place in places for run_id in tracking.close_orphans(place)]


def pause(study: str, is_resumed: bool, at: datetime, where: str) -> Tick:
    """The line of a schedule that a person whom we do not know paused or resumed elsewhere."""
    outcome: Outcome = "resumed" if is_resumed else "paused"
    return note(Tick(study, at.isoformat(timespec="seconds"), outcome, where, who="a person"))


@contextmanager
def one_tick_of(study: Study) -> Iterator[None]:
    """Hold a study for one tick, or tell who works on it; the kernel lets go of it however the tick ends."""
    with alone(tick_lock(study.name), f"a tick of study '{study.name}' is going on"):
        yield


def lateness(study: Study, moment: datetime, at: datetime) -> str:
    """Why a tick of the schedule is not run at all, at the time when it came; empty where it is."""
    if study.schedule is None:
        raise ConfError(f"study '{study.name}' has no schedule: add schedule.cron, or run it with `evenhand run`")
    if is_paused(ticks_of(study.name)):
        return f"the schedule is paused: evenhand schedule resume {study.name}"
    if is_done(ticks_of(study.name), moment):
        return f"the tick of {shown(moment)} has been seen to"
    if at - moment > study.schedule.leeway:
        return f"it came at {shown(at)}, later than schedule.grace ({study.schedule.grace}) allows"
    return ""


@step("begin")
def begin(tick: Tick, study: Study) -> Tick:
    """The line of a tick that goes to work; ticks before it that never came are noted with it."""
    if study.schedule is not None and tick.because in ON_TIME:
        lines = missed(ticks_of(study.name), study.schedule, tick.moment)
        if lines:
            why = f"{counted(len(lines), 'tick')} from {shown(lines[0])} on never came; this one is run for all"
            note(replace(tick, as_of=lines[-1].isoformat(), outcome="missed", why=why))
            logger().warning(why)
    return note(replace(tick, outcome="begun"))


@step("look for changes")
def unchanged(tick: Tick, table: Table, study: Study) -> tuple[Tick, str]:
    """The tick with the digests of its rows and settings, and why there is nothing to do; empty where there is."""
    tick = replace(tick, data=table.digest, settings=settings_digest(study))
    last = last_finished(ticks_of(study.name), tick.moment)
    if last is None or (last.data, last.settings) != (tick.data, tick.settings):
        return tick, ""
    return tick, f"neither data nor settings changed since the tick of {shown(last.moment)}"


def has_finished(tick: Tick) -> bool:
    """Whether an earlier tick of the study retrained."""
    return last_finished(ticks_of(tick.study), tick.moment) is not None


@step("record skip")
def skip(tick: Tick, why: str) -> Tick:
    """The line of a tick that ran nothing, which MLflow shows as a run without fits."""
    noted = note(replace(tick, outcome="missed" if tick.outcome == "missed" else "skipped", why=why))
    place = tracking.open_experiment(tick.study)
    tags = {**_tags(tick), "evenhand.kind": "tick", "evenhand.skipped": why}
    with tracking.running(place, f"skipped {tick.as_of[:16]}", tags) as run_id:
        tracking.log_metrics(place, run_id, {"fits_executed": 0})
    logger().info("skipped: %s", why)
    return replace(noted, run_id=run_id)


@step("record tick")
def finish(tick: Tick, report: Report, table: Table) -> Tick:
    """The line of a tick that retrained, whose run in MLflow is told what it was for."""
    tracking.log_tags(tracking.open_store(), report.run_id, _tags(tick))
    why = report.notes[-1] if report.notes else f"{counted(report.n_executed, 'fit')} done, {report.n_reused:,} reused"
    told = "; ".join(part for part in (why, table.unbounded) if part)
    return note(replace(tick, outcome="retrained", why=told, run_id=report.run_id))


def refuse_unbounded(study: Study, moment: datetime, why: str) -> NoReturn:
    """Tell that rows which no date tells apart cannot be run as of a moment gone by."""
    raise ConfError(
        f"A tick of days gone by sees the rows up to its time, but study '{study.name}' cannot be run as of "
        f"{shown(moment)}: {why}. Every tick would train on all rows, later ones too, and stand in the record as made "
        "then. Name a column of dates as columns.time, or run the rows as they are with `evenhand run`."
    )


def fail(tick: Tick, error: Exception) -> Tick:
    """The line of a tick that broke, in one line."""
    return note(replace(tick, outcome="failed", why=_one_line(error)))


def refuse(tick: Tick, conf: str, error: Exception) -> Tick:
    """The line of a tick that was asked for with a mistake, under the name of the study as far as that can be read."""
    try:
        name = load_study(conf).name
    except ConfError:
        name = Path(conf).stem
    return note(replace(tick, study=name, outcome="refused", why=_one_line(error)))


def _one_line(error: Exception) -> str:
    name = "" if isinstance(error, EvenhandError) else f"{type(error).__name__}: "
    return f"{name}{' '.join(str(error).split())}"[:500]


def _tags(tick: Tick) -> dict[str, str]:
    return {
        "evenhand.study": tick.study,
        "evenhand.as_of": tick.as_of,
        "evenhand.because": tick.because,
        "evenhand.flow_run": tick.flow_run_id,
    }
