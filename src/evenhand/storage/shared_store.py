"""A store that several machines use, at any address of fsspec: a bucket, a file share, or memory in tests.

An object store has no rename. The files of an entry are put under a prefix that nobody else has, and then the facts,
which name that prefix, only if there are none yet: the first writer of a key wins. Who reads facts finds all files.
"""

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from evenhand.errors import EvenhandError, PlaceError
from evenhand.records.reference import Reference
from evenhand.runtime.redaction import place_of
from evenhand.runtime.whole_files import to_disk

VARIABLE = "EVENHAND_STORE"
FACTS, USED = "facts.json", "used"
PATIENCE_SECONDS, ORPHANS_SECONDS = 8.0, 7 * 86_400.0
PACKAGES = {"s3": "s3", "gs": "gs", "gcs": "gs"}
SETTINGS: dict[str, dict[str, Any]] = {
    "s3": {"config_kwargs": {"connect_timeout": 3, "read_timeout": 60, "retries": {"max_attempts": 2}}}
}
P = ParamSpec("P")
T = TypeVar("T")
TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")


def _reported(method: Callable[P, T]) -> Callable[P, T]:
    """Name the store in errors of its file system, which are of many kinds; what is not there is for the caller."""

    @wraps(method)
    def asked(*given: P.args, **named: P.kwargs) -> T:
        try:
            return method(*given, **named)
        except (EvenhandError, FileNotFoundError):
            raise
        except Exception as error:
            store, why = cast(SharedStore, given[0]), " ".join(str(error).split()) or type(error).__name__
            raise PlaceError(
                f"the store '{store.shown}' ({VARIABLE}) could not be used: {why}. Nothing half-written counts. Run "
                "the command again when it can be reached: what was made is found."
            ) from error

    return asked


class SharedStore:
    """The entries at one address."""

    def __init__(self, address: str) -> None:
        import fsspec

        self.shown = place_of(address)
        protocol = address.partition("://")[0] if "://" in address else "file"
        try:
            settings = {"use_listings_cache": False, "skip_instance_cache": True, **SETTINGS.get(protocol, {})}
            self.files, self.root = fsspec.core.url_to_fs(address, **settings)
        except (ImportError, ValueError) as error:
            extra = PACKAGES.get(protocol)
            how = (
                f"Install evenhand[{extra}]." if extra else "Write a folder, s3://bucket/prefix or gs://bucket/prefix."
            )
            raise PlaceError(f"the store '{self.shown}' ({VARIABLE}) cannot be used: {error}. {how}") from None

    def check(self) -> None:
        """Refuse a store that cannot be written to and read from, within some seconds."""
        probe, found = f"{self.root}/probe-{uuid.uuid4().hex}", list[str]()

        def probed() -> None:
            try:
                self._write(probe, b"1")
                self.files.cat_file(probe)
                self.files.rm_file(probe)
                found.append("")
            except Exception as error:  # every file system of fsspec has errors of its own
                found.append(" ".join(str(error).split()) or type(error).__name__)

        asking = threading.Thread(target=probed, daemon=True)
        asking.start()
        asking.join(PATIENCE_SECONDS)
        why = found[0] if found else f"no answer in {PATIENCE_SECONDS:g} s"
        if why:
            raise PlaceError(
                f"the store '{self.shown}' ({VARIABLE}) cannot be written to and read from here: {why}. Fix the "
                "address or the access, or unset the variable to use a folder of this machine."
            )

    @_reported
    def has(self, reference: Reference) -> bool:
        """Whether there is an entry, without a look at its content."""
        return bool(self.files.exists(self._place(reference, FACTS)))

    @_reported
    def kept(self, reference: Reference) -> tuple[str, str] | None:
        """The facts of an entry as text, and the prefix that its files lie under; None where there is no entry."""
        try:
            content = json.loads(self.files.cat_file(self._place(reference, FACTS)))
            return str(content["facts"]), str(content["under"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return "", ""

    @_reported
    def download(self, reference: Reference, under: str, name: str, file: Path) -> None:
        """One file of an entry, as a file of this machine."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.files.get_file(self._place(reference, under, name), str(file))

    @_reported
    def put(self, reference: Reference, folder: Path, names: Mapping[str, str]) -> bool:
        """Share a whole entry of this machine; false where somebody else shared the same one before."""
        if self.has(reference):
            return False
        under = uuid.uuid4().hex
        for name in names:
            self._upload(folder / name, self._place(reference, under, name))
        facts = (folder / FACTS).read_text(encoding="utf-8")
        content = json.dumps({"under": under, "facts": facts}).encode()
        if self._create(self._place(reference, FACTS), content):
            return True
        if names:
            self.files.rm(self._place(reference, under), recursive=True)
        return False

    @_reported
    def touch(self, reference: Reference) -> None:
        """Note that an entry is in use."""
        self._write(self._place(reference, USED), b"1")

    @_reported
    def entries(self) -> list[tuple[Reference, float, int]]:
        """Every entry with the time of its last use and its size in bytes."""
        found: dict[Reference, tuple[float, int]] = {}
        whole = set()
        for path, facts in self._listed():
            stage, _, key, *name = path
            reference = Reference(stage, key)
            used, size = found.get(reference, (0.0, 0))
            found[reference] = max(used, _time_of(facts)), size + int(facts["size"] or 0)
            if name == [FACTS]:
                whole.add(reference)
        return [(reference, *found[reference]) for reference in whole]

    @_reported
    def delete(self, reference: Reference) -> None:
        """Take an entry away: its facts first, so that nobody finds what is no longer whole."""
        for name in (FACTS, ""):
            try:
                self.files.rm(self._place(reference, name), recursive=not name)
            except FileNotFoundError:
                continue

    @_reported
    def sweep(self) -> None:
        """Remove what writers that ended in the middle left behind a week ago or earlier."""
        whole = {reference for reference, _, _ in self.entries()}
        for (stage, _, key, *name), facts in self._listed():
            if Reference(stage, key) not in whole and time.time() - _time_of(facts) > ORPHANS_SECONDS:
                self.files.rm_file(self._place(Reference(stage, key), *name))

    def _listed(self) -> list[tuple[list[str], dict[str, Any]]]:
        """Every file of an entry by the parts of its name, with what the file system knows of it."""
        try:
            found = self.files.find(self.root, detail=True)
        except FileNotFoundError:
            return []
        parts = [(path[len(self.root) :].strip("/").split("/"), facts) for path, facts in found.items()]
        return [(path, facts) for path, facts in parts if len(path) > 3]

    def _place(self, reference: Reference, *names: str) -> str:
        return "/".join([self.root, reference.entry, *filter(None, names)])

    def _write(self, path: str, content: bytes) -> None:
        if self._is_disk:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.files.pipe_file(path, content)

    def _upload(self, file: Path, path: str) -> None:
        if self._is_disk:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.files.put_file(str(file), path)

    def _create(self, path: str, content: bytes) -> bool:
        """Write a file if there is none of its name; false if there is.

        Disks link a whole file to its name, S3 and Google take the write on that condition. Where there is neither, it
        is looked first: of two writers in the same moment the later one wins, and both wrote the same entry.
        """
        if not self._is_disk:
            try:
                self.files.pipe_file(path, content, mode="create")
            except OSError:
                if self.files.exists(path):
                    return False
                raise
            return True
        unfinished = Path(f"{path}.{uuid.uuid4().hex}")
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        to_disk(unfinished)
        try:
            os.link(unfinished, path)
            to_disk(unfinished.parent)
            return True
        except FileExistsError:
            return False
        finally:
            unfinished.unlink()

    @property
    def _is_disk(self) -> bool:
        return "file" in self.files.protocol


def shared_store() -> SharedStore | None:
    """The store that $EVENHAND_STORE names; None where each machine has its own."""
    address = os.environ.get(VARIABLE, "")
    if not address:
        return None
    return _opened(address if "://" in address else str(Path(address).absolute()))


_opened: Callable[[str], SharedStore] = cache(SharedStore)


def _time_of(facts: Mapping[str, Any]) -> float:
    """When a file was written, in whatever form its file system says so; now, where it says nothing."""
    found = next((facts[name] for name in TIMES if facts.get(name) is not None), None)
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    if isinstance(found, datetime):
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return time.time() if found is None else float(found)
