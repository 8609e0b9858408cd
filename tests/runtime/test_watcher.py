"""Nothing that a process started outlives it, however it ends; and a good end kills nothing."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from evenhand.runtime.process_identity import OWNER
from evenhand.runtime.watcher import GOOD_END, _bid_farewell

DEADLINE = 120  # seconds that a busy machine may take
CODE = """
import os, subprocess, sys
from evenhand.runtime.process_identity import own_children

own_children(); own_children()
ours = [] if "foreign" in sys.argv else ["-m evenhand"]
sleep = [sys.executable, "-c", "import time; time.sleep(600)", *ours]
nested = f"import subprocess, time; subprocess.Popen({sleep!r}, start_new_session=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", nested, *ours], start_new_session=True)
fork = os.fork() if "fork" in sys.argv else 1
if fork == 0:
    sys.stdin.read()
    os._exit(0)
print(os.environ["EVENHAND_OWNER"], flush=True)
sys.stdin.read()
"""


def started(*words):
    """A process with a child and a grandchild in sessions of their own, and the mark that they carry."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    mark = process.stdout.readline().strip()
    until(lambda: len(marked(mark)) == 3)  # the child, its own child, and the one that watches
    return process, mark


def until(is_true):
    deadline = time.monotonic() + DEADLINE
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def marked(mark):
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(OWNER) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def watcher_among(processes):
    return next(each for each in processes if "evenhand.runtime.watcher" in each.cmdline())


@pytest.mark.parametrize("words", [[], ["fork"]])
def test_after_kill_9_nothing_is_left(words):
    process, mark = started(*words)

    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    until(lambda: not marked(mark))
    process.stdin.close()  # a fork that is left ends now, and not before


def test_after_a_good_end_what_was_started_goes_on_and_only_the_watcher_ends():
    process, mark = started()
    watcher = watcher_among(marked(mark))

    process.stdin.close()
    process.wait()
    watcher.wait(DEADLINE)

    left = marked(mark)
    for each in left:
        each.kill()
    assert len(left) == 2


def test_what_a_person_started_from_the_same_program_is_left_alone():
    process, mark = started("foreign")
    watcher = watcher_among(marked(mark))

    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    watcher.wait(DEADLINE)

    left = marked(mark)
    for each in left:
        each.kill()
    assert len(left) == 2


def test_a_watcher_that_takes_long_to_end_is_no_error_at_the_end_of_a_program():
    sent = []

    def wait(timeout):
        raise subprocess.TimeoutExpired("watcher", timeout)

    _bid_farewell(SimpleNamespace(stdin=SimpleNamespace(write=sent.append, close=lambda: None), wait=wait))

    assert sent == [GOOD_END]
