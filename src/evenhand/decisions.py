"""Who is champion, and why: an append-only ledger in which every line vouches for all before it.

MLflow's alias goes to the last writer and has no history, so the truth is here and the alias is derived from it. A line
holds the hash of the line before; it is appended under a lock, only if the ledger still ends where the writer last
looked, and it counts once it is on the disk.
"""

import json
import logging
import os
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from evenhand.errors import EvenhandError
from evenhand.locks import now, waiting, who
from evenhand.places import reading, writing
from evenhand.store import home

Verdict = Literal["promote", "keep", "incomparable", "error", "rollback"]
CROWNING = ("promote", "rollback")
BEGINNING = ""


class Broken(EvenhandError):
    """The ledger is not what was written."""


class Overtaken(EvenhandError):
    """Somebody else decided meanwhile."""


@dataclass(frozen=True)
class Contender:
    """A model that was decided on: its run, its version in the registry and the digest of its files."""

    run_id: str
    version: int = 0
    digest: str = ""


@dataclass(frozen=True)
class Decision:
    """One line of the ledger; `before` and `hash` are the links of the chain."""

    study: str
    verdict: Verdict
    why: str
    candidate: Contender
    champion: Contender | None = None
    data: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    who: str = ""
    when: str = ""
    number: int = 0
    before: str = BEGINNING
    hash: str = ""


@dataclass(frozen=True)
class Decisions:
    """The ledger of a study as it was read; `cut_off` is what a crash left of a line, which never counted."""

    lines: tuple[Decision, ...] = ()
    cut_off: bytes = b""

    @property
    def head(self) -> str:
        """What a writer must have seen last for its line to be taken."""
        return self.lines[-1].hash if self.lines else BEGINNING

    @property
    def champion(self) -> Contender | None:
        """Who serves now."""
        return self.reigns[-1].candidate if self.reigns else None

    @property
    def reigns(self) -> tuple[Decision, ...]:
        """The decisions that made somebody champion."""
        return tuple(line for line in self.lines if line.verdict in CROWNING)


def ledger_path(study: str) -> Path:
    """Where the decisions of a study are kept."""
    return home() / "decisions" / f"{study}.jsonl"


def decisions_of(study: str) -> Decisions:
    """The ledger of a study, checked line by line."""
    file = ledger_path(study)
    if not file.exists():
        return Decisions()
    with reading(file):
        content = file.read_bytes()
    whole, _, cut_off = content.rpartition(b"\n")
    lines: list[Decision] = []
    for number, line in enumerate(whole.split(b"\n") if whole else [], 1):
        lines.append(_checked(file, number, line, lines[-1].hash if lines else BEGINNING))
    return Decisions(tuple(lines), cut_off)


def decide(decision: Decision, head: str) -> Decision:
    """Append a decision if the ledger still ends at `head`; the line as it was written."""
    file = ledger_path(decision.study)
    with waiting(file.with_suffix(".lock")):
        _repair(decision.study)
        found = decisions_of(decision.study)
        if found.head != head:
            last = found.lines[-1]
            raise Overtaken(
                f"{last.who} decided on study '{decision.study}' meanwhile "
                f"({last.verdict} at {last.when}: {last.why}). Nothing was changed: look at "
                "`evenhand champion show` and decide again."
            )
        line = _linked(decision, len(found.lines) + 1, head)
        _append(file, _text(asdict(line)))
    return line


def repair(study: str) -> bytes:
    """Take away what a crash left of a line and put it aside; what that was."""
    if not ledger_path(study).exists():
        return b""
    with waiting(ledger_path(study).with_suffix(".lock")):
        return _repair(study)


def _repair(study: str) -> bytes:
    file, found = ledger_path(study), decisions_of(study)
    if found.cut_off:
        with writing(file):
            _append(file.with_suffix(".cut"), found.cut_off)
            os.truncate(file, file.stat().st_size - len(found.cut_off))
        logging.getLogger("evenhand").warning(
            "the last line of '%s' was cut off in the middle (%d bytes): it never counted and was put into '%s'",
            file, len(found.cut_off), file.with_suffix(".cut").name,
        )  # fmt: skip
    return found.cut_off


def _linked(decision: Decision, number: int, head: str) -> Decision:
    content = asdict(decision) | {"number": number, "before": head}
    content |= {"who": decision.who or who(), "when": decision.when or now()}
    return _decision(content | {"hash": _hash(content)})


def _hash(content: dict[str, Any]) -> str:
    plain = {name: value for name, value in content.items() if name != "hash"}
    return blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=16).hexdigest()


def _text(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _decision(content: dict[str, Any]) -> Decision:
    champion = content["champion"]
    parts = {"candidate": Contender(**content["candidate"]), "champion": champion and Contender(**champion)}
    return Decision(**(content | parts))


def _checked(file: Path, number: int, line: bytes, before: str) -> Decision:
    """A line whose place, link and hash are as they were written."""
    try:
        content = json.loads(line)
        decision = _decision(content)
    except (ValueError, KeyError, TypeError):
        raise _broken(file, number, "cannot be read") from None
    if decision.hash != _hash(content):
        raise _broken(file, number, "was changed after it was written")
    if (decision.number, decision.before) != (number, before):
        raise _broken(file, number, "does not follow the line before it: lines were taken out, added or moved")
    return decision


def _broken(file: Path, number: int, what: str) -> Broken:
    return Broken(
        f"line {number} of the ledger '{file}' {what}. Nothing is decided on it: bring the file back from a backup, or "
        "move it away to begin anew."
    )


def _append(file: Path, content: bytes) -> None:
    """Put bytes at the end of a file and on the disk, all of them or none."""
    with writing(file):
        is_new = not file.exists()
        number = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        size = os.fstat(number).st_size
        try:
            if os.write(number, content) < len(content):
                raise OSError(28, "No space left on device")
            os.fsync(number)
        except OSError:
            os.ftruncate(number, size)
            raise
        finally:
            os.close(number)
        if is_new:
            _fsync_folder(file.parent)


def _fsync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
