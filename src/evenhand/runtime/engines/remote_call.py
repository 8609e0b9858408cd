"""What a worker of a cluster does: makes one call, and reports what it is. A scheduler reads this too: stdlib alone.

Arguments and results are bytes, so that neither the scheduler nor Dask's walk through collections looks into them.
"""

import logging
import pickle
import threading
import zlib
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Lines = list[tuple[int, str]]


@dataclass(frozen=True)
class Outcome:
    """What a call came to: a result or an error, lines and remarks for people, and how much memory it took."""

    result: Any
    error: Exception | None
    lines: Lines
    remarks: list[tuple[str, str]]
    rise_mb: float


def packed(content: Any) -> bytes:
    """Anything as few bytes."""
    return zlib.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL), 1)


def unpacked(content: bytes) -> Any:
    """What was packed by ourselves."""
    return pickle.loads(zlib.decompress(content))


def call(module: str, name: str, arguments: bytes) -> bytes:
    """What a step comes to here: its result or its error, the lines that it logged, and its remarks."""
    from evenhand.runtime.memory import PeakMemory
    from evenhand.runtime.progress import listening

    remarks: list[tuple[str, str]] = []
    with _Collected() as lines, listening(lambda each: remarks.append((each.box, each.remark))), PeakMemory() as memory:
        try:
            given, named = unpacked(arguments)
            found, error = getattr(import_module(module), name).fn.here(*given, **named), None
        except Exception as raised:
            found, error = None, _as_sent(raised, module)
    return packed(Outcome(found, error, lines, remarks, memory.rise_mb))


def _as_sent(error: Exception, module: str) -> Exception:
    """An error that can be read back where it is sent to, with the stage it came up in."""
    try:
        error.stage = module  # type: ignore[attr-defined]
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


class _Collected(logging.Handler):
    """The lines that one call logs to `evenhand`, one thread's apart from those of others."""

    def __enter__(self) -> Lines:
        self.lines: Lines = []
        self.thread = threading.get_ident()
        found = logging.getLogger("evenhand")
        found.addHandler(self)
        found.setLevel(logging.INFO)
        return self.lines

    def __exit__(self, *_: object) -> None:
        logging.getLogger("evenhand").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        if record.thread == self.thread:
            self.lines.append((record.levelno, record.getMessage()))
