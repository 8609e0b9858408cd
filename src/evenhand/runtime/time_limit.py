"""Work that is given up when it takes too long."""

from collections.abc import Callable
from typing import TypeVar

from evenhand.runtime.event_loop import in_thread, raise_in

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
    thread, outcome = in_thread(work, "evenhand within a time limit")
    try:
        return outcome.result(seconds)
    except TimeoutError:
        if outcome.done():
            raise
        raise_in(thread, SystemExit)
        raise OutOfTime(f"{seconds:g} seconds") from None
