"""Reading what may be damaged and writing to places that may be full or closed, reported as such; where files lie."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from evenhand.errors import DataError, PlaceError

LOST, FAILED = 404, 500
OF_THE_MACHINE = {
    getattr(errno, name)
    for name in (
        "ENOSPC", "EDQUOT", "EIO", "EACCES", "EPERM", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "ETXTBSY", "ESTALE",
        "ENODEV", "ECONNRESET", "ECONNREFUSED", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH",
        "ENAMETOOLONG", "ELOOP",
    )
}  # fmt: skip


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
        is_ours = Path(os.environ.get("EVENHAND_HOME") or ".evenhand").absolute() in [place, *place.absolute().parents]
        advice = "Set EVENHAND_HOME to another folder." if is_ours else "Name another place, or correct its rights."
        raise PlaceError(f"'{place}' could not be written: {error.strerror or error}. {advice}") from None


@contextmanager
def reporting_io() -> Iterator[None]:
    """The outermost door: what the machine or Prefect's server refuses is reported as such, not as a fault of ours.

    A file that is not where the program put it stays a fault of the program.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.errno not in OF_THE_MACHINE:
            raise
        named = f"'{error.filename}'" if error.filename else "a file or a connection"
        raise PlaceError(
            f"the machine did not let {named} be used: {error.strerror or error}. Nothing half-written counts: look at "
            "the disk, its space and the rights on it with `evenhand doctor`, and run again."
        ) from error
    except Exception as error:
        if not (words := _words_of_prefect(error)):
            raise
        raise PlaceError(
            f"Prefect's server {words}: it could not keep or find the records of this run. Look at the space and "
            "the rights of its database with `evenhand doctor`, and run again."
        ) from error


def _words_of_prefect(error: Exception) -> str:
    """What Prefect's server did instead of what it was asked; empty for a fault of ours."""
    httpx = sys.modules.get("httpx")
    if httpx is None or not isinstance(error, httpx.HTTPError):
        return ""
    if not isinstance(error, httpx.HTTPStatusError):
        return f"gave no answer ({type(error).__name__})"
    code = error.response.status_code
    return f"answered {code} {error.response.reason_phrase}" if code >= FAILED or code == LOST else ""


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
