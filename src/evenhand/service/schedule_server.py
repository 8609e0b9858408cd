"""Serving schedules: puts them on Prefect's server and runs what is due, in a child of `evenhand up`."""

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from httpx import HTTPError
from prefect import Flow
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import EntrypointType, RunnerDeployment
from prefect.runner import Runner

from evenhand.runtime.text import counted
from evenhand.service.deployments import (
    TAG,
    Switch,
    close_all,
    coming_runs,
    crash_zombies,
    drop_missed,
    due_runs,
    set_active,
    start,
    switches,
)
from evenhand.service.flow_run_names import name_ahead
from evenhand.service.schedules import clock, pause, reckon, scheduled
from evenhand.service.tick_ledger import Tick, is_paused, last_word, not_fired, tick_ledgers, ticks_of, ticks_path
from evenhand.study.study import Study

POLL_SECONDS = 3.0
FOLLOW_SECONDS = 1.0
HEED_SECONDS, FIRED_SECONDS, NAMED_SECONDS = 5.0, 30.0, 10.0
TAKEN_WITHIN = timedelta(seconds=10)  # a run that is due begins, unless as many as may are under way


def serve(confs: Sequence[str], tick: Flow[..., Any], echo: Callable[[str], None]) -> None:
    """Serve the schedules of study files until SIGTERM; what nobody works on any more is closed first.

    As many runs begin at once as Prefect's PREFECT_RUNNER_PROCESS_LIMIT allows; the others wait for their turn.
    """
    studies = scheduled(confs)
    for name in close_all(confs, asks_prefect=True):
        echo(f"closed run {name}, which nobody worked on any more")
    crash_zombies()
    runner = Served(name="evenhand", pause_on_shutdown=False, query_seconds=POLL_SECONDS)
    found, ids = switches(), {}
    for conf, study in studies.items():
        heed(study.name, found.get(study.name))
        deployment_id = runner.add_deployment(deployed(conf, study, tick))
        assert isinstance(deployment_id, UUID)
        ids[deployment_id] = study.name
    found, each = switches(), list(studies.values())
    for study, deployment_id in zip(each, ids, strict=True):
        agree(study.name, found.get(study.name))
        echo(_line(study))
        _catch_up(study, deployment_id, clock(), echo)
    names = [study.name for study in each]
    for look in (_new_lines(names, echo), _heeded(names), _fired(each, ids, echo), _named(each, ids)):
        threading.Thread(target=look, daemon=True).start()
    asyncio.run(runner.start())


class Served(Runner):
    """A runner that ends at once on SIGTERM; `evenhand up` ends its runs and closes them in both tools."""

    def handle_sigterm(self, *arguments: object) -> NoReturn:
        """End without a word."""
        shutil.rmtree(self._tmp_dir, ignore_errors=True)
        os._exit(0)


def deployed(conf: str, study: Study, tick: Flow[..., Any]) -> RunnerDeployment:
    """A study's schedule as Prefect is to have it."""
    assert study.schedule is not None
    cron = CronSchedule(cron=study.schedule.cron, timezone=study.schedule.timezone)
    made = tick.to_deployment(
        name=study.name,
        schedules=[DeploymentScheduleCreate(schedule=cron, active=not is_paused(ticks_of(study.name)))],
        parameters={"conf": str(Path(conf).absolute())},
        description=study.description or None,
        tags=[TAG],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(made, RunnerDeployment)
    return made


def _catch_up(study: Study, deployment_id: UUID, at: datetime, echo: Callable[[str], None]) -> None:
    """One run for all ticks that came while nothing was up, if the last of them is within its grace."""
    drop_missed(deployment_id, at)
    pending = reckon(study, at)
    if pending is not None:
        start(study.name, {"as_of": pending.isoformat(), "because": "catch-up"})
        echo(f"{study.name}: catching up with the tick of {pending:%Y-%m-%d %H:%M} UTC")


def _line(study: Study) -> str:
    assert study.schedule is not None
    if is_paused(ticks_of(study.name)):
        return f"schedule  {study.name}: paused; evenhand schedule resume {study.name}"
    coming = next(study.schedule.ticks.after(clock())).astimezone(study.schedule.ticks.zone)
    return f"schedule  {study.name}: {study.schedule.cron} {study.schedule.timezone}, next {coming:%Y-%m-%d %H:%M}"


def heed(name: str, found: Switch | None) -> Tick | None:
    """The line of a schedule that a person paused or resumed in Prefect itself, if that was the last word on it."""
    lines = ticks_of(name)
    if found is None or found.is_paused == is_paused(lines) or found.since.replace(microsecond=0) <= last_word(lines):
        return None
    return pause(name, not found.is_paused, clock(), "in Prefect's own pages or API")


def agree(name: str, found: Switch | None) -> None:
    """Have a schedule go on where a deployment is still paused that was resumed while nothing was up."""
    if found is not None and found.is_paused and not is_paused(ticks_of(name)):
        set_active(name, True)


def _new_lines(names: Sequence[str], echo: Callable[[str], None]) -> Callable[[], None]:
    """Echo each line that is added to the record of ticks, for ever."""
    known = {name: len(ticks_of(name)) for name in names}

    def look() -> None:
        waits, sizes = threading.Event(), dict[Path, tuple[int, ...]]()
        while not waits.wait(FOLLOW_SECONDS):
            before, sizes = sizes, tick_ledgers()
            for name in known:
                if sizes.get(ticks_path(name)) == before.get(ticks_path(name)):
                    continue
                lines = ticks_of(name)
                for line in lines[known[name] :]:
                    echo(f"{line.when}  {name}: {line.outcome}{': ' if line.why else ''}{line.why}")
                known[name] = len(lines)

    return look


def _fired(studies: Sequence[Study], ids: Mapping[UUID, str], echo: Callable[[str], None]) -> Callable[[], None]:
    """Start the ticks that the server left out, for ever; each is asked for once, and none that waits for its turn."""
    asked: set[tuple[str, datetime]] = set()

    def look() -> None:
        waits, waited = threading.Event(), 0
        while not waits.wait(FIRED_SECONDS):
            with suppress(HTTPError):
                due = due_runs(ids, clock() - TAKEN_WITHIN)
                waiting = sum(state is StateType.SCHEDULED for state in due.values())
                if waiting and not waited:
                    echo(f"waiting for their turn: {counted(waiting, 'run')} (evenhand up --at-once)")
                waited = waiting
                for study in studies:
                    if study.name not in due:
                        start_left_out(study, clock(), asked, echo)

    return look


def start_left_out(study: Study, at: datetime, asked: set[tuple[str, datetime]], echo: Callable[[str], None]) -> None:
    """Ask for the last tick of a study if it is due and the server has not fired it."""
    assert study.schedule is not None
    due = not_fired(ticks_of(study.name), study.schedule, at)
    if due is not None and (study.name, due) not in asked:
        asked.add((study.name, due))
        start(study.name, {"as_of": due.isoformat(), "because": "catch-up"})
        echo(f"{study.name}: the tick of {due:%Y-%m-%d %H:%M} UTC was not fired; it is started now")


def _heeded(names: Sequence[str]) -> Callable[[], None]:
    """Take over what is paused or resumed in Prefect, for ever; a server that does not answer is asked again."""

    def look() -> None:
        waits, before = threading.Event(), dict[str, Switch]()
        while not waits.wait(HEED_SECONDS):
            with suppress(HTTPError):
                found = switches()
                for name in names:
                    if found.get(name) != before.get(name):
                        heed(name, found.get(name))
                before = found

    return look


def _named(studies: Sequence[Study], ids: Mapping[UUID, str]) -> Callable[[], None]:
    """Name the runs that the server puts down for later, for ever; one that has begun names itself."""

    def look() -> None:
        waits = threading.Event()
        while not waits.wait(NAMED_SECONDS):
            with suppress(HTTPError):
                coming = coming_runs(ids)
                for study in studies:
                    name_ahead(study, coming.get(study.name, []), clock())

    return look
