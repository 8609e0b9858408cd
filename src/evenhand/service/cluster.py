"""Calls on workers of a Dask cluster: which worker takes which, what is done when one is lost, and what is released.

A box of the DAG is a Prefect task in a thread of this process, so that Prefect's pages show it as ever and workers need
to reach neither Prefect nor MLflow. Its thread waits for a worker that is free, soft on the one that has its inputs.
"""

import logging
import os
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from evenhand.errors import CandidateError, EvenhandError, PlaceError
from evenhand.records.reference import references
from evenhand.runtime.engines.remote_call import Outcome, call, packed, unpacked
from evenhand.runtime.logs import logger
from evenhand.runtime.progress import remark
from evenhand.storage.machine_identity import identity

ADDRESS = "DASK_SCHEDULER_ADDRESS"
PATIENCE_SECONDS, LOOK_SECONDS = 8.0, 0.5
SILENCE_SECONDS, LEFT_MINUTES = 10.0, 10.0  # without any worker: until it is said, and until the run ends
MEMORY = "memory"
LOCAL: dict[str, Any] = {
    "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0",
    "worker_dashboard_address": "127.0.0.1:0",
}  # fmt: skip
ROOM = 1.2  # what a call may take beyond what one like it took before
MB = 2**20
FEWEST_DEATHS = 2  # a call that was under way on one worker more when it was lost is not tried again
Function = Callable[..., Any]


class Cluster:
    """The workers of one scheduler, as one run uses them."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.own = identity()
        self._free = threading.Condition()
        self._busy: Counter[str] = Counter()
        self._workers: dict[str, dict[str, Any]] = {}
        self._refused: set[str] = set()
        self._looked_at = -1.0
        self._holders: defaultdict[str, set[str]] = defaultdict(set)
        self._took: dict[tuple[str, str], float] = {}
        self._under_way: dict[str, Any] = {}
        self._alone_since: float | None = None

    def check(self) -> None:
        """Refuse, before anything is made, workers that run or keep something else than this process."""
        if not (found := self._identities()):
            raise PlaceError(
                f"the Dask scheduler {self.client.scheduler.address} has no workers. Start some, such as "
                f"`dask worker {self.client.scheduler.address} --nthreads 1`, and run the command again."
            )
        if why := [words for address, its in found.items() if (words := self._differs(address, its))]:
            raise PlaceError(why[0])

    def __call__(self, function: Function, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What a function comes to on a worker, with its lines and remarks as if it had been called here."""
        kind = (function.__name__, str(getattr(arguments[0], "model", ""))) if arguments else (function.__name__, "")
        entries = {each.entry for each in references((arguments, list(named.values())))}
        with self._chosen(entries) as worker:
            sent = packed((arguments, named))
            outcome = self._outcome(function, sent, worker, self._resources(kind), arguments)
        for level, line in outcome.lines:
            logger().log(level, line)
        for box, words in outcome.remarks:
            if words:
                remark(box, words)
        if outcome.error is not None:
            raise outcome.error
        self._took[kind] = max(self._took.get(kind, 0.0), outcome.rise_mb)
        for each in references(outcome.result):
            self._holders[each.entry].add(worker)
        return outcome.result

    def cancel(self) -> None:
        """Have what is queued on the cluster not begin, and wait for nothing."""
        with suppress(Exception):  # the scheduler may be what was lost
            self.client.cancel(list(self._under_way.values()), force=True)

    def _outcome(
        self,
        function: Function,
        sent: bytes,
        worker: str,
        resources: dict[str, float],
        given: tuple[Any, ...],
    ) -> Outcome:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        key = f"{function.__name__}-{uuid.uuid4().hex}"
        future = self.client.submit(
            call, function.__module__, function.__name__, sent, key=key, workers=[worker], allow_other_workers=True,
            resources=resources or None, pure=False,
        )  # fmt: skip
        self._under_way[key] = future
        try:
            return unpacked(self._awaited(future))
        except KilledWorker as error:
            raise _deadly(function.__name__, given, error) from None
        except (FutureCancelledError, OSError, TimeoutError) as error:
            raise PlaceError(
                f"the Dask scheduler {self.client.scheduler.address} was lost: {error}. Start it and run the command "
                "again: what was finished is found."
            ) from None
        finally:
            del self._under_way[key]
            future.release()  # a future that is held is made again when its worker is lost

    def _awaited(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=SILENCE_SECONDS)
            except TimeoutError:
                self._expect_workers()

    def _expect_workers(self) -> None:
        """Say that there is no worker any more; end what waits for one where none comes."""
        if self.client.scheduler_info()["workers"]:
            self._alone_since = None
            return
        address, moment = self.client.scheduler.address, time.monotonic()
        with self._free:
            began, self._alone_since = self._alone_since, self._alone_since or moment
        if began is None:
            logger().warning(
                "the Dask scheduler %s has no workers left: waiting %g minutes for one", address, LEFT_MINUTES
            )
        elif moment - began > LEFT_MINUTES * 60:
            raise PlaceError(
                f"the Dask scheduler {address} has had no workers for {LEFT_MINUTES:g} minutes. Start some, such as "
                f"`dask worker {address} --nthreads 1`, and run the command again: what was finished is found."
            )

    @contextmanager
    def _chosen(self, entries: set[str]) -> Iterator[str]:
        """A worker with a free thread, of several the one that has most of the inputs."""
        with self._free:
            looked_at = time.monotonic()
            while not (free := self._free_workers()):
                self._free.wait(LOOK_SECONDS)
                if time.monotonic() - looked_at > SILENCE_SECONDS:
                    self._expect_workers()
                    looked_at = time.monotonic()
            worker = max(free, key=lambda each: (sum(each in self._holders[name] for name in entries), free[each]))
            self._busy[worker] += 1
        try:
            yield worker
        finally:
            with self._free:
                self._busy[worker] -= 1
                self._free.notify()

    def _free_workers(self) -> dict[str, int]:
        """The workers with threads that this run does not use, and how many."""
        if time.monotonic() - self._looked_at > LOOK_SECONDS:
            self._look()
        free = {address: its["nthreads"] - self._busy[address] for address, its in self._workers.items()}
        return {address: n_threads for address, n_threads in free.items() if n_threads > 0}

    def _look(self) -> None:
        """Which workers there are now; one that came later is used if it passes the check."""
        found = self.client.scheduler_info()["workers"]
        known = set(self._workers)
        fresh = set(found) - known - self._refused
        for address, its in self._identities(list(fresh)).items() if fresh else ():
            known.add(address)
            if words := self._differs(address, its):
                logging.getLogger("evenhand").warning("not used: %s", words)
                self._refused.add(address)
        self._workers = {address: found[address] for address in found if address in known - self._refused}
        self._looked_at = time.monotonic()

    def _identities(self, workers: list[str] | None = None) -> dict[str, Any]:
        """What workers are; one that cannot be reached is lost, which the scheduler may not have noticed yet."""
        found = self.client.run(identity, workers=workers, on_error="return")
        return {address: its for address, its in found.items() if not isinstance(its, OSError)}

    def _differs(self, address: str, its: dict[str, Any]) -> str:
        """Why a worker must not be used; empty where it may."""
        if isinstance(its, Exception):
            return f"worker {address} cannot run Evenhand: {its}. Install on it what this process has."
        own = self.own["versions"]
        for name in sorted(own.keys() | its["versions"].keys()):
            here, there = own.get(name, "none"), its["versions"].get(name, "none")
            if here != there:
                return (
                    f"worker {address} has {name} {there}, and this process has {here}. Install the same on both and "
                    "start the worker again."
                )
        if its["why"]:
            return f"worker {address} has no access to the store: {its['why']}"
        if its["store"] != self.own["store"]:
            return (
                f"worker {address} keeps results in '{its['store']}', and this process in '{self.own['store']}'. Set "
                "EVENHAND_STORE to one address for both, such as s3://bucket/prefix, and start the worker again."
            )
        return ""

    def _resources(self, kind: tuple[str, str]) -> dict[str, float]:
        """The memory that calls like this one took before, where workers say how much they have."""
        offered = [its["resources"].get(MEMORY) for its in self._workers.values() if its.get("resources")]
        most = max((each for each in offered if each), default=0.0)
        if not most or kind not in self._took:
            return {}
        return {MEMORY: min(most, self._took[kind] * MB * ROOM)}


@contextmanager
def connected(address: str | None, n_workers: int) -> Iterator[Cluster]:
    """The cluster at an address, else at the one of the environment, else one of this machine for the time of a run."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise PlaceError("engine: dask needs Dask. Install evenhand[dask], or set engine: threads.") from None
    logging.getLogger("distributed").setLevel(logging.ERROR)
    scheduler = address or os.environ.get(ADDRESS)
    with dask.config.set({"distributed.scheduler.allowed-failures": FEWEST_DEATHS, "distributed.worker.daemon": False}):
        local = None if scheduler else LocalCluster(n_workers=n_workers, **LOCAL)
        try:
            client = Client(scheduler or local, timeout=PATIENCE_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise PlaceError(
                f"no Dask scheduler answers at '{scheduler}': {' '.join(str(error).split())}. Start one with `dask "
                f"scheduler`, fix engine or {ADDRESS}, or set engine: threads."
            ) from None
        try:
            found = Cluster(client)
            found.check()
            yield found
        finally:
            client.close(timeout=2)
            if local is not None:
                local.close(timeout=5)


def _deadly(name: str, arguments: tuple[Any, ...], error: Any) -> EvenhandError:
    """What is reported of a call whose worker was lost again and again."""
    candidate = getattr(arguments[0], "name", "") if arguments else ""
    cause = (
        f"{name} was under way on {FEWEST_DEATHS + 1} workers when each was lost, the last "
        f"{error.last_worker.address}, most likely for lack of memory"
    )
    if not candidate:
        return PlaceError(f"{cause}. Give workers more memory, or let fewer run on each machine.")
    found = CandidateError(
        f"candidate '{candidate}' cannot be fitted: {cause}. Give workers more memory, or take it out."
    )
    found.cause, found.is_lasting = cause, False
    return found
