"""Work that is given up when it takes too long."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

from evenhand.runtime.event_loop import raise_in

Result = TypeVar("Result")


class OutOfTime(Exception):
    """The work did not end in time."""


def shorter(one: float | None, other: float | None) -> float | None:
    """The shorter of two limits in seconds, of which either may be none."""
    given = [each for each in (one, other) if each is not None]
    return min(given) if given else None


def within(seconds: float | None, work: Callable[[], Result]) -> Result:
    """What a call comes to, if it ends within so many seconds; without a limit it is simply made.

    Python code ends at its next step. Compiled code cannot be ended from outside: its thread goes on by itself until
    it comes back or the process ends, and its result is dropped.
    """
    if seconds is None:
        return work()
    if seconds <= 0:
        raise OutOfTime("no time was left")
    outcome: Future[Result] = Future()
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="evenhand within a time limit", daemon=True)
    thread.start()
    try:
        return outcome.result(seconds)
    except TimeoutError:
        if outcome.done():
            raise
        raise_in(thread, SystemExit)
        raise OutOfTime(f"{seconds:g} seconds") from None
