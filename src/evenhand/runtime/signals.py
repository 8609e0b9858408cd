"""Ending in the middle at once, whatever still works in threads and child processes; and where that can be done."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from evenhand.errors import PlaceError

WINDOWS = (
    "Evenhand runs on Linux and macOS: its locks and signals are those of POSIX, which Windows lacks. "
    "Use it within WSL 2, the Linux that comes with Windows."
)
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a program the way Ctrl-C does."""


def unsupported() -> str:
    """Why this system cannot run studies, and what to do; empty where it can."""
    return WINDOWS if sys.platform == "win32" else ""


def check_system() -> None:
    """Refuse a system that cannot run studies."""
    if why := unsupported():
        raise PlaceError(why)


@contextmanager
def at_once() -> Iterator[None]:
    """Run a whole program; SIGTERM counts as Ctrl-C, and after either nobody waits for fits that go on."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except SystemExit as end:
        if end.code in {INTERRUPTED, TERMINATED}:
            _leave(int(end.code))
        raise


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Have what is started inside not hear Ctrl-C, which a terminal sends to children too: their parent ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


def _leave(code: int) -> NoReturn:
    """End the process without waiting for its threads, which may be fitting for minutes."""
    import psutil

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for child in psutil.Process().children(recursive=True):  # asked to end, Prefect's server writes tracebacks first
        with suppress(psutil.NoSuchProcess):
            child.kill()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
