"""A line that moves on a terminal while a command has nothing to say yet."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from shutil import get_terminal_size
from threading import Event, Lock, Thread

FIRST_SECONDS, EVERY_SECONDS = 0.5, 0.5
MARKS = "-\\|/"


@contextmanager
def waiting(words: str) -> Iterator[None]:
    """Show on a terminal that a command is at work, and for how long; gone at the end of the block."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    is_over = Event()
    mover = Thread(target=_move, args=(words, is_over), daemon=True)
    mover.start()
    try:
        yield
    finally:
        is_over.set()
        mover.join()


@contextmanager
def waiting_reports(echo: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """What prints lines; before the first, and after each that ends in dots, a line moves until the next."""
    lock, now = Lock(), ExitStack()

    def report(line: str) -> None:
        with lock:
            now.close()
            echo(line)
            if line.endswith("..."):
                now.enter_context(waiting(line.removesuffix("...").rstrip()))

    with now:
        now.enter_context(waiting("loading"))
        yield report


def _move(words: str, is_over: Event) -> None:
    """The line again and again, each time with the cursor left at its start, so that other lines stand over it."""
    began, n_shown, line = time.monotonic(), 0, ""
    wait = FIRST_SECONDS
    while not is_over.wait(wait):
        line = f"{MARKS[n_shown % len(MARKS)]} {words} {time.monotonic() - began:.0f} s"[
            : get_terminal_size().columns - 1
        ]
        _write(f"{line}\r")
        n_shown, wait = n_shown + 1, EVERY_SECONDS
    if n_shown:
        _write(f"{' ' * len(line)}\r")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
