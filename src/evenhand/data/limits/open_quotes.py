"""A quote that is opened and never closed: all that stands behind it would be one cell, and its rows would be gone."""

from pathlib import Path
from typing import IO

from evenhand.errors import DataError
from evenhand.runtime.text import counted

REMEMBERED = 64  # bytes
LINE_ENDS = ("\r", "\n")


class LastBytes:
    """A stream as pyarrow reads it, which remembers its last bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.last, self.closed = stream, b"", False

    def read(self, n_bytes: int = -1) -> bytes:
        """The next bytes."""
        found = self.stream.read(n_bytes if n_bytes >= 0 else None)  # type: ignore[arg-type]
        self.last = (self.last + found[-REMEMBERED:])[-REMEMBERED:]
        return found

    def close(self) -> None:
        """Nothing: the stream is closed by who opened it."""
        self.closed = True


def check_closed(path: Path, column: str, cell: str | None, last: bytes) -> None:
    """Refuse a file that ends within quotes, by its last cell and its last bytes."""
    if not cell or not any(end in cell for end in LINE_ENDS):
        return
    if _is_open(cell, last.replace(b"\0", b"").decode("latin-1")):  # quotes and line ends are the same in all encodings
        lines = [line for line in cell.splitlines() if line] or [""]
        raise DataError(
            f"'{path}' opens a quote in column '{column}' and never closes it: {counted(len(lines), 'line')} from "
            f"'{lines[0][:80]}' on would be one cell. Close that quote, or double it."
        )


def _is_open(cell: str, text: str) -> bool:
    """Whether a file of this last cell, which has several lines, ends with it and not with the quote that closes it."""
    if not text.endswith(LINE_ENDS):
        return not text.endswith('"')
    before = text.rstrip("\r\n")
    return cell.endswith(LINE_ENDS) and not before.endswith(('\n"', '\r"'))
