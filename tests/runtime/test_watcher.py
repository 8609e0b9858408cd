"""Nothing that a process started outlives it, however it ends; and a good end kills nothing."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from evenhand.runtime.process_identity import OWNER

SECONDS = 3.0
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
    import time
    time.sleep(6)
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
    deadline = time.monotonic() + 30
    while len(marked(mark)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    return process, mark


def marked(mark):
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(OWNER) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize("words", [[], ["fork"]])
def test_after_kill_9_nothing_is_left(words):
    process, mark = started(*words)
    before = len(marked(mark))

    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    deadline = time.monotonic() + SECONDS
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert before == 3  # the child, its own child, and the one that watches
    assert marked(mark) == []


def test_after_a_good_end_what_was_started_goes_on_and_only_the_watcher_ends():
    process, mark = started()

    process.stdin.close()
    process.wait()

    left = marked(mark)
    for each in left:
        each.kill()
    assert len(left) == 2


def test_what_a_person_started_from_the_same_program_is_left_alone():
    process, mark = started("foreign")
    watcher = next(each for each in marked(mark) if "evenhand.runtime.watcher" in each.cmdline())

    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    watcher.wait(30)

    left = marked(mark)
    for each in left:
        each.kill()
    assert len(left) == 2
