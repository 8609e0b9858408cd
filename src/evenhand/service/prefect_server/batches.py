"""Task runs that Prefect's server writes together.

What it hears of a task run, three times for each, it writes by itself unless settings say otherwise; in a run of many
fits that is most of what it does. Its own batches wait for whole seconds until they are full, and so would whoever
waits for the last of them.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any

MOST, EVERY_SECONDS = 100, 0.05


def write_together() -> None:
    """Have what is heard of task runs written in batches, at once where one is full and after a moment otherwise.

    Sizes that settings name stay as they are.
    """
    from prefect.server.services import task_run_recorder

    consumer = task_run_recorder.consumer

    def together(**given: Any) -> AbstractAsyncContextManager[Any]:
        is_named = given["write_batch_size"] > 1
        return consumer(**given if is_named else {**given, "write_batch_size": MOST, "flush_every": EVERY_SECONDS})

    task_run_recorder.consumer = together  # type: ignore[assignment]
