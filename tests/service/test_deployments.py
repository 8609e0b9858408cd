"""What is closed on Prefect's server: runs whose process is gone, and task runs that nobody will finish."""

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.states import Cancelled, Completed, Crashed, Paused, Pending, Running, Scheduled

from evenhand.runtime.process_identity import OWNED_BY, boot_id, owner_tag
from evenhand.service import deployments
from evenhand.service.deployments import TAG, ZOMBIES, close_lost, crash_zombies

pytestmark = pytest.mark.xdist_group("prefect")

UNFINISHED = {
    "scheduled": Scheduled(),
    "retried": Scheduled(name="AwaitingRetry"),
    "pending": Pending(),
    "running": Running(),
    "paused": Paused(),
}


@flow
def nightly():
    pass


@task
def fit():
    pass


@pytest.fixture
def client(prefect_server, monkeypatch):
    monkeypatch.setattr(deployments, "LOOK_SECONDS", 0)
    with get_client(sync_client=True) as client:
        yield client


@pytest.fixture(scope="module")
def dead():
    """The tag of a process of this machine that is gone."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return f"{OWNED_BY}{process.pid}:1.00:{boot_id()}"


def begin(client, *tags, state=None, **parts):
    """A flow run in a state with task runs in theirs; the ids by name."""
    run = client.create_flow_run(nightly, tags=tags, state=Running())
    made = {
        name: client.create_task_run(fit, run.id, dynamic_key=name, name=name, state=each).id
        for name, each in parts.items()
    }
    if state is not None:
        client.set_flow_run_state(run.id, state, force=True)
    return run.id, made


def states(client, parts):
    return {name: client.read_task_run(part).state.type.value for name, part in parts.items()}


def test_a_dead_process_loses_its_run_with_every_task_run_that_is_not_finished(client, dead):
    run, parts = begin(client, dead, **UNFINISHED, done=Completed())

    close_lost()

    assert client.read_flow_run(run).state.is_crashed()
    assert states(client, parts) == {**dict.fromkeys(UNFINISHED, "CRASHED"), "done": "COMPLETED"}


@pytest.mark.parametrize("tag", ["owned", TAG])
def test_what_is_left_of_a_run_that_something_else_crashed_is_closed(client, dead, tag):
    _, parts = begin(client, dead if tag == "owned" else tag, state=Crashed(), **UNFINISHED)

    close_lost()

    assert states(client, parts) == dict.fromkeys(UNFINISHED, "CRASHED")


def test_what_is_left_of_a_box_of_a_run_that_something_else_crashed_is_closed(client):
    _, around = begin(client, TAG, state=Crashed(), box=Crashed())
    box = client.create_flow_run(nightly, state=Running(), parent_task_run_id=around["box"])
    part = client.create_task_run(fit, box.id, dynamic_key="part", name="part", state=Running()).id
    client.set_flow_run_state(box.id, Crashed(), force=True)

    close_lost()

    assert states(client, {"part": part}) == {"part": "CRASHED"}


def test_what_runs_inside_a_run_of_a_dead_process_is_closed_however_deep(client, dead):
    run, parts = begin(client, dead, box=Running())
    middle = client.create_flow_run(nightly, state=Running(), parent_task_run_id=parts["box"])
    box = client.create_task_run(fit, middle.id, dynamic_key="box", name="box", state=Running())
    inner = client.create_flow_run(nightly, state=Running(), parent_task_run_id=box.id)

    close_lost()

    assert {client.read_flow_run(each).state.type.value for each in (run, middle.id, inner.id)} == {"CRASHED"}


def test_a_run_that_has_ended_is_not_crashed_by_force_for_want_of_a_heartbeat(client):
    crash_zombies()

    (made,) = client.read_automations_by_name(ZOMBIES)

    assert [(action.state.value, action.force) for action in made.actions] == [("CRASHED", False)]


def test_runs_of_a_living_process_and_of_other_machines_are_left_alone(client):
    elsewhere = f"{OWNED_BY}{os.getpid()}:1.00:{uuid4()}"
    runs = [begin(client, tag, **UNFINISHED) for tag in (owner_tag(), elsewhere)]

    close_lost()

    for run, parts in runs:
        assert client.read_flow_run(run).state.is_running()
        assert "CRASHED" not in states(client, parts).values()


def test_crashed_runs_of_other_programs_are_left_alone(client):
    _, parts = begin(client, "somebody else's", state=Crashed(), **UNFINISHED)

    close_lost()

    assert "CRASHED" not in states(client, parts).values()


@pytest.mark.parametrize("ended", [Completed, Cancelled])
def test_the_last_words_of_a_run_that_has_just_ended_are_waited_for(client, dead, ended, monkeypatch):
    _, parts = begin(client, dead, state=ended(), running=Running())

    close_lost()

    assert states(client, parts) == {"running": "RUNNING"}
    in_two_minutes = datetime.now(UTC) + timedelta(minutes=2)
    monkeypatch.setattr(deployments, "clock", lambda: in_two_minutes)
    close_lost()
    assert states(client, parts) == {"running": "CRASHED"}


def test_a_run_that_ended_by_itself_after_it_was_read_keeps_its_state(client, dead, monkeypatch):
    run, _ = begin(client, dead, done=Completed())

    def ends_meanwhile(tags, only_here):
        client.set_flow_run_state(run, Completed(), force=True)
        return dead in tags

    monkeypatch.setattr(deployments, "has_lost_its_owner", ends_meanwhile)

    assert close_lost() == []
    assert client.read_flow_run(run).state.is_completed()


def test_a_task_run_that_the_server_writes_down_late_is_closed_too(client, dead, monkeypatch):
    run, parts = begin(client, dead)

    def written_late(seconds):
        if not parts:
            parts["late"] = client.create_task_run(fit, run, dynamic_key="late", state=Pending()).id

    monkeypatch.setattr(deployments, "time", SimpleNamespace(sleep=written_late, monotonic=time.monotonic))

    close_lost()

    assert states(client, parts) == {"late": "CRASHED"}


def test_more_task_runs_than_the_server_gives_at_once_are_closed(client, dead, monkeypatch):
    monkeypatch.setattr(deployments, "PAGE", 2)
    _, parts = begin(client, dead, **UNFINISHED)

    close_lost()

    assert states(client, parts) == dict.fromkeys(UNFINISHED, "CRASHED")
