"""Content-addressed files that tasks exchange and later runs reuse.

A key is the digest of what went in, the parameters, the source of the code that does the work (with all of our modules
that it imports) and the versions of the numeric packages. An entry is a folder that is written under another name and
renamed when it is whole, so that a half-written one is never seen.
"""

import ast
import errno
import hashlib
import importlib.util
import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evenhand.errors import PlaceError
from evenhand.runtime.fault_injection import around

NUMERIC_PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "scikit-learn",
    "imbalanced-learn",
    "numba",
    "scikit-learn-intelex",
)
FACTS = "facts.json"
OURS = "evenhand"
_under_way: dict[Path, threading.Lock] = {}
_guard = threading.Lock()
_reading_code = threading.Lock()  # ast.parse from two threads at once fails in Python 3.11


@dataclass(frozen=True)
class Entry:
    """A folder of the store, the facts kept with it, and whether it was there before."""

    digest: str
    path: Path
    facts: dict[str, Any]
    reused: bool


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


@cache
def versions() -> dict[str, str]:
    """The installed versions of the packages that numbers depend on."""
    found = {}
    for name in NUMERIC_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def code_digest(module: str) -> str:
    """What changes when the code behind a module does: its source and all of our own that it imports, or a version."""
    with _reading_code:
        return _code_digest(module)


@cache
def _code_digest(module: str) -> str:
    package = module.partition(".")[0]
    if package != OURS and (installed := _installed_version(package)):
        return digest([package, installed])
    return digest({name: _source_digest(file) for name, file in _closure(module).items()})


def _installed_version(package: str) -> str:
    """The version of a package that was installed from elsewhere; empty for code that lies beside the study."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin or "site-packages" not in spec.origin:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        return "as in the versions of the key"


@cache
def _source_digest(file: str) -> str:
    return hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()


class Store:
    """Makes an entry once; later calls with the same key find it."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or home() / "store"

    def keep(
        self, stage: str, inputs: Mapping[str, Any], module: str, build: Callable[[Path], Mapping[str, Any]]
    ) -> Entry:
        """The entry for these inputs; `build` fills a folder and returns facts if there is none yet."""
        key = digest([stage, inputs, code_digest(module), versions()])
        path = self.root / stage / key[:2] / key
        with _building(path):
            if (facts := _read_facts(path)) is not None:
                return Entry(key, path, facts, reused=True)
            return Entry(key, path, self._build(path, build), reused=False)

    def _build(self, path: Path, build: Callable[[Path], Mapping[str, Any]]) -> dict[str, Any]:
        unfinished = self.root / "unfinished" / f"{os.getpid()}-{uuid.uuid4().hex}"
        try:
            unfinished.mkdir(parents=True)
            facts = json.loads(json.dumps(dict(build(unfinished)), default=_plain))
            with around("store.facts"):
                (unfinished / FACTS).write_text(json.dumps(facts), encoding="utf-8")
            with around("store.rename"):
                _rename(unfinished, path)
        except OSError as error:
            raise _place_error(error, self.root) from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return facts

    def entries(self) -> list[tuple[Path, float, int]]:
        """Every entry with the time of its last use and its size in bytes."""
        found = []
        for facts in self.root.glob(f"*/??/*/{FACTS}"):
            size = sum(file.stat().st_size for file in facts.parent.rglob("*") if file.is_file())
            found.append((facts.parent, facts.stat().st_mtime, size))
        return found

    def prune(self, most_bytes: int) -> tuple[int, int]:
        """Remove the entries that were not used for longest until the rest fits; how many, and bytes left."""
        entries = sorted(self.entries(), key=lambda entry: entry[1])
        left, removed = sum(size for _, _, size in entries), 0
        for path, _, size in entries:
            if left <= most_bytes:
                break
            doomed = self.root / "unfinished" / f"pruned-{uuid.uuid4().hex}"
            doomed.parent.mkdir(parents=True, exist_ok=True)
            with around("store.prune"):
                path.rename(doomed)
            shutil.rmtree(doomed)
            left, removed = left - size, removed + 1
        return removed, left

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


def _read_facts(path: Path) -> dict[str, Any] | None:
    try:
        text = (path / FACTS).read_text(encoding="utf-8")
        os.utime(path / FACTS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _place_error(error, path) from error
    return json.loads(text)


def _rename(unfinished: Path, path: Path) -> None:
    """Give a whole entry its name; the same entry made by another process meanwhile is as good."""
    try:
        unfinished.rename(path)
    except FileNotFoundError:
        if not unfinished.exists():
            raise
        path.parent.mkdir(parents=True, exist_ok=True)
        _rename(unfinished, path)
    except OSError as error:
        if error.errno not in {errno.EEXIST, errno.ENOTEMPTY} or _read_facts(path) is None:
            raise


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


def _closure(module: str) -> dict[str, str]:
    package, todo, files = module.partition(".")[0], [module], {}
    while todo:
        name = todo.pop()
        file = _file_of(name)
        if name in files or file is None:
            continue
        files[name] = file
        todo += [found for found in _imported(name, file) if found.partition(".")[0] == package]
    return files


@cache
def _file_of(module: str) -> str | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ModuleNotFoundError, AttributeError, ValueError):
        return None
    return spec.origin if spec is not None and spec.origin and spec.origin.endswith(".py") else None


def _parsed(source: str) -> ast.Module:
    """The tree of a source text; Python 3.11 fails at times while another thread parses, and not when asked again."""
    for pause in (0.0, 0.01, 0.1, 1.0):
        try:
            return ast.parse(source)
        except SystemError:
            time.sleep(pause)
    return ast.parse(source)


@cache
def _imported(module: str, file: str) -> list[str]:
    """The names a source file imports; `from a import b` counts as a and as a.b."""
    package = module if file.endswith("__init__.py") else module.rpartition(".")[0]
    found = []
    for node in ast.walk(_parsed(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            name = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found += [name, *(f"{name}.{alias.name}" for alias in node.names)]
    return found
