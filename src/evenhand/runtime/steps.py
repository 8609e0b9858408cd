"""What a function must become to be a box of the DAG, and how long the boxes of a run took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.context import TagsContext
from prefect.utilities.annotations import quote

from evenhand.records.decision import Stage
from evenhand.runtime.memory import PeakMemory
from evenhand.runtime.process_identity import OWNED_BY
from evenhand.runtime.progress import report_progress

Function = TypeVar("Function", bound=Callable[..., Any])
Remote = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
_remote: ContextVar[Remote | None] = ContextVar("remote", default=None)
_stages: ContextVar[list[Stage] | None] = ContextVar("stages", default=None)


class Step(Task[Any, Any]):
    """A Prefect task whose arguments are records, never futures, and whose results our own store keeps.

    Arguments are quoted: Prefect would otherwise walk through every field of every record of every call, twice.
    """

    n_called = 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the task here and now, and report to whoever listens when it begins and ends."""
        Step.n_called += 1
        report_progress(self.name, 0, 1)
        quoted = {key: quote(one) for key, one in named.items()}
        with stage(self.name) as results, _naming(self.fn.__module__), without_owner():
            results.append(super().__call__(*map(quote, arguments), **quoted))
        report_progress(self.name, 1, 1, is_reused=getattr(results[0], "reused", False))
        return results[0]

    def submit(self, *arguments: Any, **named: Any) -> Any:
        """Hand the task to the flow's runner."""
        Step.n_called += 1
        with without_owner():
            return super().submit(*map(quote, arguments), **{name: quote(value) for name, value in named.items()})


def without_owner() -> TagsContext:
    """A block whose runs have no tag of the process that works on them: the run around them has it for all."""
    return TagsContext(current_tags={tag for tag in TagsContext.get().current_tags if not tag.startswith(OWNED_BY)})


@contextmanager
def _naming(module: str) -> Iterator[None]:
    """Keep with an error in which stage it came up: its traceback may be lost on its way through Prefect."""
    try:
        yield
    except Exception as error:
        error.stage = module  # type: ignore[attr-defined]
        raise


def step(name: str, *, anywhere: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Step]:
    """A decorator that makes a function the box of that name; `options` are those of a Prefect task.

    `anywhere`: it reads and writes nothing but the store, so that another machine can do it.
    """

    given = {"name": name, "task_run_name": name, "cache_policy": NO_CACHE, "persist_result": False, **options}
    return lambda function: Step(_placed(function) if anywhere else function, **given)


@contextmanager
def sending(call: Remote) -> Iterator[None]:
    """Have `call` do what can be done anywhere, in the block and in threads that are started in it."""
    token = _remote.set(call)
    try:
        yield
    finally:
        _remote.reset(token)


def sent_by() -> Remote | None:
    """What does elsewhere what can be done anywhere; None where all is done here."""
    return _remote.get()


def _placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is done here, or by a cluster where one is in use; `here` is the function itself."""

    @wraps(function)
    def placed(*arguments: Any, **named: Any) -> Any:
        remote = sent_by()  # not the context itself, which cannot be sent to a process
        return function(*arguments, **named) if remote is None else remote(function, arguments, named)

    placed.here = function  # type: ignore[attr-defined]
    return placed


@contextmanager
def keeping_stages() -> Iterator[list[Stage]]:
    """A list that every stage of the block is added to when it ends."""
    stages: list[Stage] = []
    token = _stages.set(stages)
    try:
        yield stages
    finally:
        _stages.reset(token)


@contextmanager
def stage(name: str) -> Iterator[list[Any]]:
    """Time the block as a stage, if anybody keeps them; results that it adds to the list are counted."""
    results: list[Any] = []
    if (stages := _stages.get()) is None:
        yield results
        return
    began = time.perf_counter()
    with PeakMemory() as memory:
        yield results
    reused = [each.reused for each in results if hasattr(each, "reused")]
    done, found = (len(reused) - sum(reused), sum(reused)) if reused else (None, None)
    stages.append(Stage(name, time.perf_counter() - began, done, found, memory.highest_mb))
