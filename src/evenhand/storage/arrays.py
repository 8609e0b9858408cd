"""Arrays read from files, one at a time: threads that parse Python literals at once fail at random on Python 3.11.

numpy reads the header of an array as a Python literal. CPython 3.11 counts how deep `ast` is for all threads together
and raises `SystemError: AST constructor recursion depth mismatch` where two parse at once.
"""

import ast
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

Result = TypeVar("Result")
PAUSES = (0.0, 0.01, 0.1, 1.0)
_parsing, _mapping = threading.RLock(), threading.Lock()
_mapped: WeakValueDictionary[tuple[str | int, ...], np.ndarray] = WeakValueDictionary()


def read_array(file: Path, *, is_mapped: bool = False) -> np.ndarray:
    """An array of one file, read or mapped into memory; as long as a mapping is in use, it is that of all who ask.

    Pages count as memory of a process once for each mapping that touched them.
    """
    if not is_mapped:
        return _alone(lambda: np.load(file))
    found = file.stat()
    key = (str(file), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    with _mapping:
        if (array := _mapped.get(key)) is None:
            array = _mapped[key] = _alone(lambda: np.load(file, mmap_mode="r"))
    return array


def read_arrays(file: Path, *names: str) -> dict[str, np.ndarray]:
    """The arrays of one file by their names; all, or those named."""

    def read() -> dict[str, np.ndarray]:
        with np.load(file) as kept:
            return {name: kept[name] for name in names or kept.files}

    return _alone(read)


def read_sparse(file: Path) -> Any:
    """A sparse matrix, by rows."""
    from scipy import sparse

    return sparse.csr_matrix(_alone(lambda: sparse.load_npz(file)))


def parsed(source: str) -> ast.Module:
    """The syntax tree of some source."""
    return _alone(lambda: ast.parse(source))


def _alone(read: Callable[[], Result]) -> Result:
    """What is read while none of our threads parses; a library's thread may, so that it is tried again."""
    for pause in PAUSES:
        with suppress(SystemError), _parsing:
            return read()
        time.sleep(pause)
    with _parsing:
        return read()
