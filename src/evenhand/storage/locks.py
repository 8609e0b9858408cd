"""Locks that end with the process that holds them, however it ends: the kernel lets go of them."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import psutil

from evenhand.errors import PlaceError
from evenhand.runtime.fault_injection import around
from evenhand.runtime.io_errors import writing
from evenhand.runtime.process_identity import boot_id
from evenhand.storage.artifact_store import home

LOOKED_AT_SECONDS = (0.0, 0.05, 0.1)  # whoever asks whether a lock is held has it for a moment
_open: set[int] = set()


class LockHeld(PlaceError):
    """The lock is held by another process."""


@contextmanager
def waiting(file: Path) -> Iterator[None]:
    """Hold the lock of a file, waiting for whoever has it."""
    with _opened(file) as number:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield


@contextmanager
def alone(file: Path, what: str) -> Iterator[None]:
    """Hold the lock of a file, or report who has it and since when."""
    with _opened(file) as number:
        if not any(_taken(number, after) for after in LOOKED_AT_SECONDS):
            raise LockHeld(f"{what} {_holder(file)}: wait until it has ended, or end it.")
        _write(number, {"pid": os.getpid(), "boot_id": boot_id(), "who": who(), "since": now()})
        yield


def is_held(file: Path) -> bool:
    """Whether a process holds the lock of a file at this moment."""
    if not file.exists():
        return False
    with _opened(file) as number:
        return not _taken(number)


@contextmanager
def one_run_of(study: str) -> Iterator[None]:
    """Hold a study for one run, with a database on all machines; a second one is refused, with who and since when."""
    from evenhand.storage.database_locks import alone_in_database

    what = f"study '{study}' is being run"
    with alone(home() / "locks" / f"{study}.lock", what), alone_in_database(study, what):
        yield


def who() -> str:
    """The person and the machine."""
    try:
        name = psutil.Process().username()
    except (KeyError, psutil.Error):
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"


def now() -> str:
    """This moment, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _taken(number: int, after: float = 0.0) -> bool:
    """Take a lock, if nobody holds it after some seconds."""
    time.sleep(after)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _opened(file: Path) -> Iterator[int]:
    """The file of a lock; it stays when the lock is gone, since removing it would let two hold one name."""
    _keep_from_children()
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    _open.add(number)
    try:
        yield number
    finally:
        if number in _open:
            _open.remove(number)
            fcntl.flock(number, fcntl.LOCK_UN)
            os.close(number)


@cache
def _keep_from_children() -> None:
    """A forked child shares its parent's locks and would hold them after the parent's death: it lets go at once."""
    os.register_at_fork(after_in_child=_close_all)


def _close_all() -> None:
    while _open:
        os.close(_open.pop())


@around("lock.write")
def _write(number: int, content: dict[str, object]) -> None:
    os.ftruncate(number, 0)
    os.pwrite(number, json.dumps(content).encode(), 0)


def _holder(file: Path) -> str:
    """Who holds a lock, as they wrote it down; they may be about to."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return f"by {found['who']} (process {found['pid']}) since {found['since']}"
    except (ValueError, KeyError, TypeError, OSError):
        return "by another process"
