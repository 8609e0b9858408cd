"""How long something has taken by the clock, from where a person would count, and the most memory it took."""

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_loaded = time.perf_counter()
_began: ContextVar[float | None] = ContextVar("began", default=None)


@contextmanager
def counting(since: float | None = None) -> Iterator[None]:
    """Count from a moment of `time.perf_counter`, or from now, unless somebody outside counts already."""
    if _began.get() is not None:
        yield
        return
    token = _began.set(time.perf_counter() if since is None else since)
    try:
        yield
    finally:
        _began.reset(token)


def began() -> float:
    """The moment that is counted from; now, where nobody counts."""
    found = _began.get()
    return time.perf_counter() if found is None else found


def process_began() -> float:
    """The moment that this process was started at; where the system does not say, when the program was loaded."""
    stat = Path("/proc/self/stat")
    if not stat.exists():
        return _loaded
    ticks = int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.perf_counter() - age


def elapsed() -> float:
    """The seconds since the moment that is counted from."""
    return time.perf_counter() - began()


def end_of(minutes: float | None, less: float = 0.0) -> float | None:
    """The moment, by the clock that processes share, so many seconds before so many minutes will have passed."""
    return None if minutes is None else time.time() + 60 * minutes - less - elapsed()


def seconds_until(moment: float | None) -> float | None:
    """The seconds until then, below 0 where it has passed; None where there is none."""
    return None if moment is None else moment - time.time()


def peak_mb() -> float:
    """The most memory that this process has held so far; the kernel's own count lags by some pages."""
    from evenhand.runtime.memory import PeakMemory

    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(highest / 2**20 if sys.platform == "darwin" else highest / 2**10, PeakMemory.most_seen / 2**20)
