"""What a run is called in Prefect's list of runs: the study and the time that it is of."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext

from evenhand.errors import EvenhandError
from evenhand.study.loader import load_study
from evenhand.study.study import Study

NAMED_BY = ("study", "settings", "name", "conf")
MOST = 160


def run_name() -> str:
    """The name of the flow run under way, such as `creditcard 2026-11-18 06:00`."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return ""
    given = context.parameters or {}
    what = next((found for name in NAMED_BY if (found := _subject(name, given.get(name))) is not None), None)
    when = _moment(given.get("as_of")) or _moment(context.flow_run.expected_start_time) or datetime.now(UTC)
    return _named(what or context.flow_run.name, when)


def name_ahead(study: Study, runs: Iterable[FlowRun], at: datetime) -> list[str]:
    """Name the runs that a schedule has put down for later as each will be named when it begins; the new names."""
    named = {}
    for run in runs:
        due = _moment(run.expected_start_time)
        if run.auto_scheduled and due is not None and due > at and run.name != (name := _named(study, due)):
            named[run.id] = name
    if named:
        with get_client(sync_client=True) as client:
            for run_id, name in named.items():
                client.set_flow_run_name(run_id, name)
    return list(named.values())


def name_skipped(why: str) -> None:
    """Have the list of runs show why the run under way did nothing."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return
    with get_client(sync_client=True) as client:
        words = f"{context.flow_run.name} skipped: {why}"
        client.set_flow_run_name(context.flow_run.id, words if len(words) <= MOST else f"{words[: MOST - 3]}...")


def _named(what: Study | str, when: datetime) -> str:
    zone = what.schedule.ticks.zone if isinstance(what, Study) and what.schedule else None
    local = (when if when.tzinfo else when.replace(tzinfo=zone or UTC)).astimezone(zone)
    return f"{what.name if isinstance(what, Study) else what} {local:%Y-%m-%d %H:%M}"


def _subject(name: str, given: Any) -> Study | str | None:
    """The study that a parameter names; only its name where its file cannot be read."""
    if name != "conf" or given is None:
        return given if isinstance(given, Study) else given or None
    try:
        return load_study(str(given))
    except EvenhandError:
        return Path(str(given)).stem


def _moment(given: Any) -> datetime | None:
    if isinstance(given, str):
        try:
            return datetime.fromisoformat(given)
        except ValueError:
            return None
    return datetime.fromtimestamp(given.timestamp(), UTC) if given is not None and given.tzinfo else given
