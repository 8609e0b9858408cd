"""What is asked of Prefect's server about schedules: put them there, close what was orphaned, start a run, report."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterTags,
    FlowRunFilter,
    FlowRunFilterDeploymentId,
    FlowRunFilterEndTime,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterId,
    FlowRunFilterState,
    FlowRunFilterStateType,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType, TaskRun
from prefect.client.schemas.responses import DeploymentResponse
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Crashed, State

from evenhand.runtime.process_identity import OWNED_BY, has_lost_its_owner
from evenhand.service.schedules import clock, close_recorded, scheduled

FLOW = "retrain-on-schedule"
TAG = "evenhand"
ZOMBIES = "evenhand: crash runs without a heartbeat"
HEARTBEATS_MISSED = timedelta(seconds=95)  # three of them, at one every 30 seconds
UNDER_WAY = [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]
UNFINISHED = [*UNDER_WAY, StateType.SCHEDULED, StateType.PAUSED]  # a task run that is retried is scheduled
ENDED = [StateType.COMPLETED, StateType.FAILED, StateType.CANCELLED]
LATEST_WORD = timedelta(
    minutes=1
)  # a run that ends reports its tasks' states by events, which the server is behind with
LOOKS, LOOK_SECONDS, STILL_SECONDS = 10, 0.2, 30.0
PAGE = 200
Read = TypeVar("Read")


@dataclass(frozen=True)
class Planned:
    """A schedule as the server has it."""

    name: str
    deployment_id: UUID
    is_active: bool
    next_at: datetime | None
    is_going: bool


@dataclass(frozen=True)
class Switch:
    """Whether a schedule is paused on the server, and when somebody last touched it there."""

    is_paused: bool
    since: datetime


@contextmanager
def _server() -> Iterator[SyncPrefectClient]:
    with get_client(sync_client=True) as client:
        yield client


def close_all(confs: Sequence[str], asks_prefect: bool) -> list[str]:
    """Close in both tools what nobody works on; only in MLflow where Prefect's server is not to be asked."""
    closed = close_recorded([study.name for study in scheduled(confs).values()])
    return [*closed, *(close_orphans() if asks_prefect else [])]


def close_orphans() -> list[str]:
    """Close the runs that nobody works on: of schedules, which end with what serves them, and of dead processes."""
    with _server() as client:
        deployments = {one.id: one for one in _deployments(client)}
        return _closed(client, lambda run: _is_orphan(run, deployments), "closed by `evenhand up`")


def close_lost() -> list[str]:
    """Close the runs whose process was one of this machine and is gone; a server may be shared with other machines."""
    with _server() as client:
        return _closed(client, lambda run: has_lost_its_owner(run.tags, only_here=True), "closed by the next run")


def _closed(client: SyncPrefectClient, is_orphan: Callable[[FlowRun], bool], who: str) -> list[str]:
    """Close runs under way, and what is left of runs that are over; the names of the runs."""
    runs = _all_runs(client, FlowRunFilter(state=_in(UNDER_WAY)))
    orphans = {run.id: run for run in runs if is_orphan(run)}
    parents = {run.id: _parent(client, run) for run in runs if run.id not in orphans}
    while inside := {run.id: run for run in runs if parents.get(run.id) in orphans and run.id not in orphans}:
        orphans |= inside
    message = f"{who}: nobody worked on it any more"
    closed = {run.id: run.name for run in orphans.values() if _crash(client, run, message)}
    if closed:
        _wait_for_last_words(client, list(closed))
    _close_parts(client, message, closed)
    return list(closed.values())


def _crash(client: SyncPrefectClient, run: FlowRun, message: str) -> bool:
    """Close a run whose process is known to be gone; False if it had ended by itself after it was read."""
    state = client.read_flow_run(run.id).state
    if state is not None and state.is_final():
        return False
    client.set_flow_run_state(run.id, Crashed(message=f"{message} ({run.state_name})"), force=True)
    return True


def _wait_for_last_words(client: SyncPrefectClient, run_ids: list[UUID]) -> None:
    """Wait until the task runs of dead runs stand still: the server writes down later what it was sent by events."""
    chosen, deadline = FlowRunFilter(id=FlowRunFilterId(any_=run_ids)), time.monotonic() + STILL_SECONDS
    seen: list[set[tuple[UUID, UUID | None]]] = []
    while (not seen or seen[-LOOKS:] != seen[-1:] * LOOKS) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS if seen else 0)
        seen.append({(part.id, part.state_id) for part in _all_parts(client, chosen, TaskRunFilter())})


def _close_parts(client: SyncPrefectClient, message: str, closed: Collection[UUID]) -> None:
    """Close the unfinished task runs of flow runs of ours that crashed, here or elsewhere, or ended a while ago."""
    latest = FlowRunFilterEndTime(before_=clock() - LATEST_WORD)
    over = [FlowRunFilter(state=_in([StateType.CRASHED])), FlowRunFilter(state=_in(ENDED), end_time=latest)]
    unfinished = TaskRunFilter(state=TaskRunFilterState(type=TaskRunFilterStateType(any_=UNFINISHED)))
    parts = [part for chosen in over for part in _all_parts(client, chosen, unfinished)]
    whole = {part.flow_run_id for part in parts if part.flow_run_id is not None}
    ours = {run_id for run_id in whole if run_id in closed or _is_ours(client, run_id)}
    for part in parts:
        if part.flow_run_id in ours:
            client.set_task_run_state(part.id, Crashed(message=message), force=True)


def _is_ours(client: SyncPrefectClient, run_id: UUID) -> bool:
    """Whether a flow run, or one that it is a part of, has a tag of ours."""
    run = client.read_flow_run(run_id)
    if any(tag == TAG or tag.startswith(OWNED_BY) for tag in run.tags):
        return True
    around = _parent(client, run)
    return around is not None and _is_ours(client, around)


def drop_missed(deployment_id: UUID, at: datetime) -> int:
    """Take back the runs that were due while nothing was up; one run does for all."""
    with _server() as client:
        late = [run for run in _coming(client, [deployment_id]) if run.auto_scheduled and _moment(run) < at]
        for run in late:
            client.set_flow_run_state(run.id, Cancelled(message="nothing was up when it was due"), force=True)
    return len(late)


def crash_zombies() -> None:
    """Have the server close runs whose heartbeat stopped; made if it is not there."""
    trigger = EventTrigger(
        after={"prefect.flow-run.heartbeat"},
        expect={"prefect.flow-run.*"},
        match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=HEARTBEATS_MISSED,
    )
    # not by force: a run that has ended, which the server may not have heard of under load, stays as it ended
    crashed = ChangeFlowRunState(state=StateType.CRASHED, message="its heartbeat stopped: its process is gone")
    with _server() as client:
        if not client.read_automations_by_name(ZOMBIES):
            client.create_automation(AutomationCore(name=ZOMBIES, trigger=trigger, actions=[crashed]))


def start(name: str, parameters: Mapping[str, Any]) -> UUID:
    """Have the server run a schedule's flow now; the id of the run."""
    with _server() as client:
        deployment = client.read_deployment_by_name(f"{FLOW}/{name}")
        return client.create_flow_run_from_deployment(
            deployment.id, parameters={**deployment.parameters, **parameters}
        ).id


def names() -> list[str]:
    """The schedules that the server has."""
    return [planned.name for planned in plans()]


def conf_of(name: str) -> str | None:
    """The study file that a schedule runs; None if there is no such schedule."""
    with _server() as client:
        try:
            return str(client.read_deployment_by_name(f"{FLOW}/{name}").parameters["conf"])
        except ObjectNotFound:
            return None


def wait_for(run_id: UUID, seconds_between: float = 1.0) -> State[Any]:
    """The state in which a run ends."""
    with _server() as client:
        while True:
            state = client.read_flow_run(run_id).state
            if state is not None and state.is_final():
                return state
            time.sleep(seconds_between)


def plans() -> list[Planned]:
    """Every schedule of the server, with its next time."""
    with _server() as client:
        deployments = sorted(_deployments(client), key=lambda one: one.name)
        going = {run.deployment_id for run in _all_runs(client, _of([one.id for one in deployments], UNDER_WAY))}
    coming = coming_runs({one.id: one.name for one in deployments})
    next_at = {name: min(map(_moment, runs)) for name, runs in coming.items()}
    return [
        Planned(one.name, one.id, _is_active(one), next_at.get(one.name), is_going=one.id in going)
        for one in deployments
    ]


def switches() -> dict[str, Switch]:
    """How each schedule stands on the server, where a person may have paused it or its deployment."""
    with _server() as client:
        return {deployment.name: _switch(deployment) for deployment in _deployments(client)}


def _is_active(deployment: DeploymentResponse) -> bool:
    return any(schedule.active for schedule in deployment.schedules)


def _switch(deployment: DeploymentResponse) -> Switch:
    is_active = not deployment.paused and _is_active(deployment)
    touched = [one.updated.timestamp() for one in (deployment, *deployment.schedules) if one.updated is not None]
    return Switch(not is_active, datetime.fromtimestamp(max(touched, default=0), UTC))


def set_active(name: str, is_active: bool) -> None:
    """Pause or resume a schedule on the server; runs that it has put down already are taken back."""
    with _server() as client:
        deployment = client.read_deployment_by_name(f"{FLOW}/{name}")
        if is_active and deployment.paused:
            client.resume_deployment(deployment.id)
        for schedule in deployment.schedules:
            client.update_deployment_schedule(deployment.id, schedule.id, active=is_active)


def coming_runs(ids: Mapping[UUID, str]) -> dict[str, list[FlowRun]]:
    """The runs that the server has put down for later, by schedule; `ids` has the name of each deployment."""
    found: dict[str, list[FlowRun]] = {}
    with _server() as client:
        for run in _coming(client, list(ids)):
            assert run.deployment_id is not None
            found.setdefault(ids[run.deployment_id], []).append(run)
    return found


def due_runs(ids: Mapping[UUID, str], at: datetime) -> dict[str, StateType]:
    """The schedules with a run that is due and not over, and how it stands: scheduled while it waits for its turn."""
    with _server() as client:
        runs = _all_runs(client, _of(list(ids), [StateType.SCHEDULED, *UNDER_WAY], until=at))
    return {ids[run.deployment_id]: run.state_type for run in runs if run.deployment_id and run.state_type}


def _coming(client: SyncPrefectClient, ids: list[UUID]) -> Sequence[FlowRun]:
    return _all_runs(client, _of(ids, [StateType.SCHEDULED]))


def _of(ids: list[UUID], kinds: list[StateType], until: datetime | None = None) -> FlowRunFilter:
    """The runs of deployments in states of some kinds; of those due until a moment, if one is given."""
    due = None if until is None else FlowRunFilterExpectedStartTime(before_=until)
    return FlowRunFilter(deployment_id=FlowRunFilterDeploymentId(any_=ids), state=_in(kinds), expected_start_time=due)


def _deployments(client: SyncPrefectClient) -> list[DeploymentResponse]:
    """The schedules that we put on the server."""
    ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    return _all_pages(partial(client.read_deployments, deployment_filter=ours))


def _is_orphan(run: FlowRun, deployments: Mapping[UUID, Any]) -> bool:
    deployment = deployments.get(run.deployment_id) if run.deployment_id else None
    is_served = deployment is not None and TAG in deployment.tags and deployment.work_pool_name is None
    return is_served or has_lost_its_owner(run.tags)


def _parent(client: SyncPrefectClient, run: FlowRun) -> UUID | None:
    """The run that a run is a part of."""
    if run.parent_task_run_id is None:
        return None
    return client.read_task_run(run.parent_task_run_id).flow_run_id


def _all_runs(client: SyncPrefectClient, chosen: FlowRunFilter) -> Sequence[FlowRun]:
    return _all_pages(partial(client.read_flow_runs, flow_run_filter=chosen))


def _all_parts(client: SyncPrefectClient, of: FlowRunFilter, chosen: TaskRunFilter) -> Sequence[TaskRun]:
    return _all_pages(partial(client.read_task_runs, flow_run_filter=of, task_run_filter=chosen))


def _all_pages(read: Callable[..., list[Read]]) -> list[Read]:
    """All that the server has, which gives a page at a time."""
    found: list[Read] = []
    while len(more := read(limit=PAGE, offset=len(found))) == PAGE:
        found += more
    return found + more


def _in(kinds: list[StateType]) -> FlowRunFilterState:
    return FlowRunFilterState(type=FlowRunFilterStateType(any_=kinds))


def _moment(run: FlowRun) -> datetime:
    assert run.expected_start_time is not None
    return datetime.fromtimestamp(run.expected_start_time.timestamp(), UTC)
