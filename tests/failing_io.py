"""The Nth open, write, fsync, rename, unlink, connect or SQL statement fails, once or from then on.

Only what is done to files below a folder fails, and every connection. Writers of pyarrow, which open files by
themselves, are given a file of ours.
"""

import builtins
import errno
import io
import os
import socket
import sqlite3
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import mlflow.store.db.utils
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import sqlalchemy
from sqlalchemy.engine import Engine

KINDS = {
    "open": (errno.EACCES, errno.EIO, errno.ENOSPC),
    "write": (errno.ENOSPC, errno.EIO),
    "fsync": (errno.EIO, errno.ENOSPC),
    "rename": (errno.EACCES, errno.EIO, errno.ENOSPC),
    "unlink": (errno.EACCES, errno.EIO),
    "mkdir": (errno.EACCES, errno.ENOSPC),
    "connect": (errno.ECONNRESET, errno.ECONNREFUSED),
    "sql": (errno.ENOSPC, errno.EIO),
}
DEEDS = ("open", "write", "pwrite", "fsync", "rename", "replace", "unlink", "mkdir")
DATABASE_WORDS = {errno.ENOSPC: "database or disk is full", errno.EIO: "disk I/O error"}


class Faults:
    """Counts what is done below a folder; of one kind the Nth fails, and with `lasting` those after it too."""

    def __init__(self, folder, kind="", number=0, lasting=False):
        self.folder, self.kind, self.number, self.lasting = str(folder), kind, number, lasting
        self.counted, self.struck = Counter(), 0
        self._numbers = {}

    def meet(self, kind, place):
        """Count a deed, and fail if it is its turn."""
        self.counted[kind] += 1
        here = self.counted[kind]
        if kind == self.kind and (here == self.number or (self.lasting and here > self.number)):
            self.struck += 1
            code = KINDS[kind][self.number % len(KINDS[kind])]
            if kind == "sql":
                words = sqlite3.OperationalError(DATABASE_WORDS[code])
                raise sqlalchemy.exc.OperationalError("a statement", {}, words)
            raise OSError(code, os.strerror(code), str(place))

    def is_ours(self, place):
        """Whether a path, or the file of a number, lies below the folder."""
        if isinstance(place, int):
            try:
                place = os.readlink(f"/proc/self/fd/{place}")
            except OSError:
                return False
        try:
            return os.path.abspath(os.fspath(place)).startswith(self.folder)
        except (TypeError, ValueError):
            return False


class _File:
    """A file that was opened for writing, each of whose writes may fail."""

    def __init__(self, file, faults):
        self.__dict__ |= {"_file": file, "_faults": faults}

    def write(self, content):
        self._faults.meet("write", getattr(self._file, "name", ""))
        return self._file.write(content)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)

    def __iter__(self):
        return iter(self._file)


@contextmanager
def failing(faults):
    """Have deeds of this process meet the faults."""
    real = {name: getattr(os, name) for name in DEEDS}
    real_open, real_connect = io.open, socket.socket.connect

    def opening(file, mode="r", *given, **named):
        if not faults.is_ours(file):
            return real_open(file, mode, *given, **named)
        faults.meet("open", file)
        opened = real_open(file, mode, *given, **named)
        return _File(opened, faults) if set(mode) & set("wax+") else opened

    def wrapped(name, kind):
        def deed(place, *given, **named):
            if faults.is_ours(place):
                faults.meet(kind, place)
            return real[name](place, *given, **named)

        return deed

    def connecting(self, address):
        faults.meet("connect", address)
        return real_connect(self, address)

    def statement(connection, *_):
        if faults.is_ours(connection.engine.url.database or ""):
            faults.meet("sql", connection.engine.url.database)

    kinds = {"open": "open", "write": "write", "pwrite": "write", "replace": "rename"}
    with ExitStack() as stack:
        for name in real:
            stack.enter_context(mock.patch.object(os, name, wrapped(name, kinds.get(name, name))))
        stack.enter_context(mock.patch.object(io, "open", opening))
        stack.enter_context(mock.patch.object(builtins, "open", opening))
        stack.enter_context(mock.patch.object(socket.socket, "connect", connecting))
        stack.enter_context(mock.patch.object(mlflow.store.db.utils, "time", mock.Mock()))  # it waits between tries
        for module, name in ((pa.parquet.core, "ParquetWriter"), (pa.parquet, "ParquetWriter"), (pa.csv, "CSVWriter")):
            stack.enter_context(mock.patch.object(module, name, _through_python(getattr(module, name))))
        sqlalchemy.event.listen(Engine, "before_cursor_execute", statement)
        stack.callback(sqlalchemy.event.remove, Engine, "before_cursor_execute", statement)
        yield faults


def _through_python(writer):
    """A writer of pyarrow that writes to a file that Python opened."""

    class Writer(writer):
        def __init__(self, where, *given, **named):
            self._opened = open(where, "wb") if isinstance(where, str | Path) else None  # noqa: SIM115
            super().__init__(pa.PythonFile(self._opened, "w") if self._opened else where, *given, **named)

        def close(self):
            super().close()
            if self._opened:
                self._opened.close()

    return Writer
