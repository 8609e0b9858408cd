"""Packed files, read with an eye on how much they grow: a small file must not become more than any data would."""

from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from evenhand.errors import DataError

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
FREE_BYTES, MOST_TIMES = 1 << 26, 300
FREE_CELLS, MOST_CELLS_A_BYTE = 200_000_000, 250


def open_unpacked(path: Path) -> IO[bytes]:
    """A file for reading, unpacked on the way if its name says that it is packed."""
    if path.exists() and not path.is_file():
        raise DataError(
            f"'{path}' is no plain file but a device or a pipe, which may have no end and is read only once: save its "
            "rows to a file and name that."
        )
    codec = CODECS.get(path.suffix.lower())
    if codec is None:
        return pa.input_stream(str(path), compression=None)
    return pa.PythonFile(Growing(path, codec), mode="r")


class Growing:
    """A packed file as pyarrow reads it, which ends with an error once it has grown beyond what data can."""

    def __init__(self, path: Path, codec: str) -> None:
        self.path, self.n_read = path, 0
        self.packed = pa.OSFile(str(path), "rb")
        self.plain = pa.CompressedInputStream(self.packed, codec)
        self.closed = False

    def read(self, n_bytes: int = -1) -> bytes:
        """The next bytes."""
        found = self.plain.read(n_bytes if n_bytes >= 0 else None)
        self.n_read += len(found)
        if self.n_read > FREE_BYTES and self.n_read > MOST_TIMES * max(1, self.packed.tell()):
            raise DataError(
                f"'{self.path}' grows more than {MOST_TIMES}-fold when it is unpacked, as no data does. It was not "
                "read to its end: unpack it yourself if you trust it."
            )
        return found

    def close(self) -> None:
        """Let go of the file."""
        self.closed = True
        self.plain.close()
        self.packed.close()

    def readable(self) -> bool:
        """Always."""
        return True

    def writable(self) -> bool:
        """Never."""
        return False

    def seekable(self) -> bool:
        """Never."""
        return False

    def flush(self) -> Any:
        """Nothing."""


def check_cells(path: Path, n_rows: int, n_columns: int) -> None:
    """Refuse a file that claims more values than its bytes can hold."""
    n_cells, n_bytes = n_rows * n_columns, path.stat().st_size
    if n_cells > FREE_CELLS and n_cells > MOST_CELLS_A_BYTE * n_bytes:
        raise DataError(
            f"'{path}' claims {n_rows:,} rows of {n_columns:,} columns in {n_bytes:,} bytes, as no data does. It was "
            "not read: write it again with the rows that there are."
        )
