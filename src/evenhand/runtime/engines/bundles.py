"""Many calls of a task as few task runs: one does the calls of a candidate, or of several, fold after fold.

A task run costs about 20 ms of processor time in Prefect's client and server, whatever it does. A hundred of them are
worth the boxes that they are in Prefect's pages; thousands of fits of some milliseconds are not. Of more candidates
each task run takes the next that nobody has begun: they are done in the order given, and no core waits at the end.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, TypeVar

from prefect import Task
from prefect.futures import PrefectFuture

from evenhand.runtime.engines.boxes import named
from evenhand.runtime.signals import deaf_to_ctrl_c
from evenhand.runtime.steps import step
from evenhand.runtime.text import counted

Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")
MANY = 200  # calls; fewer are a task run each
MOST = 100  # task runs of a stage
Calls = Mapping[Any, tuple[Any, ...]]
WAKE_SECONDS = 0.2


@dataclass(frozen=True)
class _Bundle:
    """What one task run does: the calls of so many candidates of those that wait; and who hears what came of each."""

    function: Callable[..., Any]
    waiting: deque[Calls]
    n_candidates: int
    heard: SimpleQueue[tuple[Any, Callable[[], Any]]]
    is_over: Event
    begun: list[Calls] = field(default_factory=list)
    ended: set[Any] = field(default_factory=set)

    def candidates(self) -> Iterator[Calls]:
        """The calls of the next candidates, up to the number of this bundle."""
        while len(self.begun) < self.n_candidates:
            try:
                self.begun.append(self.waiting.popleft())
            except IndexError:
                return
            yield self.begun[-1]


@contextmanager
def bundled(
    task: Task[..., Any], calls: Mapping[Key, tuple[Any, ...]]
) -> Iterator[Iterator[tuple[Key, Callable[[], Any]]]]:
    """Calls as they end, each with what gives its result or raises its error; after the block no other is begun."""
    heard: SimpleQueue[tuple[Any, Callable[[], Any]]] = SimpleQueue()
    is_over = Event()
    in_turn = step(task.name)(_in_turn)
    try:
        with deaf_to_ctrl_c():
            for name, waiting, n_candidates in _shares(_by_candidate(calls)):
                bundle = _Bundle(task.fn, waiting, n_candidates, heard, is_over)
                named(in_turn, name).submit(bundle).add_done_callback(partial(_lost, bundle))
        yield (next_of(heard) for _ in calls)
    finally:
        is_over.set()


def next_of(queue: SimpleQueue[Thing]) -> Thing:
    """What comes next in a queue; unlike its own waiting, this can be interrupted in a thread that is not the main."""
    while True:
        try:
            return queue.get(timeout=WAKE_SECONDS)
        except Empty:
            continue


def _by_candidate(calls: Mapping[Key, tuple[Any, ...]]) -> list[Mapping[Key, tuple[Any, ...]]]:
    """Calls whose keys differ in their last part alone, which is the fold."""
    found: dict[tuple[Any, ...], dict[Key, tuple[Any, ...]]] = {}
    for key, given in calls.items():
        found.setdefault(key[:-1] if isinstance(key, tuple) else (key,), {})[key] = given
    return list(found.values())


def _shares(candidates: list[Calls]) -> Iterator[tuple[Any, deque[Calls], int]]:
    """For each task run its name, from where it takes candidates, and how many."""
    if len(candidates) <= MOST:
        for each in candidates:
            first = next(iter(each))
            yield (*first[:-1], counted(len(each), "part")) if len(each) > 1 else first, deque([each]), 1
        return
    size = ceil(len(candidates) / MOST)
    n_shares, waiting = ceil(len(candidates) / size), deque(candidates)
    for place in range(1, n_shares + 1):
        yield (f"share {place} of {n_shares}", f"of {counted(len(candidates), 'candidate')}"), waiting, size


def _in_turn(bundle: _Bundle) -> None:
    """One call after the other, until nobody listens; the first error is that of the task run, too."""
    errors = []
    for key, arguments in (call for calls in bundle.candidates() for call in calls.items()):
        if bundle.is_over.is_set():
            return
        outcome: Future[Any] = Future()
        try:
            outcome.set_result(bundle.function(*arguments))
        except Exception as error:
            outcome.set_exception(error)
            errors.append(error)
        bundle.ended.add(key)
        bundle.heard.put((key, outcome.result))
    if errors:
        raise errors[0]


def _lost(bundle: _Bundle, future: PrefectFuture[Any]) -> None:
    """Have the calls that a task run did not come to end as it did, such as cancelled."""
    begun = [*bundle.begun, *bundle.candidates()]
    for key in (key for calls in begun for key in calls if key not in bundle.ended):
        bundle.heard.put((key, partial(_outcome, future)))


def _outcome(future: PrefectFuture[Any]) -> Any:
    future.result()
    raise RuntimeError("a task run was completed before its work was done")
