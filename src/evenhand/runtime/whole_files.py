"""The one way in which a file is written: under another name, brought to the disk, and renamed when it is whole."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import psutil

from evenhand.runtime.fault_injection import around
from evenhand.runtime.io_errors import writing

UNFINISHED = ".unfinished"
_renamed_in: ContextVar[set[Path] | None] = ContextVar("renamed_in", default=None)


def unfinished_name(file: Path) -> Path:
    """A hidden name beside a file, of this process and thread alone; its ending is kept, as some writers go by it."""
    return file.with_name(f".{file.stem}-{os.getpid()}-{threading.get_ident()}{UNFINISHED}{file.suffix}")


@contextmanager
def whole(file: Path, moment: str = "file") -> Iterator[Path]:
    """A name to write to; when the block ends well, the file has its own name and is on the disk, else nothing is left.

    What `file` held before stays until then. `moment` names the deed for tests of faults.
    """
    unfinished = unfinished_name(file)
    with writing(file):
        if not file.parent.is_dir():
            file.parent.mkdir(parents=True, exist_ok=True)
        sweep(file)
        try:
            with around(f"{moment}.write"):
                yield unfinished
            put_in_place(unfinished, file, moment)
        finally:
            with suppress(OSError):  # what is left is swept by the next who writes this file
                unfinished.unlink(missing_ok=True)


def put_in_place(unfinished: Path, file: Path, moment: str = "file") -> None:
    """Bring a file to the disk, then give it its name, then bring that to the disk."""
    to_disk(unfinished)
    with around(f"{moment}.rename"):
        unfinished.replace(file)
    if (folders := _renamed_in.get()) is None:
        to_disk(file.parent)
    else:
        folders.add(file.parent)


@contextmanager
def names_at_once() -> Iterator[None]:
    """Bring the names of all files of the block to the disk at its end, each folder once; contents are there before."""
    folders: set[Path] = set()
    token = _renamed_in.set(folders)
    try:
        yield
    finally:
        _renamed_in.reset(token)
        for folder in folders:
            to_disk(folder)


def write_text(file: Path, text: str, moment: str = "file") -> Path:
    """Write text as a file, whole or not at all; where it is."""
    return write_bytes(file, text.encode(), moment)


def write_bytes(file: Path, content: bytes, moment: str = "file") -> Path:
    """Write bytes as a file, whole or not at all; where it is."""
    with whole(file, moment) as unfinished:
        unfinished.write_bytes(content)
    return file


def to_disk(path: Path) -> None:
    """Have the kernel write a file, or the names in a folder."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def sweep(file: Path) -> None:
    """Remove what processes that are gone left of a file."""
    before, after = f".{file.stem}-", f"{UNFINISHED}{file.suffix}"
    for name in os.listdir(file.parent):
        owner = name.removeprefix(before).removesuffix(after).partition("-")[0] if name.startswith(before) else ""
        if name.endswith(after) and owner.isdigit() and not psutil.pid_exists(int(owner)):
            with suppress(OSError):
                file.with_name(name).unlink(missing_ok=True)
