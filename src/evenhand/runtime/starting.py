"""What the start of a program need not do: look for garbage among what never dies, import what it does not use."""

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from typing import Any

ALLOCATIONS = 100_000  # between two looks at young objects, for 700 of Python's own
NOT_USED = ("dask", "polars", "pytest")  # skops, MLflow and scikit-learn import these where they are installed
_own_process: list[bool] = []
_entry_points = metadata.entry_points


def seldom() -> None:
    """Look for garbage less often, and at the end not at all: the looks took a quarter of a quick run's time."""
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
    _own_process.append(True)


@contextmanager
def importing() -> Iterator[None]:
    """Look for no garbage while the block imports, and never again among what is alive by then.

    All that is installed is looked through for entry points once, not for each of a dozen who ask. Only in a process of
    our own, where `seldom` was called: garbage of another program would stay for ever.
    """
    if not (_own_process and gc.isenabled()):
        yield
        return
    n_before = len(sys.modules)
    gc.disable()
    metadata.entry_points = _chosen_entry_points
    try:
        yield
    finally:
        metadata.entry_points = _entry_points
        gc.enable()
        if len(sys.modules) > n_before:
            gc.freeze()


def _chosen_entry_points(**chosen: Any) -> Any:
    return _all_entry_points().select(**chosen)


@cache
def _all_entry_points() -> Any:  # of another kind in Python 3.11
    return _entry_points()


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Have imports of the block find none of these packages, as where they are not installed.

    Only in a process of our own, and of packages that nobody has imported yet; after the block all can be imported.
    """
    hidden = [name for name in names if name not in sys.modules] if _own_process else []
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None has an import fail
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
