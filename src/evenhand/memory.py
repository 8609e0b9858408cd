"""How much memory a stretch of work took at its highest."""

import threading
from types import TracebackType
from typing import Self

import psutil

STEP_SECONDS = 0.02


class PeakMemory:
    """Watches the process while the block runs; `rise_mb` is how far `highest_mb` lies above the start.

    Threads share their process, so what ran beside the block counts too: an upper bound, exact with one worker.
    """

    def __init__(self) -> None:
        self.rise_mb = self.highest_mb = 0.0
        self._process = psutil.Process()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self._start = self._highest = self._process.memory_info().rss
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._watcher.join()
        self._look()
        self.rise_mb, self.highest_mb = (self._highest - self._start) / 2**20, self._highest / 2**20

    def _watch(self) -> None:
        while not self._ended.wait(STEP_SECONDS):
            self._look()

    def _look(self) -> None:
        self._highest = max(self._highest, self._process.memory_info().rss)
