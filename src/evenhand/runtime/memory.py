"""How much memory a stretch of work took at its highest, and who must wait until there is enough of it."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

STEP_SECONDS = 0.02
SHARE_USED = 0.8
OF_A_CONTAINER = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


class PeakMemory:
    """Watches the process while the block runs; `rise_mb` is how far `highest_mb` lies above the start.

    Threads share their process, so what ran beside the block counts too: an upper bound, exact with one worker.
    """

    most_seen = 0  # by all blocks of this process, in bytes

    def __init__(self) -> None:
        self.rise_mb = self.highest_mb = 0.0

    def __enter__(self) -> Self:
        self._start = self._highest = _in_use()
        _WATCHER.begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _WATCHER.end(self)
        self.see(_in_use())
        self.rise_mb, self.highest_mb = (self._highest - self._start) / 2**20, self._highest / 2**20

    def see(self, n_bytes: int) -> None:
        """Take note of what the process uses now."""
        self._highest = max(self._highest, n_bytes)
        PeakMemory.most_seen = max(PeakMemory.most_seen, n_bytes)


def _in_use() -> int:
    return int(_process(os.getpid()).memory_info().rss)


_process: Callable[[int], psutil.Process] = cache(psutil.Process)  # it looks up when the process began, each time


class _Watcher:
    """One thread that looks on behalf of all open blocks, and sleeps while there are none."""

    def __init__(self) -> None:
        self._open: list[PeakMemory] = []
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, block: PeakMemory) -> None:
        with self._lock:
            self._open.append(block)
            self._some.set()
            if self._thread is None or not self._thread.is_alive():  # it does not outlive a fork
                self._thread = threading.Thread(target=self._watch, daemon=True, name="memory")
                self._thread.start()

    def end(self, block: PeakMemory) -> None:
        with self._lock:
            self._open.remove(block)
            if not self._open:
                self._some.clear()

    def _watch(self) -> None:
        while self._some.wait():
            n_bytes = _in_use()
            with self._lock:
                for block in self._open:
                    block.see(n_bytes)
            time.sleep(STEP_SECONDS)


_WATCHER = _Watcher()


def free_bytes() -> int:
    """How much memory this machine, or the container that this is, could give now."""
    free = int(psutil.virtual_memory().available)
    try:
        most, used = (each.read_text(encoding="utf-8").strip() for each in OF_A_CONTAINER)
        return free if most == "max" else min(free, max(int(most) - int(used), 0))
    except (OSError, ValueError):
        return free


class _Room:
    """What is under way in this process and how much memory it was taken to need; alone, anything may begin."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way = self._taken = self._free = 0

    @contextmanager
    def taken(self, n_bytes: int) -> Iterator[None]:
        with self._changed:
            if not self._under_way:
                self._free = free_bytes()
            self._changed.wait_for(lambda: self._has(n_bytes))
            self._under_way, self._taken = self._under_way + 1, self._taken + n_bytes
        try:
            yield
        finally:
            with self._changed:
                self._under_way, self._taken = self._under_way - 1, self._taken - n_bytes
                self._changed.notify_all()

    def _has(self, n_bytes: int) -> bool:
        return not self._under_way or self._taken + n_bytes <= SHARE_USED * self._free


_ROOM = _Room()


def room_for(n_bytes: int) -> AbstractContextManager[None]:
    """A block that begins when there is memory for it beside what is under way in other threads of this process."""
    return _ROOM.taken(n_bytes)
