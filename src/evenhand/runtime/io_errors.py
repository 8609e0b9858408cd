"""Reading what may be damaged and writing to places that may be full or closed, reported as such; where files lie."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from evenhand.errors import DataError, PlaceError


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Name a place that cannot be written to by its name, with what to do."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise PlaceError(
                f"the disk is full: '{place}' could not be written, and nothing half-written was kept. Free some "
                "space, bound the store with `evenhand prune`, or set EVENHAND_HOME to another disk."
            ) from None
        raise PlaceError(
            f"'{place}' could not be written: {error.strerror or error}. Set EVENHAND_HOME to another folder."
        ) from None


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name a file that cannot be read, so that it is not taken for a trouble of the store."""
    try:
        yield
    except OSError as error:
        raise DataError(f"'{path}' is damaged or cannot be read: {error}. Fetch or write it again.") from None


def is_hidden(path: Path) -> bool:
    """Whether a file or a folder on the way to it is put aside by its name."""
    return any(part.startswith((".", "_")) for part in path.parts)


def run_folder(location: str, run_id: str) -> Path | None:
    """Where a run of an experiment keeps its files, if that is a folder of this machine."""
    if not location.startswith("file:"):
        return None
    return Path(url2pathname(urlparse(location).path)) / run_id / "artifacts"
