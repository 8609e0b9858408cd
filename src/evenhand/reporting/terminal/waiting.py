"""What is shown while a command has nothing to say yet: a line that moves, or in a log one now and then."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from shutil import get_terminal_size
from threading import Event, Lock, Thread

import psutil

from evenhand.runtime.progress import Passing
from evenhand.runtime.text import printable

FIRST_SECONDS, EVERY_SECONDS = 0.5, 0.5
FIRST_LOG_SECONDS, LOG_SECONDS = 1.5, 10.0
MARKS = "-\\|/"


@contextmanager
def waiting(words: str | Callable[[], str]) -> Iterator[None]:
    """Show that a command is at work, and for how long: a line that is gone at the end, in a log some that stay."""
    if not (moves() or _is_kept()):
        yield
        return
    is_over = Event()
    way = _move if moves() else _log
    mover = Thread(target=way, args=(words if callable(words) else lambda: words, is_over), daemon=True)
    mover.start()
    try:
        yield
    finally:
        is_over.set()
        mover.join()


@contextmanager
def waiting_reports(echo: Callable[[str], None], idle: str = "") -> Iterator[Callable[[str], None]]:
    """What prints lines; before the first, and after each that ends in dots, a line moves until the next.

    With `idle` one moves after each: with what is under way, or with these words. Off a terminal what is under way
    is a line now and then.
    """
    lock, now, under_way = Lock(), ExitStack(), _UnderWay(idle)

    def report(line: str) -> None:
        with lock:
            if isinstance(line, Passing):
                under_way.note(line, echo)
                return
            now.close()
            echo(line)
            if line.endswith("..."):
                now.enter_context(waiting(line.removesuffix("...").rstrip()))
            elif idle and moves():
                now.enter_context(waiting(under_way.words))

    with now:
        now.enter_context(waiting("loading"))
        yield report


class _UnderWay:
    """What studies are at, each by its last line."""

    def __init__(self, idle: str) -> None:
        self._idle, self._lines, self._echoed_at = idle, dict[str, Passing](), dict[str, float]()

    def note(self, line: Passing, echo: Callable[[str], None]) -> None:
        """Keep the line for who moves it on a terminal; print it elsewhere, if the study is at it for a while."""
        self._lines = {**self._lines, line.study: line}
        if not line:
            self._echoed_at.pop(line.study, None)
            return
        now = time.monotonic()
        if now - self._echoed_at.setdefault(line.study, now) >= LOG_SECONDS and not moves():
            self._echoed_at[line.study] = now
            echo(line)

    def words(self) -> str:
        """What is under way; a process that was killed left its last line."""
        lines = [line for line in self._lines.values() if line and psutil.pid_exists(line.process)]
        return printable("; ".join(lines)) or self._idle


def moves() -> bool:
    """Whether lines can move where this process shows what it does."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _is_kept() -> bool:
    """Whether what is written goes to a file or a pipe, and not to who called this process's code."""
    try:
        return sys.stderr.fileno() >= 0
    except (AttributeError, OSError):  # no stream, or one in memory
        return False


def _log(words: Callable[[], str], is_over: Event) -> None:
    """A line soon, and then one now and then."""
    began, wait = time.monotonic(), FIRST_LOG_SECONDS
    while not is_over.wait(wait):
        _write(f"{words()}, {time.monotonic() - began:.0f} s ...\n")
        wait = LOG_SECONDS


def _move(words: Callable[[], str], is_over: Event) -> None:
    """The line again and again, each time with the cursor left at its start, so that other lines stand over it."""
    began, n_shown, line = time.monotonic(), 0, ""
    wait = FIRST_SECONDS
    while not is_over.wait(wait):
        width, n_before = get_terminal_size().columns - 1, len(line)
        line = f"{MARKS[n_shown % len(MARKS)]} {words()} {time.monotonic() - began:.0f} s"[:width]
        _write(f"{line.ljust(min(n_before, width))}\r")
        n_shown, wait = n_shown + 1, EVERY_SECONDS
    if n_shown:
        _write(f"{' ' * len(line)}\r")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
