"""Running one task over many inputs at once, and reporting how far it is."""

import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from prefect import Task
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner

from evenhand.errors import CandidateError
from evenhand.runtime.engines.boxes import ProgressArtifact, in_a_box, named
from evenhand.runtime.engines.bundles import MANY, bundled, next_of
from evenhand.runtime.progress import report_progress
from evenhand.runtime.signals import deaf_to_ctrl_c
from evenhand.runtime.steps import sent_by, stage

Key = TypeVar("Key", bound=Hashable)
Spares = Callable[[str, Any, Exception], bool]
KILLED = "its process was killed, perhaps by the machine for want of memory"


def local_runner(engine: str, workers: int | None) -> TaskRunner[Any]:
    """The task runner of this machine that is asked for; as many workers as cores where none are named."""
    kind = Processes if engine == "processes" else Threads
    return kind(max_workers=workers or os.cpu_count() or 1)


class _Hasty:
    """A runner that does not wait for what is under way when it is interrupted."""

    _executor: Any

    def __exit__(self, kind: type[BaseException] | None, *more: Any) -> None:
        if self._executor is not None and kind is not None and not issubclass(kind, Exception):
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
        super().__exit__(kind, *more)  # type: ignore[misc]


class Threads(_Hasty, ThreadPoolTaskRunner[Any]):
    """Threads of this process."""


class Processes(_Hasty, ProcessPoolTaskRunner):
    """Processes of their own."""

    @property
    def n_suspects(self) -> int:
        """How many calls may have been under way when a process was killed: one each, and one handed over."""
        return self._max_workers + 1

    def renew(self) -> None:
        """Start over with new processes: once one was killed, the others take no work any more."""
        self.__exit__(None, None, None)
        self.__enter__()


def side_by_side(
    task: Task[..., Any], calls: Mapping[Key, tuple[Any, ...]], spares: Spares | None = None
) -> dict[Key, Any]:
    """The results of a task by the keys of its calls.

    The first failure ends the whole, unless `spares` takes note of it: that call then has no result.
    """
    return in_a_box(task.name, len(calls), partial(_side_by_side, task, calls, spares)) if calls else {}


def _side_by_side(task: Task[..., Any], calls: Mapping[Key, tuple[Any, ...]], spares: Spares | None) -> dict[Key, Any]:
    results: dict[Key, Any] = {}
    shown = ProgressArtifact(task.name, len(calls))
    begun = bundled(task, calls) if _are_bundled(calls) else nullcontext(_ended(task, calls, _begun(task, calls)))
    with begun as outcomes, stage(task.name) as done:
        report_progress(task.name, 0, len(calls))  # when all is handed over, so that who listens can interrupt it
        for n_ended, (key, ended) in enumerate(outcomes, 1):
            try:
                results[key] = ended()
                done.append(results[key])
            except Exception as error:
                if spares is None or not spares(task.name, key, error):
                    raise
            shown.advance(n_ended)
            report_progress(task.name, n_ended, len(calls), is_reused=getattr(results.get(key), "reused", False))
    return {key: results[key] for key in calls if key in results}


def _are_bundled(calls: Mapping[Key, tuple[Any, ...]]) -> bool:
    """Whether calls share task runs: many of them, in threads of this process."""
    return len(calls) > MANY and isinstance(_runner(), Threads) and sent_by() is None


def _begun(task: Task[..., Any], calls: Mapping[Key, tuple[Any, ...]]) -> dict[PrefectFuture[Any], Key]:
    """Calls handed to the flow's runner."""
    with deaf_to_ctrl_c():
        return {named(task, key).submit(*arguments): key for key, arguments in calls.items()}


def _ended(
    task: Task[..., Any], calls: Mapping[Key, tuple[Any, ...]], keys: Mapping[PrefectFuture[Any], Key]
) -> Iterator[tuple[Key, Callable[[], Any]]]:
    """Calls as they end, each with what gives its result or raises its error.

    A process that is killed, for want of memory or by a person, takes the work of all others with it. Those that may
    have been under way are called again one by one, so that the one that ends its process is known, then the rest.
    """
    lost = set()
    can_be_lost = isinstance(_runner(), Processes)
    for future in _as_completed(keys):
        if can_be_lost and _is_lost(future):
            lost.add(keys[future])
        else:
            yield keys[future], future.result
    if lost:
        again = {key: arguments for key, arguments in calls.items() if key in lost}
        runner = _renewed_processes()
        for key in list(again)[: runner.n_suspects]:
            yield key, partial(_alone, task, again.pop(key), runner)
        yield from _ended(task, again, _begun(task, again))


def _is_lost(future: PrefectFuture[Any]) -> bool:
    """Whether a call has no outcome because a process of the pool was killed."""
    try:
        future.wait()
        future.result(raise_on_failure=False)
    except BrokenProcessPool:
        return True
    except Exception:  # raised again by who asks for the result
        return False
    return False


def _runner() -> TaskRunner[Any] | None:
    """What does the tasks of the run around, if there is one."""
    context = FlowRunContext.get()
    return None if context is None else context.task_runner


def _renewed_processes() -> Processes:
    runner = _runner()
    assert isinstance(runner, Processes)
    runner.renew()
    return runner


def _alone(task: Task[..., Any], arguments: tuple[Any, ...], runner: Processes) -> Any:
    """The result of a call while nothing else is under way."""
    try:
        return task.submit(*arguments).result()
    except BrokenProcessPool:
        runner.renew()
        error = CandidateError(f"{task.name}: {KILLED}. Lower workers, or take out what needs so much memory.")
        error.cause, error.is_lasting = KILLED, False
        raise error from None


def _as_completed(futures: Mapping[PrefectFuture[Any], Any]) -> Iterator[PrefectFuture[Any]]:
    """Futures as they end; unlike Prefect's own waiting, this can be interrupted in a thread that is not the main."""
    ended: SimpleQueue[PrefectFuture[Any]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(ended.put)
    for _ in futures:
        yield next_of(ended)
