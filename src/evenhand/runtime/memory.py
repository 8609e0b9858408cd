"""How much memory a stretch of work took at its highest."""

import threading
import time
from types import TracebackType
from typing import Self

import psutil

STEP_SECONDS = 0.02


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
    return int(psutil.Process().memory_info().rss)


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
