"""Arrays read from files, their headers one at a time and each kind once: fits read many small ones.

numpy reads the header of an array as a Python literal, which takes longer than a small array itself. Threads that do so
at once fail at random on Python 3.11: it counts how deep `ast` is for all threads together and raises `SystemError: AST
constructor recursion depth mismatch` where two parse at once.
"""

import ast
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary
from zipfile import ZipFile

import numpy as np

Result = TypeVar("Result")
Layout = tuple[int, tuple[int, ...], Literal["C", "F"], np.dtype[Any]]
PAUSES, MOST_HEAD = (0.0, 0.01, 0.1, 1.0), 256
_parsing, _mapping = threading.RLock(), threading.Lock()
_layouts: dict[bytes, Layout] = {}
_mapped: WeakValueDictionary[tuple[str | int, ...], np.ndarray] = WeakValueDictionary()


def read_array(file: Path, *, is_mapped: bool = False) -> np.ndarray:
    """An array of one file, read or mapped into memory; as long as a mapping is in use, it is that of all who ask.

    Pages count as memory of a process once for each mapping that touched them.
    """
    if not is_mapped:
        return _read(file)
    found = file.stat()
    key = (str(file), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    with _mapping:
        if (array := _mapped.get(key)) is None:
            array = _mapped[key] = _map(file)
    return array


def read_arrays(file: Path, *names: str) -> dict[str, np.ndarray]:
    """The arrays of one file by their names; all, or those named."""
    with ZipFile(file) as kept:
        return {
            name: _from_bytes(kept.read(f"{name}.npy")) for name in names or (each[:-4] for each in kept.namelist())
        }


def read_sparse(file: Path) -> Any:
    """A sparse matrix, by rows."""
    from scipy import sparse

    return sparse.csr_matrix(_alone(lambda: sparse.load_npz(file)))


def parsed(source: str) -> ast.Module:
    """The syntax tree of some source."""
    return _alone(lambda: ast.parse(source))


def _read(file: Path) -> np.ndarray:
    with file.open("rb") as opened:
        layout = _layout(opened.read(MOST_HEAD))
        if layout is None:
            return _alone(lambda: np.load(file))
        start, shape, order, dtype = layout
        opened.seek(start)
        return np.fromfile(opened, dtype, math.prod(shape)).reshape(shape, order=order)


def _map(file: Path) -> np.ndarray:
    with file.open("rb") as opened:
        layout = _layout(opened.read(MOST_HEAD))
    if layout is None or 0 in layout[1]:
        return _alone(lambda: np.load(file, mmap_mode="r"))
    start, shape, order, dtype = layout
    return np.memmap(file, dtype, "r", start, shape, order)


def _from_bytes(content: bytes) -> np.ndarray:
    if (layout := _layout(content[:MOST_HEAD])) is None:
        return _alone(lambda: np.load(BytesIO(content)))
    start, shape, order, dtype = layout
    if 0 in shape:
        return np.empty(shape, dtype, order)
    return np.frombuffer(content, dtype, math.prod(shape), start).reshape(shape, order=order).copy(order="K")


def _layout(beginning: bytes) -> Layout | None:
    """Where the numbers of a file begin, their shape, order and type; None where that is left to numpy."""
    if (
        beginning[:8] != np.lib.format.magic(1, 0)
        or (start := 10 + int.from_bytes(beginning[8:10], "little")) > MOST_HEAD
    ):
        return None
    head = beginning[:start]
    if (found := _layouts.get(head)) is None:
        shape, is_fortran, dtype = _alone(lambda: np.lib.format.read_array_header_1_0(BytesIO(head[8:])))
        if dtype.hasobject:
            return None
        found = _layouts[head] = (start, shape, "F" if is_fortran else "C", dtype)
    return found


def _alone(read: Callable[[], Result]) -> Result:
    """What is read while none of our threads parses; a library's thread may, so that it is tried again."""
    for pause in PAUSES:
        with suppress(SystemError), _parsing:
            return read()
        time.sleep(pause)
    with _parsing:
        return read()
