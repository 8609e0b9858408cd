"""Many calls of a task as few task runs: one does the calls of a candidate, fold after fold.

A task run costs about 20 ms of processor time in Prefect's client and server, whatever it does. A few hundred of them
are worth the boxes that they are in Prefect's pages; thousands of fits of some milliseconds are not.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
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
WAKE_SECONDS = 0.2


@dataclass(frozen=True)
class _Bundle:
    """Calls of one function, the queue that hears what came of each, and whether anybody still listens."""

    function: Callable[..., Any]
    calls: Mapping[Any, tuple[Any, ...]]
    heard: SimpleQueue[tuple[Any, Callable[[], Any]]]
    is_over: Event
    ended: set[Any] = field(default_factory=set)


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
            for what, keys in _by_candidate(calls).items():
                bundle = _Bundle(task.fn, {key: calls[key] for key in keys}, heard, is_over)
                name = (*what, counted(len(keys), "part")) if len(keys) > 1 else keys[0]
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


def _by_candidate(calls: Mapping[Key, Any]) -> dict[tuple[Any, ...], list[Key]]:
    """Keys that differ in their last part alone, which is the fold."""
    found: dict[tuple[Any, ...], list[Key]] = {}
    for key in calls:
        found.setdefault(key[:-1] if isinstance(key, tuple) else (key,), []).append(key)
    return found


def _in_turn(bundle: _Bundle) -> None:
    """One call after the other, until nobody listens; the first error is that of the task run, too."""
    errors = []
    for key, arguments in bundle.calls.items():
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
    for key in bundle.calls.keys() - bundle.ended:
        bundle.heard.put((key, partial(_outcome, future)))


def _outcome(future: PrefectFuture[Any]) -> Any:
    future.result()
    raise RuntimeError("a task run was completed before its work was done")
