"""Whether an entry is what was written: its facts by their own digest, its files by those that the facts hold."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evenhand.storage.digests import digest, file_digest

FACTS = "facts.json"
_verified: dict[Path, dict[str, tuple[int, int, int]]] = {}


class Damaged(Exception):
    """An entry is not what was written."""


def read_facts(path: Path) -> dict[str, Any] | None:
    """What is kept beside the files of an entry, proved by its own digest; None where there is no entry."""
    if not path.exists():
        return None
    try:
        return parsed_facts((path / FACTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Damaged("has no facts") from None
    except UnicodeDecodeError:
        raise Damaged("has facts that cannot be read") from None


def parsed_facts(text: str) -> dict[str, Any]:
    """What facts say, proved by their own digest."""
    try:
        kept: dict[str, Any] = json.loads(text)
        seal = kept.pop("seal")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise Damaged("has facts that cannot be read") from None
    if seal != digest(kept):
        raise Damaged("has facts that were changed after they were written")
    return kept


def _seen(path: Path, names: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    """By what a file that was touched is recognised."""
    stats = {name: os.stat(f"{path}/{name}") for name in names}
    return {name: (found.st_size, found.st_mtime_ns, found.st_ino) for name, found in stats.items()}


def is_verified(path: Path) -> bool:
    """Whether this process verified an entry that nobody touched since."""
    try:
        return path in _verified and (path / FACTS).exists() and _seen(path, _verified[path]) == _verified[path]
    except OSError:
        return False


def verify(path: Path, files: Mapping[str, str]) -> None:
    """Hold the files of an entry against their digests; once in this process, and again if a file was touched."""
    try:
        seen = _seen(path, files)
        if _verified.get(path) == seen:
            return
        changed = next((name for name, expected in files.items() if file_digest(path / name) != expected), None)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise Damaged(f"lacks its file {Path(str(error.filename)).name}") from None
    if changed is not None:
        raise Damaged(f"has a file that is not what was written, {changed}")
    _verified[path] = seen


def renamed(before: Path, path: Path) -> None:
    """Take an entry that was verified under another name as verified."""
    _verified[path] = _verified.pop(before)
