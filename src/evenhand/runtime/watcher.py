"""Ends what a killed process left: a small process that waits for the end of another one, whatever ends it.

It reads from a pipe whose other end only the watched process holds, so that the kernel reports its end at once.
"""

import os
import re
import subprocess
import sys
import time
from contextlib import suppress

GOOD_END = b"."
OURS = re.compile(
    r"-m (evenhand|prefect|mlflow|uvicorn)\b|\bmultiprocessing\.|\bloky\b|prefect\."
)  # not what a user started
ROUNDS, PAUSE_SECONDS = 20, 0.1


def watched(mark: str, value: str) -> None:
    """Have our processes whose environment has this mark killed, should this one end without a word."""
    import atexit

    watcher = subprocess.Popen(
        [sys.executable, "-m", __name__, mark, value],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    assert watcher.stdin is not None
    number = watcher.stdin.fileno()
    os.register_at_fork(after_in_child=lambda: os.close(number))  # else a fork would keep the pipe open
    atexit.register(_bid_farewell, watcher)


def _bid_farewell(watcher: "subprocess.Popen[bytes]") -> None:
    assert watcher.stdin is not None
    with suppress(OSError, subprocess.TimeoutExpired):  # on a busy machine it may end a little later
        watcher.stdin.write(GOOD_END)
        watcher.stdin.close()
        watcher.wait(timeout=5)


def main(mark: str, value: str) -> None:
    """Wait for the end of whoever started this process, and kill what it left."""
    if os.read(sys.stdin.fileno(), 1) == GOOD_END:
        return
    for _ in range(ROUNDS):
        if not _killed(mark, value):
            return
        time.sleep(PAUSE_SECONDS)


def _killed(mark: str, value: str) -> int:
    import psutil

    n_killed = 0
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_left = process.pid != os.getpid() and process.environ().get(mark) == value
            if is_left and OURS.search(" ".join(process.cmdline())) and process.status() != psutil.STATUS_ZOMBIE:
                process.kill()
                n_killed += 1
    return n_killed


if __name__ == "__main__":
    main(*sys.argv[1:])
