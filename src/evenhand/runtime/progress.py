"""Progress: how far a run is, for whoever listens, without knowing who that is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StepProgress:
    """One box of the DAG: how much of it is done; `is_reused` where the newest part was found in the store."""

    box: str
    done: int
    planned: int
    is_reused: bool = False
    note: str = ""
    remark: str = ""


class Passing(str):
    """A line that stands until the next of the same study: how far its process is; without words that it has ended."""

    study: str
    process: int

    def __new__(cls, study: str, process: int, words: str) -> "Passing":
        """The line as people read it."""
        made = super().__new__(cls, f"{study}: {words}" if words else "")
        made.study, made.process = study, process
        return made


Listener = Callable[[StepProgress], None]
Judged = Callable[[str, Any], None]
_judged: ContextVar[Judged | None] = ContextVar("judged", default=None)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a listener called with every step inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(box: str, done: int, planned: int, *, is_reused: bool = False, note: str = "") -> None:
    """Call the listener, if there is one."""
    if (listener := _listener.get()) is not None:
        listener(StepProgress(box, done, planned, is_reused, note))


def remark(box: str, text: str) -> None:
    """Call the listener, if there is one, what a person should know of a box that is done with its work."""
    if (listener := _listener.get()) is not None:
        listener(StepProgress(box, 1, 1, remark=text))


@contextmanager
def showing(show: Judged) -> Iterator[None]:
    """Have the judgement of a run shown as soon as it is known: what comes after it may fail."""
    token = _judged.set(show)
    try:
        yield
    finally:
        _judged.reset(token)


def report_judged(study: str, judgement: Any) -> None:
    """Show the judgement of a study, if anybody wants to see it."""
    if (show := _judged.get()) is not None:
        show(study, judgement)
