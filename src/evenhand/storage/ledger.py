"""Files of lines that only grow: every line vouches for all before it, and counts once it is on the disk.

A line holds its number, the hash of the line before it, and its own; a crash can leave no more than a part of a line,
which never counted and is put aside. The number and hash of the last line stand in a second file, the anchor, so that
lines that were dropped from the end are noticed: a chain alone cannot miss its tail. Where machines share a database
the lines stand in it, and each machine keeps the anchor of those that it saw.
"""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from evenhand.errors import EvenhandError, PlaceError
from evenhand.runtime.fault_injection import around
from evenhand.runtime.io_errors import reading, writing
from evenhand.runtime.whole_files import to_disk, write_text
from evenhand.storage import database_ledger
from evenhand.storage.database_locks import is_shared
from evenhand.storage.locks import waiting

BEGINNING = ""


class Broken(EvenhandError):
    """The file is not what was written."""


@dataclass(frozen=True)
class Chain:
    """The lines of a file as they were checked; `cut_off` is what a crash left of one."""

    lines: tuple[dict[str, Any], ...] = ()
    cut_off: bytes = b""

    @property
    def head(self) -> str:
        """The hash of the last line."""
        return self.lines[-1]["hash"] if self.lines else BEGINNING


def read_chain(file: Path, what: str) -> Chain:
    """The lines of a file, each checked against the one before; `what` the file is, for messages."""
    anchored = _anchored(file)  # before the lines: who appends meanwhile makes them more, never fewer
    content = b""
    if file.exists():
        with reading(file):
            content = file.read_bytes()
    whole, _, cut_off = content.rpartition(b"\n")
    written = whole.split(b"\n") if whole else []
    if is_shared():
        written, cut_off = database_ledger.lines_of(file, written), b""
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(written, 1):
        lines.append(_checked(f"line {number} of the {what} '{file}'", number, line, Chain(tuple(lines[-1:])).head))
    chain = Chain(tuple(lines), cut_off)
    _check_tail(file, what, chain, anchored)
    return chain


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Hold a ledger for reading and appending, waiting for whoever has it, on any machine that shares its database."""
    with waiting(file.with_suffix(".lock")), database_ledger.held(file):
        yield


def is_begun(file: Path) -> bool:
    """Whether there may be lines."""
    return is_shared() or file.exists()


def ledgers_in(folder: Path) -> dict[Path, tuple[int, ...]]:
    """The ledgers of a folder, each with what changes when it gets a line."""
    found: dict[Path, tuple[int, ...]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        with reading(file):
            stat = file.stat()
        found[file] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if is_shared():
        found |= {folder / f"{name}.jsonl": (n,) for name, n in database_ledger.lengths_in(folder).items()}
    return found


def anchor_of(file: Path) -> Path:
    """The file that holds the number and hash of a ledger's last line."""
    return file.with_name(f".{file.name}.anchor")


def append_line(file: Path, content: dict[str, Any], chain: Chain) -> dict[str, Any]:
    """Put a line at the end of a chain that was just read under a lock; the line with its links."""
    linked = content | {"number": len(chain.lines) + 1, "before": chain.head}
    linked |= {"hash": _hash(linked)}
    if is_shared():
        with around("ledger.write"):
            database_ledger.put(file, linked["number"], _as_line(linked))
    else:
        _append(file, _as_line(linked) + b"\n")
    _anchor(file, linked)
    return linked


def repair_chain(file: Path, chain: Chain) -> bytes:
    """Take away what a crash left of a line and put it aside; what that was."""
    if chain.cut_off:
        with writing(file):
            _append(file.with_suffix(".cut"), chain.cut_off)
            with around("ledger.truncate"):
                os.truncate(file, file.stat().st_size - len(chain.cut_off))
        logging.getLogger("evenhand").warning(
            "the last line of '%s' was cut off in the middle (%d bytes): it never counted and was put into '%s'",
            file, len(chain.cut_off), file.with_suffix(".cut").name,
        )  # fmt: skip
    return chain.cut_off


def broken(line: str, what: str) -> Broken:
    """The error of a line that is not what was written."""
    return Broken(
        f"{line} {what}. Nothing is decided on it: bring the file back from a backup, or move it away, with the hidden "
        "file .anchor beside it, to begin anew."
    )


def _as_line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


def _anchored(file: Path) -> tuple[int, str]:
    """The number and hash of the line that was written last; none before the first, or by a version without anchors."""
    if not (anchor := anchor_of(file)).exists():
        return 0, BEGINNING
    with reading(anchor):
        content = anchor.read_bytes()
    try:
        found = json.loads(content)
        return int(found["number"]), str(found["hash"])
    except (ValueError, KeyError, TypeError):
        raise broken(f"the anchor '{anchor}'", "cannot be read") from None


def _check_tail(file: Path, what: str, chain: Chain, anchored: tuple[int, str]) -> None:
    """Refuse a chain that lacks the line that was written last; one line more is what a crash can leave."""
    number, expected = anchored
    if number > len(chain.lines):
        have = f"{len(chain.lines)} of {number} lines"
        raise broken(f"the {what} '{file}'", f"has {have}: its end was dropped after it was written")
    if number and chain.lines[number - 1]["hash"] != expected:
        raise broken(f"line {number} of the {what} '{file}'", "is not the one that was written")


def _anchor(file: Path, line: dict[str, Any]) -> None:
    """Note the last line; where that fails the line counts all the same, and the next one is noted."""
    anchor = anchor_of(file)
    try:
        write_text(anchor, json.dumps({"number": line["number"], "hash": line["hash"]}), moment="ledger.anchor")
    except PlaceError as error:
        logging.getLogger("evenhand").warning("the anchor '%s' was not written: %s", anchor, error)


def _checked(where: str, number: int, line: bytes, before: str) -> dict[str, Any]:
    try:
        content = json.loads(line)
        links = content["hash"], content["number"], content["before"]
    except (ValueError, KeyError, TypeError):
        raise broken(where, "cannot be read") from None
    if line != _as_line(content):
        raise broken(where, "was rewritten, perhaps with other line ends, after it was written")
    if links[0] != _hash(content):
        raise broken(where, "was changed after it was written")
    if links[1:] != (number, before):
        raise broken(where, "does not follow the line before it: lines were taken out, added or moved")
    return content


def _hash(content: dict[str, Any]) -> str:
    plain = {name: value for name, value in content.items() if name != "hash"}
    return blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=16).hexdigest()


def _append(file: Path, content: bytes) -> None:
    """Put bytes at the end of a file and on the disk, all of them or none."""
    with writing(file):
        is_new = not file.exists()
        number = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        size = os.fstat(number).st_size
        try:
            with around("ledger.write"):
                if os.write(number, content) < len(content):
                    raise OSError(28, "No space left on device")
            with around("ledger.fsync"):
                os.fsync(number)
        except OSError:
            os.ftruncate(number, size)
            raise
        finally:
            os.close(number)
        if is_new:
            to_disk(file.parent)
