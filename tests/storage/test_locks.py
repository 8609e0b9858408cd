import os
import subprocess
import sys

import pytest
from makers import make_study

from evenhand.runtime.process_identity import boot_id
from evenhand.storage.locks import LockHeld, alone, one_run_of, waiting, who
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
