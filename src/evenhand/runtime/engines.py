"""Running one task over many inputs at once, and reporting how far it is."""

import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from prefect import Task
from prefect.futures import PrefectFuture
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner

from evenhand.runtime.boxes import ProgressArtifact, in_a_box, named
from evenhand.runtime.progress import report_progress
from evenhand.runtime.signals import deaf_to_ctrl_c
from evenhand.runtime.steps import stage

Key = TypeVar("Key", bound=Hashable)
Spares = Callable[[str, Any, Exception], bool]
WAKE_SECONDS = 0.2


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


def side_by_side(
    task: Task[..., Any], calls: Mapping[Key, tuple[Any, ...]], spares: Spares | None = None
) -> dict[Key, Any]:
    """The results of a task by the keys of its calls.

    The first failure ends the whole, unless `spares` takes note of it: that call then has no result.
    """
    return in_a_box(task.name, len(calls), partial(_side_by_side, task, calls, spares)) if calls else {}


def _side_by_side(task: Task[..., Any], calls: Mapping[Key, tuple[Any, ...]], spares: Spares | None) -> dict[Key, Any]:
    with deaf_to_ctrl_c():
        keys = {named(task, key).submit(*arguments): key for key, arguments in calls.items()}
    results: dict[Key, Any] = {}
    shown = ProgressArtifact(task.name, len(keys))
    report_progress(task.name, 0, len(keys))
    with stage(task.name) as done:
        for n_ended, future in enumerate(_as_completed(keys), 1):
            key = keys[future]
            try:
                results[key] = future.result()
                done.append(results[key])
            except Exception as error:
                if spares is None or not spares(task.name, key, error):
                    raise
            shown.advance(n_ended)
            report_progress(task.name, n_ended, len(keys), is_reused=getattr(results.get(key), "reused", False))
    return {key: results[key] for key in calls if key in results}


def _as_completed(futures: Mapping[PrefectFuture[Any], Any]) -> Iterator[PrefectFuture[Any]]:
    """Futures as they end; unlike Prefect's own waiting, this can be interrupted in a thread that is not the main."""
    ended: SimpleQueue[PrefectFuture[Any]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(ended.put)
    for _ in futures:
        yield _next_of(ended)


def _next_of(ended: SimpleQueue[PrefectFuture[Any]]) -> PrefectFuture[Any]:
    while True:
        try:
            return ended.get(timeout=WAKE_SECONDS)
        except Empty:
            continue
