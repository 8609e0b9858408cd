"""Whose process is whose, and what the killed leave behind."""

import json
import os
import subprocess
import sys

import psutil
import pytest

from evenhand.runtime.process_identity import (
    OWNED_BY,
    OWNER,
    TEMPORARY_SERVER,
    end_left_servers,
    has_lost_its_owner,
    is_alive,
    own_children,
    owner,
    owner_tag,
)

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def started():
    """Starts sleeping processes that carry a name, and ends them."""
    processes = []

    def start(name, *more):
        given = {**os.environ, OWNER: json.dumps(name)} if name else {**os.environ}
        processes.append(subprocess.Popen([*SLEEPS, *more], env=given))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def someone_gone():
    return {**owner(), "started": "0.00"}


def test_a_process_that_began_at_another_moment_or_boot_is_another_one():
    assert is_alive(owner())
    assert not is_alive(someone_gone())
    assert not is_alive({**owner(), "boot_id": "other"})
    assert not is_alive({**owner(), "pid": "no number"})


def test_a_run_of_another_machine_is_nobodys_business_where_a_server_is_shared():
    pid, began, boot = owner_tag().removeprefix(OWNED_BY).split(":")
    gone, elsewhere = (f"{OWNED_BY}{pid}:{each}" for each in (f"0.00:{boot}", f"{began}:other"))

    for tag, here, anywhere in ((owner_tag(), False, False), (gone, True, True), (elsewhere, False, True)):
        assert has_lost_its_owner([tag], only_here=True) == here
        assert has_lost_its_owner([tag]) == anywhere


def test_a_process_that_died_and_was_not_taken_note_of_is_gone(started):
    process = started(None)
    began = f"{psutil.Process(process.pid).create_time():.2f}"
    name = {**owner(), "pid": str(process.pid), "started": began}

    was_alive = is_alive(name)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended and stays a zombie

    assert (was_alive, is_alive(name)) == (True, False)


def test_only_servers_of_processes_that_are_gone_are_ended(started):
    left = started(someone_gone(), TEMPORARY_SERVER)
    kept = [started(owner(), TEMPORARY_SERVER), started(None, TEMPORARY_SERVER), started(someone_gone())]

    assert left.pid in end_left_servers()

    assert not psutil.pid_exists(left.pid)
    assert [process.poll() for process in kept] == [None] * 3


def test_children_carry_the_name_of_their_parent(monkeypatch):
    monkeypatch.setenv(OWNER, "")

    own_children()

    child = subprocess.check_output([sys.executable, "-c", f"import os; print(os.environ['{OWNER}'])"])
    assert json.loads(child) == owner()
