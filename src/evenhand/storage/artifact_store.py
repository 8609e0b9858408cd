"""Content-addressed files that tasks exchange and later runs reuse.

A key is the digest of the content that went in, the parameters, the code that can change the numbers and the versions
of the numeric packages. An entry is a folder that is written under another name, brought to the disk and renamed when
it is whole, so that a half-written one is never seen. Its facts hold the digest of every file and their own: an entry
that is not what was written counts as none and is made anew. Its content digest leaves out what differs each time it
is made (seconds, memory), so that the stages after one that came out equal are found.
"""

import errno
import json
import logging
import math
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from evenhand.errors import ConfError, PlaceError
from evenhand.records.reference import Reference
from evenhand.runtime import whole_files
from evenhand.runtime.fault_injection import around
from evenhand.runtime.redaction import masked_text
from evenhand.runtime.text import parsed_size
from evenhand.storage.code_digest import code_digest, versions
from evenhand.storage.digests import digest, file_digest, plain
from evenhand.storage.shared_store import SharedStore, shared_store
from evenhand.storage.verification import FACTS, Damaged, is_verified, parsed_facts, read_facts, renamed, verify
from evenhand.storage.whole_folders import files_in, rename_whole, to_disk

UNCOUNTED = frozenset({"seconds", "fit_seconds", "predict_seconds", "peak_mb", "notes", "warnings", "ended", "words"})
_under_way: dict[Path, threading.Lock] = {}
_guard = threading.Lock()
NOTED_SECONDS, KNOWN_SECONDS, OPENING_SECONDS = 86_400.0, 3600.0, 60.0
PARTS_OF_CACHE = 20
COSTLY_SECONDS = 1.0  # to make again
_added: dict[Path, int] = {}
_known: dict[tuple[str, Reference], float] = {}


@dataclass(frozen=True)
class Entry:
    """What is in an entry, where it lies on this machine, the facts kept with it, and whether it was there before."""

    digest: str
    reference: Reference
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
    return _home(os.environ.get("EVENHAND_HOME") or ".evenhand", os.getcwd())


@cache
def _home(given: str, here: str) -> Path:
    if "://" in given:
        raise PlaceError(
            f"EVENHAND_HOME={masked_text(given)} is an address, but what is kept there lies in a folder of this "
            "machine: name a folder, and give the address of a store that machines share as EVENHAND_STORE"
        )
    return Path(here, given)


def _most_cached() -> int:
    """How many bytes of a shared store a machine keeps at hand."""
    try:
        return parsed_size(os.environ.get("EVENHAND_CACHE", "20GB"))
    except ConfError as error:
        raise ConfError(f"EVENHAND_CACHE: {error}") from None


class Store:
    """Makes an entry once; later calls with the same key find it.

    Where $EVENHAND_STORE names a store that machines share, an entry is made once for all of them, and the folder of
    this machine holds copies of what was used last, up to $EVENHAND_CACHE.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or home() / "store"
        self.shared = shared_store() if root is None else None
        self.most_bytes = _most_cached() if self.shared is not None else 0

    def keep(
        self, stage: str, inputs: Any, code: str | Sequence[str], build: Callable[[Path], Mapping[str, Any]]
    ) -> Entry:
        """The entry for these inputs; `build` fills a folder and returns facts if there is none yet.

        `code` names where the numbers come from, as code_digest takes it: `module:function`, one or several.
        """
        roots = (code,) if isinstance(code, str) else tuple(code)
        key = digest([stage, _without_places(inputs), code_digest(*roots), versions()])
        reference = Reference(stage, key)
        with _building(self._place(reference)):
            return self._found(reference) or self._build(reference, build)

    def begin(self) -> None:
        """Make ready for a run: a shared store is checked, and what dead processes left is removed."""
        self.check()
        self.sweep()

    def check(self) -> None:
        """Refuse a shared store that cannot be used, before anything is made."""
        if self.shared is not None:
            self.shared.check()

    def get(self, reference: Reference) -> Path:
        """The folder or file of a reference on this machine, verified."""
        path = self._place(reference)
        if is_verified(path):
            self.touch(reference)
        elif self._found(reference) is None:
            raise PlaceError(
                f"'{reference.entry}' is not in the store '{self.shown}', or was not what had been written and was "
                "removed. Run the command again: what is missing is made anew."
            )
        return path / reference.part

    def has(self, reference: Reference) -> bool:
        """Whether there is an entry, without a look at its content."""
        return (self._place(reference) / FACTS).exists() or (self.shared is not None and self.shared.has(reference))

    def touch(self, reference: Reference) -> None:
        """Note that an entry is in use; in a shared store once a day."""
        facts = self._place(reference) / FACTS
        if self.shared is not None and _age(facts) > NOTED_SECONDS:
            self.shared.touch(reference)
        os.utime(facts)

    @property
    def shown(self) -> str:
        """Where the store lies, as people may read it."""
        return str(self.root) if self.shared is None else self.shared.shown

    def _place(self, reference: Reference) -> Path:
        return self.root / reference.entry

    def _found(self, reference: Reference) -> Entry | None:
        """The entry of this machine, else a copy of the one that machines share; None where there is none."""
        try:
            found = self._found_here(reference)
            if self.shared is None:
                return found
            if found is None:
                return self._fetched(reference, self.shared)
            if not _is_known(self.shared, reference):
                self.shared.put(reference, found.path, found.files)
            return found
        except OSError as error:
            raise _place_error(error, self.shown) from error

    def _found_here(self, reference: Reference) -> Entry | None:
        """The entry in its folder if it is what was written; any other is taken away."""
        path = self._place(reference)
        try:
            kept = read_facts(path)
            if kept is None:
                return None
            verify(path, kept["files"])
        except Damaged as damage:
            _report(reference, damage)
            self._remove(path)
            return None
        self.touch(reference)
        return Entry(kept["digest"], reference, path, kept["facts"], True, kept["files"])

    def _fetched(self, reference: Reference, shared: SharedStore) -> Entry | None:
        """A copy of a shared entry, brought here once for all processes of this machine."""
        from evenhand.storage.locks import waiting

        with waiting(home() / "locks" / f"fetch-{reference.key[:2]}.lock"), self._unfinished() as folder:
            if (found := self._found_here(reference)) is not None:
                return found
            if (kept := shared.kept(reference)) is None:
                return None
            try:
                (folder / FACTS).write_text(kept[0], encoding="utf-8")
                files = parsed_facts(kept[0])["files"]
                for name in files:
                    shared.download(reference, kept[1], name, folder / name)
                verify(folder, files)
            except (Damaged, FileNotFoundError) as damage:
                _report(reference, damage)
                shared.delete(reference)
                return None
            rename_whole(folder, self._place(reference))
            renamed(folder, self._place(reference))
            self._bound(sum(file.stat().st_size for file in files_in(self._place(reference))))
            return self._found_here(reference)

    def _bound(self, n_bytes: int) -> None:
        """Remove the copies that were not used for longest, each time so much was added that it may be needed."""
        most = self.most_bytes
        with _guard:
            _added[self.root] = _added.get(self.root, most) + n_bytes
            if _added[self.root] < most / PARTS_OF_CACHE:
                return
            _added[self.root] = 0
        Store(self.root).prune(most, lambda: (frozenset(), time.time() - OPENING_SECONDS))

    def _build(self, reference: Reference, build: Callable[[Path], Mapping[str, Any]]) -> Entry:
        try:
            with self._unfinished() as folder:
                began = time.monotonic()
                facts = build(folder)
                made = self.put(reference, folder, facts, is_costly=time.monotonic() - began >= COSTLY_SECONDS)
        except OSError as error:
            raise _place_error(error, self.shown) from error
        return made or self._found(reference) or self._build(reference, build)

    @contextmanager
    def _unfinished(self) -> Iterator[Path]:
        """A folder on the disk of the store that is gone at the end, unless it was renamed."""
        folder = self.root / "unfinished" / f"{os.getpid()}-{uuid.uuid4().hex}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def put(
        self, reference: Reference, folder: Path, facts: Mapping[str, Any], *, is_costly: bool = True
    ) -> Entry | None:
        """Make a folder on the disk of the store an entry; None where somebody else made the same one meanwhile.

        What is costly to make again is on the disk before it has its name. The rest the kernel writes when it likes: if
        power is lost before, the entry is not what its facts say, and is made again.
        """
        found = json.loads(json.dumps(dict(facts), default=plain))
        files = {str(file.relative_to(folder)): file_digest(file) for file in files_in(folder)}
        content = digest([files, _counted(found)])
        kept = {"digest": content, "facts": found, "files": files}
        with around("store.facts"):
            (folder / FACTS).write_text(json.dumps({**kept, "seal": digest(kept)}), encoding="utf-8")
        if is_costly:
            to_disk(folder)
        if self.shared is not None and not self.shared.put(reference, folder, files):
            return None
        with around("store.rename"):
            is_ours = rename_whole(folder, self._place(reference))
        if is_costly:
            whole_files.to_disk(self._place(reference).parent)
        if self.shared is not None:
            self._bound(sum(file.stat().st_size for file in files_in(self._place(reference))))
        return Entry(content, reference, self._place(reference), found, False, files) if is_ours else None

    def entries(self) -> list[tuple[Reference, float, int]]:
        """Every entry with the time of its last use and its size in bytes."""
        if self.shared is not None:
            return self.shared.entries()
        found = []
        for facts in self.root.glob(f"*/??/*/{FACTS}"):
            size = sum(file.stat().st_size for file in facts.parent.rglob("*") if file.is_file())
            stage, _, key = facts.parent.relative_to(self.root).parts
            found.append((Reference(stage, key), facts.stat().st_mtime, size))
        return found

    def delete(self, reference: Reference) -> None:
        """Take an entry away, and the copy of this machine."""
        if self.shared is not None:
            self.shared.delete(reference)
        if (path := self._place(reference)).exists():
            self._remove(path)

    def _remove(self, path: Path) -> None:
        """Take a folder away at once, and then its files."""
        doomed = self.root / "unfinished" / f"pruned-{uuid.uuid4().hex}"
        doomed.parent.mkdir(parents=True, exist_ok=True)
        with around("store.prune"):
            path.rename(doomed)
        shutil.rmtree(doomed)

    def prune(self, most_bytes: int, kept: Callable[[], tuple[Set[str], float]] | None = None) -> tuple[int, int]:
        """Remove the entries that were not used for longest until the rest fits; how many, and bytes left.

        `kept` is asked only if something must go: names of entries that stay whatever their age, and the moment since
        when what was used may be in use.
        """
        entries = sorted(self.entries(), key=lambda entry: entry[1])
        left, removed = sum(size for _, _, size in entries), 0
        names, busy_since = (frozenset(), math.inf) if kept is None or left <= most_bytes else kept()
        for reference, used, size in entries:
            if left <= most_bytes:
                break
            if reference.entry in names or used >= busy_since:
                continue
            self.delete(reference)
            left, removed = left - size, removed + 1
        return removed, left

    def sweep(self, older_than_seconds: float = 7 * 86_400.0) -> None:
        """Remove what processes that ended in the middle left behind; a fit that goes on for days is left alone."""
        for path in (self.root / "unfinished").glob("*"):
            owner = path.name.partition("-")[0]
            gone = owner.isdigit() and not Path(f"/proc/{owner}").exists() and Path("/proc").exists()
            if gone or _age(path) > older_than_seconds:
                shutil.rmtree(path, ignore_errors=True)


def local(reference: Reference) -> Path:
    """The folder or file of a reference on this machine, verified."""
    return Store().get(reference)


def kept_file(file: Path) -> Reference:
    """A file from elsewhere as an entry of its own, by its content."""

    def build(folder: Path) -> dict[str, Any]:
        shutil.copyfile(file, folder / file.name)
        return {}

    inputs = {"file": file_digest(file), "name": file.name}
    return Store().keep("files", inputs, f"{__name__}:kept_file", build).reference.inside(file.name)


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


def _is_known(shared: SharedStore, reference: Reference) -> bool:
    """Whether a shared store has an entry; it is asked once an hour, since it may have been pruned."""
    known, now = (shared.root, reference), time.monotonic()
    if now - _known.get(known, -math.inf) < KNOWN_SECONDS:
        return True
    if is_there := shared.has(reference):
        _known[known] = now
    return is_there


def _report(reference: Reference, damage: Exception) -> None:
    logging.getLogger("evenhand").warning("%s in the store %s: to be made anew", reference.entry, damage)


def _counted(facts: Any) -> Any:
    """The facts without what differs from one making to the next, or is only for people to read."""
    if isinstance(facts, dict):
        return {name: _counted(value) for name, value in facts.items() if name not in UNCOUNTED}
    return [_counted(value) for value in facts] if isinstance(facts, list) else facts


def _without_places(inputs: Any) -> Any:
    """The inputs, refused if a place is among them: a key holds content, so that a moved or copied store is found."""
    if isinstance(inputs, PurePath | Reference):
        raise TypeError(f"a key holds digests of content, not places such as '{inputs}'")
    if is_dataclass(inputs) and not isinstance(inputs, type):
        return {each.name: _without_places(getattr(inputs, each.name)) for each in fields(inputs)}
    if isinstance(inputs, Mapping):
        return {name: _without_places(value) for name, value in inputs.items()}
    return [_without_places(value) for value in inputs] if isinstance(inputs, list | tuple) else inputs


def _place_error(error: OSError, place: str) -> PlaceError:
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
