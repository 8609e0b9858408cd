"""Content-addressed files that tasks exchange and later runs reuse.

A key is the digest of the content that went in, the parameters, the code that can change the numbers and the versions
of the numeric packages. An entry is a folder that is written under another name, brought to the disk and renamed when
it is whole, so that a half-written one is never seen. Its facts hold the digest of every file and their own: an entry
that is not what was written counts as none and is made anew. Its content digest leaves out what differs each time it
is made (seconds, memory), so that the stages after one that came out equal are found.
"""

import errno
import hashlib
import json
import logging
import math
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path, PurePath
from typing import Any

from evenhand.errors import PlaceError
from evenhand.runtime.fault_injection import around
from evenhand.runtime.whole_files import to_disk
from evenhand.storage.code_digest import code_digest, versions

FACTS = "facts.json"
UNCOUNTED = frozenset({"seconds", "fit_seconds", "predict_seconds", "peak_mb", "notes", "warnings", "ended", "words"})
_under_way: dict[Path, threading.Lock] = {}
_guard = threading.Lock()
_verified: dict[Path, list[tuple[int, int, int]]] = {}


@dataclass(frozen=True)
class Entry:
    """A folder of the store, the digest of its content, the facts kept with it, and whether it was there before."""

    digest: str
    path: Path
    facts: dict[str, Any]
    reused: bool
    files: dict[str, str] = field(default_factory=dict)

    def part(self, name: str, *facts: str) -> str:
        """The digest of one folder of the entry, or one file, and of the facts named."""
        files = {file: found for file, found in self.files.items() if file == name or file.startswith(f"{name}/")}
        return digest([files, {each: self.facts[each] for each in facts}])


def home() -> Path:
    """The folder of the store and of what must outlive a run: $EVENHAND_HOME, or .evenhand here."""
    return Path(os.environ.get("EVENHAND_HOME", ".evenhand")).absolute()


def digest(content: Any) -> str:
    """The digest of anything made of records, mappings, sequences, text and numbers."""
    text = json.dumps(content, sort_keys=True, default=_plain, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def file_digest(path: Path) -> str:
    """The digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def text_digest(text: str) -> str:
    """The digest of a file that would hold this text."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class Store:
    """Makes an entry once; later calls with the same key find it."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or home() / "store"

    def keep(
        self, stage: str, inputs: Any, code: str | Sequence[str], build: Callable[[Path], Mapping[str, Any]]
    ) -> Entry:
        """The entry for these inputs; `build` fills a folder and returns facts if there is none yet.

        `code` names where the numbers come from, as code_digest takes it: `module:function`, one or several.
        """
        roots = (code,) if isinstance(code, str) else tuple(code)
        key = digest([stage, _without_paths(inputs), code_digest(*roots), versions()])
        path = self.root / stage / key[:2] / key
        with _building(path):
            return self._found(path) or self._build(path, build)

    def _found(self, path: Path) -> Entry | None:
        """The entry at its place if it is what was written; any other is taken away."""
        try:
            kept = _read_facts(path)
            if kept is None:
                return None
            _verify(path, kept["files"])
        except _Damaged as damage:
            logging.getLogger("evenhand").warning("%s in the store %s: made anew", "/".join(path.parts[-3:]), damage)
            self._remove(path)
            return None
        except OSError as error:
            raise _place_error(error, path) from error
        return Entry(kept["digest"], path, kept["facts"], True, kept["files"])

    def _build(self, path: Path, build: Callable[[Path], Mapping[str, Any]]) -> Entry:
        unfinished = self.root / "unfinished" / f"{os.getpid()}-{uuid.uuid4().hex}"
        try:
            unfinished.mkdir(parents=True)
            facts = json.loads(json.dumps(dict(build(unfinished)), default=_plain))
            files = {str(file.relative_to(unfinished)): file_digest(file) for file in _files(unfinished)}
            kept = {"digest": digest([files, _counted(facts)]), "facts": facts, "files": files}
            with around("store.facts"):
                (unfinished / FACTS).write_text(json.dumps({**kept, "seal": digest(kept)}), encoding="utf-8")
            _to_disk(unfinished)
            with around("store.rename"):
                is_ours = _rename(unfinished, path)
            to_disk(path.parent)
        except OSError as error:
            raise _place_error(error, self.root) from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        if not is_ours:
            return self._found(path) or self._build(path, build)
        return Entry(kept["digest"], path, facts, False, files)

    def entries(self) -> list[tuple[Path, float, int]]:
        """Every entry with the time of its last use and its size in bytes."""
        found = []
        for facts in self.root.glob(f"*/??/*/{FACTS}"):
            size = sum(file.stat().st_size for file in facts.parent.rglob("*") if file.is_file())
            found.append((facts.parent, facts.stat().st_mtime, size))
        return found

    def prune(self, most_bytes: int, kept: Callable[[], tuple[Set[str], float]] | None = None) -> tuple[int, int]:
        """Remove the entries that were not used for longest until the rest fits; how many, and bytes left.

        `kept` is asked only if something must go: names of entries that stay whatever their age, and the moment since
        when what was used may be in use.
        """
        entries = sorted(self.entries(), key=lambda entry: entry[1])
        left, removed = sum(size for _, _, size in entries), 0
        names, busy_since = (frozenset(), math.inf) if kept is None or left <= most_bytes else kept()
        for path, used, size in entries:
            if left <= most_bytes:
                break
            if self.name_of(path) in names or used >= busy_since:
                continue
            self._remove(path)
            left, removed = left - size, removed + 1
        return removed, left

    def name_of(self, path: Path) -> str:
        """The entry that a file or folder belongs to, by a name that holds wherever the store lies; else nothing."""
        if not path.is_relative_to(self.root):
            return ""
        return "/".join(path.relative_to(self.root).parts[:3])

    def _remove(self, path: Path) -> None:
        """Take an entry away at once, and then its files."""
        doomed = self.root / "unfinished" / f"pruned-{uuid.uuid4().hex}"
        doomed.parent.mkdir(parents=True, exist_ok=True)
        with around("store.prune"):
            path.rename(doomed)
        shutil.rmtree(doomed)

    def sweep(self, older_than_seconds: float = 7 * 86_400.0) -> None:
        """Remove what processes that ended in the middle left behind; a fit that goes on for days is left alone."""
        for path in (self.root / "unfinished").glob("*"):
            owner = path.name.partition("-")[0]
            gone = owner.isdigit() and not Path(f"/proc/{owner}").exists() and Path("/proc").exists()
            if gone or _age(path) > older_than_seconds:
                shutil.rmtree(path, ignore_errors=True)


def _building(path: Path) -> threading.Lock:
    """The lock of one entry, shared by all stores of this process, so that threads make an entry once."""
    with _guard:
        return _under_way.setdefault(path, threading.Lock())


def _age(path: Path) -> float:
    """Seconds since a folder was last written to; none for one that its owner has just moved away."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(by_alias=True)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset | tuple):
        return sorted(value) if isinstance(value, set | frozenset) else list(value)
    return str(value)


class _Damaged(Exception):
    """An entry is not what was written."""


def _read_facts(path: Path) -> dict[str, Any] | None:
    """What is kept beside the files of an entry, proved by its own digest; None where there is no entry."""
    if not path.exists():
        return None
    try:
        kept = json.loads((path / FACTS).read_text(encoding="utf-8"))
        seal = kept.pop("seal")
    except FileNotFoundError:
        raise _Damaged("has no facts") from None
    except (ValueError, KeyError, AttributeError, TypeError):
        raise _Damaged("has facts that cannot be read") from None
    if seal != digest(kept):
        raise _Damaged("has facts that were changed after they were written")
    os.utime(path / FACTS)
    return kept


def _verify(path: Path, files: Mapping[str, str]) -> None:
    """Hold the files of an entry against their digests; once in this process, and again if a file was touched."""
    try:
        stats = [(path / name).stat() for name in files]
        seen = [(found.st_size, found.st_mtime_ns, found.st_ino) for found in stats]
        if _verified.get(path) == seen:
            return
        changed = next((name for name, expected in files.items() if file_digest(path / name) != expected), None)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise _Damaged(f"lacks its file {Path(str(error.filename)).name}") from None
    if changed is not None:
        raise _Damaged(f"has a file that is not what was written, {changed}")
    _verified[path] = seen


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def _counted(facts: Any) -> Any:
    """The facts without what differs from one making to the next, or is only for people to read."""
    if isinstance(facts, dict):
        return {name: _counted(value) for name, value in facts.items() if name not in UNCOUNTED}
    return [_counted(value) for value in facts] if isinstance(facts, list) else facts


def _without_paths(inputs: Any) -> Any:
    """The inputs, refused if a place is among them: a key holds content, so that a moved store is found."""
    if isinstance(inputs, PurePath):
        raise TypeError(f"a key holds digests, not places such as '{inputs}'")
    if isinstance(inputs, Mapping):
        return {name: _without_paths(value) for name, value in inputs.items()}
    return [_without_paths(value) for value in inputs] if isinstance(inputs, list | tuple) else inputs


def _to_disk(folder: Path) -> None:
    """Have the kernel write all files below a folder, and the folders, before the entry gets its name."""
    for path in (*_files(folder), *_folders(folder)):
        to_disk(path)


def _folders(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.rglob("*") if path.is_dir())
    yield folder


def _rename(unfinished: Path, path: Path) -> bool:
    """Give a whole entry its name; false where another process gave it to the same entry meanwhile."""
    try:
        unfinished.rename(path)
        return True
    except FileNotFoundError:
        if not unfinished.exists():
            raise
        path.parent.mkdir(parents=True, exist_ok=True)
        return _rename(unfinished, path)
    except OSError as error:
        if error.errno not in {errno.EEXIST, errno.ENOTEMPTY} or not path.exists():
            raise
        return False


def _place_error(error: OSError, place: Path) -> PlaceError:
    if error.errno == errno.ENOSPC:
        return PlaceError(
            f"the disk is full: the store '{place}' could not be written. Nothing half-written was kept. "
            "Free some space, bound the store with `evenhand prune`, or set EVENHAND_HOME to another disk."
        )
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return PlaceError(
            f"the store '{place}' is not writable: {error.strerror}. Set EVENHAND_HOME to another folder."
        )
    return PlaceError(
        f"the store '{place}' could not be used: {error.strerror or error}. Set EVENHAND_HOME to another folder."
    )
