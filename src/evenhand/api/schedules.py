"""Schedules: what is up and due, a run now or of days gone by, and pausing."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.api.studies import Changes, load_study
from evenhand.service.prefect_session import be_quiet, heed

if TYPE_CHECKING:
    from uuid import UUID

    from evenhand.service.status import SystemStatus
    from evenhand.service.tick_ledger import Tick

__all__ = [
    "Triggered",
    "backfill",
    "backfill_ticks",
    "pause",
    "resume",
    "schedules",
    "status",
    "trigger",
]


@dataclass(frozen=True)
class Triggered:
    """A flow run that the server of a schedule was asked for."""

    flow_run_id: "UUID"

    def wait(self) -> Any:
        """The state that the run ended in."""
        from evenhand.service.deployments import wait_for

        return wait_for(self.flow_run_id)


def status(*confs: str, check: bool = False) -> "SystemStatus":
    """What is up, the next ticks, the last ones and the last verdicts, in `lines`; `late` names ticks that never came.

    `confs` are study files or folders, left out those that `evenhand up` was last started with. With `check` no
    server is needed, and whom a study names is notified of a tick that never came.
    """
    from evenhand.service.status import notify_silences, system_status

    found = system_status(known_confs(confs, must_exist=check), _now(), asks_servers=not check)
    if check:
        notify_silences(known_confs(confs), _now())
    return found


def schedules(*confs: str) -> list[str]:
    """A line for each schedule with its next tick."""
    from evenhand.service.status import schedule_lines

    return schedule_lines(known_confs(confs), _now())


def pause(name: str) -> None:
    """Have a schedule do nothing until it is resumed."""
    _set_paused(name, True)


def resume(name: str) -> None:
    """Have a schedule run again; ticks that passed meanwhile are not made up for."""
    _set_paused(name, False)


def trigger(name: str, changes: Changes = (), *, force: bool = False) -> Triggered:
    """The flow run that `evenhand up` starts now for a schedule; `.wait()` gives the state it ends in."""
    _reach()
    from evenhand.service.deployments import start
    from evenhand.study.loader import as_changes

    given = as_changes(changes)
    load_study(_conf_of(name), given)
    return Triggered(start(name, {"changes": given, "force": force}))


def backfill(conf: str | os.PathLike[str], first: datetime, last: datetime, *, promote: bool = False) -> "list[Tick]":
    """The ticks that a study would have had between two dates, run now, each on the rows up to its time.

    A date without a time means the whole day, in the time zone of the schedule; `promote` lets the gate decide.
    """
    return list(backfill_ticks(conf, first, last, promote=promote))


def backfill_ticks(
    conf: str | os.PathLike[str], first: datetime, last: datetime, *, promote: bool = False
) -> "Iterator[Tick]":
    """The same one by one, as they end."""
    from evenhand.service.status import ticks_between

    study = load_study(conf)
    ticks = ticks_between(study, first, last)
    be_quiet()
    from evenhand.api.launch import run_tick
    from evenhand.flows.tick import check_bounded

    check_bounded(study, ticks[-1])
    for moment in ticks:
        yield run_tick(str(Path(conf).absolute()), moment, "backfill", promotes=promote)


def known_confs(confs: Sequence[str], must_exist: bool = False) -> list[str]:
    """The study files asked for, or those that `evenhand up` was last started with."""
    from evenhand.service.status import with_schedule
    from evenhand.service.supervisor import state

    return with_schedule(confs or state().get("confs", ("conf",)), must_exist)


def _now() -> datetime:
    return datetime.now(UTC)


def _reach() -> None:
    """Use the server that is up, with its key."""
    from evenhand.service.status import reachable_server

    be_quiet()
    heed(reachable_server())


def _conf_of(name: str) -> str:
    from evenhand.errors import PlaceError, nearest
    from evenhand.service.deployments import conf_of, names

    if (conf := conf_of(name)) is None:
        known = names()
        raise PlaceError(
            f"there is no schedule '{name}'.{nearest(name, known)} There are: {', '.join(known) or 'none'}"
        )
    return conf


def _set_paused(name: str, is_paused: bool) -> None:
    from evenhand.service.status import paused_or_resumed
    from evenhand.service.supervisor import is_up

    paused_or_resumed(name, known_confs(()), is_paused, _now())
    if is_up():
        _reach()
        from evenhand.service.deployments import set_active

        set_active(name, not is_paused)
