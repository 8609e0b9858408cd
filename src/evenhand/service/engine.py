"""Where the boxes of a run are done: in threads or processes of this machine, or by the workers of a cluster."""

import os
from contextlib import ExitStack
from typing import Any, Self

from prefect.task_runners import TaskRunner

from evenhand.runtime.engines.side_by_side import Threads, local_runner
from evenhand.runtime.steps import sending
from evenhand.service.cluster import Cluster, connected
from evenhand.study.study import DaskEngine, Study

WAITING_THREADS = 64  # each waits for one call at a time


def runner(study: Study) -> TaskRunner[Any]:
    """The task runner that a study's `engine` and `workers` ask for."""
    if study.engine in {"threads", "processes"}:
        return local_runner(str(study.engine), study.workers)
    address = study.engine.dask if isinstance(study.engine, DaskEngine) else None
    return OnCluster(address, study.workers or os.cpu_count() or 1)


class OnCluster(Threads):
    """Threads of this process that each wait for a call on a worker of a cluster."""

    def __init__(self, address: str | None, n_workers: int) -> None:
        super().__init__(max_workers=WAITING_THREADS)
        self.address, self.n_workers = address, n_workers
        self._cluster: Cluster | None = None
        self._opened = ExitStack()

    def duplicate(self) -> Self:
        """Another of the same settings."""
        return type(self)(self.address, self.n_workers)

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self._cluster = opened.enter_context(connected(self.address, self.n_workers))
            opened.enter_context(sending(self._cluster))
            super().__enter__()
            self._opened = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *more: Any) -> None:
        if kind is not None and self._cluster is not None:
            self._cluster.cancel()
        try:
            super().__exit__(kind, *more)
        finally:
            self._opened.close()
