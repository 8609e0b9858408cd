"""Serving schedules: puts them on Prefect's server and runs what is due, in a child of `evenhand up`."""

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from httpx import HTTPError
from prefect import Flow
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import EntrypointType, RunnerDeployment
from prefect.runner import Runner

from evenhand.service.deployments import (
    TAG,
    close_all,
    coming_runs,
    crash_zombies,
    drop_missed,
    set_active,
    start,
    switch,
)
from evenhand.service.flow_run_names import name_ahead
from evenhand.service.schedules import clock, pause, reckon, scheduled
from evenhand.service.tick_ledger import Tick, is_paused, last_word, not_fired, ticks_of
from evenhand.study.study import Study

POLL_SECONDS = 3.0
SPARE = 2  # a study runs once at a time; what comes meanwhile needs room to say that it is skipped
FOLLOW_SECONDS = 1.0
HEED_SECONDS, FIRED_SECONDS, NAMED_SECONDS = 5.0, 30.0, 10.0


def serve(confs: Sequence[str], tick: Flow[..., Any], echo: Callable[[str], None]) -> None:
    """Serve the schedules of study files until SIGTERM; what nobody works on any more is closed first."""
    studies = scheduled(confs)
    for name in close_all(confs, asks_prefect=True):
        echo(f"closed run {name}, which nobody worked on any more")
    crash_zombies()
    runner = Served(name="evenhand", pause_on_shutdown=False, query_seconds=POLL_SECONDS, limit=len(studies) + SPARE)
    for conf, study in studies.items():
        heed(study.name)
        deployment_id = runner.add_deployment(deployed(conf, study, tick))
        assert isinstance(deployment_id, UUID)
        agree(study.name)
        echo(_line(study))
        _catch_up(study, deployment_id, clock(), echo)
    each = list(studies.values())
    names = [study.name for study in each]
    for look in (_new_lines(names, echo), _heeded(names), _fired(each, echo), _named(each)):
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


def heed(name: str) -> Tick | None:
    """The line of a schedule that a person paused or resumed in Prefect itself, if that was the last word on it."""
    found, lines = switch(name), ticks_of(name)
    if found is None or found.is_paused == is_paused(lines) or found.since.replace(microsecond=0) <= last_word(lines):
        return None
    return pause(name, not found.is_paused, clock(), "in Prefect's own pages or API")


def agree(name: str) -> None:
    """Have a schedule go on where a deployment is still paused that was resumed while nothing was up."""
    if (found := switch(name)) is not None and found.is_paused and not is_paused(ticks_of(name)):
        set_active(name, True)


def _new_lines(names: Sequence[str], echo: Callable[[str], None]) -> Callable[[], None]:
    """Echo each line that is added to the record of ticks, for ever."""
    known = {name: len(ticks_of(name)) for name in names}

    def look() -> None:
        waits = threading.Event()
        while not waits.wait(FOLLOW_SECONDS):
            for name in known:
                lines = ticks_of(name)
                for line in lines[known[name] :]:
                    echo(f"{line.when}  {name}: {line.outcome}{': ' if line.why else ''}{line.why}")
                known[name] = len(lines)

    return look


def _fired(studies: Sequence[Study], echo: Callable[[str], None]) -> Callable[[], None]:
    """Start the ticks that the server left out, for ever; each is asked for once."""
    asked: set[tuple[str, datetime]] = set()

    def look() -> None:
        waits = threading.Event()
        while not waits.wait(FIRED_SECONDS):
            with suppress(HTTPError):
                for study in studies:
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
        waits = threading.Event()
        while not waits.wait(HEED_SECONDS):
            for name in names:
                with suppress(HTTPError):
                    heed(name)

    return look


def _named(studies: Sequence[Study]) -> Callable[[], None]:
    """Name the runs that the server puts down for later, for ever; one that has begun names itself."""

    def look() -> None:
        waits = threading.Event()
        while not waits.wait(NAMED_SECONDS):
            with suppress(HTTPError):
                for study in studies:
                    name_ahead(study, coming_runs(study.name), clock())

    return look
