import fcntl
import json
import os
import re
import socket
import subprocess
import sys

import psutil
import pytest
from makers import make_study

from evenhand.runtime.process_identity import boot_id
from evenhand.storage import locks
from evenhand.storage.locks import LockHeld, alone, is_held, one_run_of, waiting, who
from evenhand.tasks.recording import opened

HOLDER = """
import sys
from pathlib import Path
from evenhand.storage.locks import alone
with alone(Path(sys.argv[1]), "it is held"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of `file`, until it is ended."""
    file = tmp_path / "thing.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process, file
    process.kill()
    process.communicate()


def test_the_second_is_reported_who_holds_it_and_since_when(holder):
    process, file = holder

    told = rf"it is held by .+@.+ \(process {process.pid}\) since \d{{4}}-\d\d-\d\dT"
    with pytest.raises(LockHeld, match=told), alone(file, "it is held"):
        pytest.fail("two hold the lock")


def test_nobody_may_run_the_file_of_a_lock(tmp_path):
    with alone(tmp_path / "it.lock", "it is held"):
        mode = (tmp_path / "it.lock").stat().st_mode

    assert mode & 0o111 == 0


def test_a_killed_holder_holds_nothing(holder):
    process, file = holder
    process.kill()
    process.wait()

    with alone(file, "it is held"):
        content = file.read_text()

    assert f'"pid": {os.getpid()}' in content
    assert boot_id() in content
    assert who() in content


FORKING = """
import os, sys
from pathlib import Path
from evenhand.storage.locks import alone
with alone(Path(sys.argv[1]), "it is held"):
    if not os.fork():
        print(os.getpid(), flush=True)
    sys.stdin.read()
"""


def test_a_forked_child_does_not_keep_the_lock_of_its_dead_parent(tmp_path):
    file = tmp_path / "thing.lock"
    parent = subprocess.Popen(
        [sys.executable, "-c", FORKING, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()

    with alone(file, "it is held"):
        os.kill(child, 0)

    parent.stdin.close()
    assert parent.stdout.read() == ""


def test_a_child_forked_here_closes_the_lock_at_once(tmp_path):
    with alone(tmp_path / "thing.lock", "it is held"):
        child = os.fork()
        if not child:
            os._exit(len(locks._open))
        _, status = os.waitpid(child, 0)

        assert len(locks._open) == 1

    assert locks._open == set()  # or another child would close what has the number by then
    assert os.waitstatus_to_exitcode(status) == 0


def test_the_folder_of_a_lock_is_made(tmp_path):
    file = tmp_path / "one" / "more" / "thing.lock"

    with waiting(file):
        assert is_held(file)

    assert not is_held(file)
    assert not is_held(tmp_path / "never.lock")
    assert not (tmp_path / "never.lock").exists()


@pytest.fixture
def waits(monkeypatch):
    """The seconds that were waited, of which none pass."""
    found = []
    monkeypatch.setattr(locks.time, "sleep", found.append)
    return found


def test_whoever_only_looks_does_not_wait(tmp_path, waits):
    file = tmp_path / "thing.lock"
    file.touch()

    assert not is_held(file)
    assert waits == [0.0]


def test_a_lock_that_was_only_looked_at_is_had_at_the_third_try(tmp_path, monkeypatch):
    file, tries = tmp_path / "thing.lock", []
    looker = os.open(file, os.O_RDWR | os.O_CREAT)
    fcntl.flock(looker, fcntl.LOCK_EX)

    def pass_by(seconds):
        tries.append(seconds)
        if len(tries) == 3:
            fcntl.flock(looker, fcntl.LOCK_UN)

    monkeypatch.setattr(locks.time, "sleep", pass_by)

    with alone(file, "it is held"):
        assert tries == [0.0, 0.05, 0.1]
    os.close(looker)


def test_a_lock_that_is_kept_is_given_up_after_three_tries(holder, waits):
    _, file = holder

    with pytest.raises(LockHeld), alone(file, "it is held"):
        pytest.fail("two hold the lock")

    assert waits == [0.0, 0.05, 0.1]
    assert is_held(file)


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_a_holder_that_has_not_written_its_name_yet_is_another_process(tmp_path, waits, content):
    file = tmp_path / "thing.lock"
    file.write_text(content)

    with waiting(file), pytest.raises(LockHeld, match="it is held by another process: wait until"):  # noqa: SIM117
        with alone(file, "it is held"):
            pytest.fail("two hold the lock")


def test_the_name_of_a_holder_replaces_a_longer_one(tmp_path):
    file = tmp_path / "thing.lock"
    file.write_text("x" * 1000)

    with alone(file, "it is held"):
        assert json.loads(file.read_text()).keys() == {"pid", "boot_id", "who", "since"}


def test_a_user_without_a_name_is_known_by_a_number(monkeypatch):
    def nameless(self):
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(psutil.Process, "username", nameless)

    assert who() == f"{os.getuid()}@{socket.gethostname()}"


def test_an_error_inside_lets_go(tmp_path):
    with pytest.raises(ZeroDivisionError), alone(tmp_path / "thing.lock", "it is held"):
        raise ZeroDivisionError

    with alone(tmp_path / "thing.lock", "it is held"):
        pass
    with waiting(tmp_path / "thing.lock"):
        pass


def test_a_study_is_run_once_at_a_time_and_another_beside_it(mlruns):
    told = r"study 'first' is being run by .+ since .+: wait until it has ended, or end it"
    with (
        opened(make_study(name="first")),
        opened(make_study(name="second")),
        pytest.raises(LockHeld, match=told),
        opened(make_study(name="first")),
    ):
        pytest.fail("two runs of one study")

    with one_run_of("first"):
        pass


def test_a_lock_that_was_held_leaves_no_open_file(tmp_path):
    before = psutil.Process().num_fds()

    for _ in range(20):
        with alone(tmp_path / "thing.lock", "it is held"):
            assert psutil.Process().num_fds() >= before + 1

    assert psutil.Process().num_fds() < before + 20


def test_the_moment_that_is_written_down_is_to_the_second_in_utc():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", locks.now())
