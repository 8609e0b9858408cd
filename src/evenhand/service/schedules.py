"""Studies with a schedule, and what is decided and written down about their ticks before and after one is run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

from evenhand.errors import ConfError, EvenhandError
from evenhand.runtime.text import counted
from evenhand.service.tick_ledger import (
    Tick,
    TickOutcome,
    died_in_the_middle,
    is_done,
    is_paused,
    last_finished,
    missed,
    note,
    shown,
    tick_lock,
    ticks_of,
)
from evenhand.storage.locks import alone, waiting
from evenhand.study.loader import load_study
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client

MOST_SHOWN = 24  # ticks of a day in the note of a run


def clock() -> datetime:
    """The one place where a tick asks what time it is: at its door."""
    return datetime.now(UTC)


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
    begun = next((line.why for line in reversed(lines) if line.outcome == "scheduled"), "")
    if begun != words:
        note(replace(this, why=words))
    if begun not in {"", words} or not lines:
        return None
    pending = [] if is_paused(lines) else missed(lines, study.schedule, at)
    if died := died_in_the_middle(study.name, lines):
        pending = [died.moment, *pending]
    if pending and timedelta(0) <= at - pending[-1] <= study.schedule.leeway:
        return pending[-1]
    if died is not None:
        note(replace(died, outcome="failed", why="it was killed in the middle"))
    if gone := pending[died is not None :]:
        why = (
            f"{counted(len(gone), 'tick')} from {shown(gone[0])} on never came, the last longer ago than schedule.grace"
        )
        record_skip(replace(this, as_of=gone[-1].isoformat(), outcome="missed"), why)
    return None


def close_recorded(studies: Sequence[str]) -> list[str]:
    """Close the MLflow runs of studies whose process is gone; their ids."""
    store = mlflow_client.open_store()
    known = [store.client().get_experiment_by_name(name) for name in studies]
    places = [mlflow_client.Place(store.uri, found.experiment_id) for found in known if found is not None]
    return [run_id for place in places for run_id in mlflow_client.close_orphans(place)]


def pause(study: str, is_resumed: bool, at: datetime, where: str) -> Tick:
    """The line of a schedule that a person whom we do not know paused or resumed elsewhere."""
    outcome: TickOutcome = "resumed" if is_resumed else "paused"
    return note(Tick(study, at.isoformat(timespec="seconds"), outcome, where, who="a person"))


@contextmanager
def one_tick_of(study: Study) -> Iterator[None]:
    """Hold a study for one tick, or report who works on it; the kernel lets go of it however the tick ends."""
    with alone(tick_lock(study.name), f"a tick of study '{study.name}' is going on"):
        yield


def lateness(study: Study, moment: datetime, at: datetime) -> str:
    """Why a tick of the schedule is not run at all, at the time when it came; empty where it is."""
    if study.schedule is None:
        raise ConfError(f"study '{study.name}' has no schedule: add schedule.cron, or run it with `evenhand run`")
    if is_paused(ticks_of(study.name)):
        return f"the schedule is paused: evenhand schedule resume {study.name}"
    if is_done(ticks_of(study.name), moment, at):
        return f"the tick of {shown(moment)} has been seen to"
    if at - moment > study.schedule.leeway:
        return f"it came at {shown(at)}, later than schedule.grace ({study.schedule.grace}) allows"
    return ""


def has_finished(tick: Tick) -> bool:
    """Whether an earlier tick of the study retrained."""
    return last_finished(ticks_of(tick.study), tick.moment) is not None


def refuse_unbounded(study: Study, moment: datetime, why: str) -> NoReturn:
    """Report that rows that no date orders cannot be run as of a moment gone by."""
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


def record_skip(tick: Tick, why: str) -> Tick:
    """The line of a tick that ran nothing; MLflow shows those of a day as one run without fits."""
    noted = note(replace(tick, outcome="missed" if tick.outcome == "missed" else "skipped", why=why))
    place, day = mlflow_client.open_experiment(tick.study), {"evenhand.kind": "tick", "evenhand.day": _day(tick)}
    with waiting(tick_lock(tick.study).with_suffix(".skips")):
        run_id = mlflow_client.run_tagged(place, day)
        if run_id is None:
            with mlflow_client.running(place, f"skipped {_day(tick)}", day) as run_id:
                mlflow_client.log_metrics(place, run_id, {"fits_executed": 0})
    skipped = [
        line for line in ticks_of(tick.study) if line.outcome in {"skipped", "missed"} and _day(line) == _day(tick)
    ]
    words = "\n".join(f"- {shown(line.moment)}: {line.why}" for line in skipped[-MOST_SHOWN:])
    mlflow_client.log_tags(place, run_id, {**tick_tags(tick), "evenhand.skipped": why, mlflow_client.NOTE: words})
    mlflow_client.log_metrics(place, run_id, {"ticks_skipped": len(skipped)})
    return replace(noted, run_id=run_id)


def _day(tick: Tick) -> str:
    return f"{tick.moment.astimezone(UTC):%Y-%m-%d}"


def tick_tags(tick: Tick) -> dict[str, str]:
    """What an MLflow run says of the tick that it was for."""
    return {
        "evenhand.study": tick.study,
        "evenhand.as_of": tick.as_of,
        "evenhand.because": tick.because,
        "evenhand.flow_run": tick.flow_run_id,
    }
