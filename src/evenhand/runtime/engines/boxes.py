"""What Prefect's pages show of a stage: names of its parts, a flow of its own if there are many, and how far it is."""

import re
import time
from collections.abc import Callable, Hashable
from copy import copy
from typing import TypeVar
from uuid import UUID

from httpx import HTTPError
from prefect import Flow, Task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

from evenhand.runtime.logs import logger
from evenhand.runtime.steps import Step, without_owner
from evenhand.runtime.text import counted

Result = TypeVar("Result")
GROUPED = 12  # parts; fewer read well in the graph of the run itself
LONG_SECONDS, BETWEEN_SECONDS = 3.0, 5.0


def part_name(stage: str, key: Hashable) -> str:
    """A part of a stage as people call it: `fit svm/standard/smote fold 3` of ("svm/standard/smote", "fold_3")."""
    words = [str(each) for each in (key if isinstance(key, tuple) else (key,))]
    *what, where = words if len(words) > 1 else [*words, ""]
    return " ".join(filter(None, [stage, "/".join(what), where.replace("_", " ")]))


def named(task: Task[..., Result], key: Hashable) -> Task[..., Result]:
    """The task under the name of one of its parts."""
    found = copy(task)
    found.task_run_name = part_name(task.name, key).replace("{", "{{").replace("}", "}}")
    return found


def in_a_box(stage: str, n_parts: int, work: Callable[[], Result]) -> Result:
    """The work of a stage; of many parts it is a flow of its own, so that the graph of the run shows one box.

    It has the runner of the run around it, whose heartbeat stands for it too: the end of one takes a second.
    """
    outer = FlowRunContext.get()
    if n_parts < GROUPED or outer is None:
        return work()
    results: list[Result] = []

    def parts() -> None:
        inner = FlowRunContext.get()
        assert inner is not None
        with inner.model_copy(update={"task_runner": outer.task_runner}):
            results.append(work())

    name = f"{stage}: {counted(n_parts, 'part')}"
    Step.n_called += 1  # the box itself is a task run of the run around it
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}), without_owner():
        Flow(parts, name=f"stage {stage}", flow_run_name=name, validate_parameters=False)()
    return results[0]


class ProgressArtifact:
    """The progress of the parts of a stage; a server that cannot take it costs a line in the log, once."""

    def __init__(self, stage: str, n_parts: int) -> None:
        self._stage, self._n_parts, self._next_at = stage, n_parts, time.monotonic() + LONG_SECONDS
        self._id: UUID | None = None
        self._is_on = FlowRunContext.get() is not None

    def advance(self, n_done: int) -> None:
        """Show how many parts have ended, not more often than people look."""
        is_last = n_done == self._n_parts and self._id is not None
        if not self._is_on or (time.monotonic() < self._next_at and not is_last):
            return
        self._next_at = time.monotonic() + BETWEEN_SECONDS
        share = 100.0 * n_done / self._n_parts
        try:
            self._show(share, f"{self._stage}: {n_done:,} of {self._n_parts:,} parts")
        except (HTTPError, PrefectException) as failure:
            self._is_on = False
            logger().warning("progress of %s is not shown in Prefect: %s", self._stage, failure)

    def _show(self, share: float, words: str) -> None:
        if self._id is None:
            key = f"{re.sub('[^a-z0-9]+', '-', self._stage.lower())}-progress"
            made = create_progress_artifact(progress=share, key=key, description=words)
            assert isinstance(made, UUID)
            self._id = made
        else:
            update_progress_artifact(artifact_id=self._id, progress=share, description=words)
