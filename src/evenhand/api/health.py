"""Whether this machine is fit to run studies: findings with their state in words and, if not well, what to do."""

import os
import platform
import re
import shutil
import sqlite3
import subprocess
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, overload

import psutil
from packaging.requirements import Requirement

from evenhand.errors import listed
from evenhand.models.acceleration import available
from evenhand.runtime.patience import no_answer
from evenhand.runtime.text import size_text
from evenhand.service.prefect_session import be_quiet
from evenhand.storage.artifact_store import home

KNOCK_SECONDS = 5.0
LEAST_MEMORY, LEAST_DISK = 2 * 2**30, 2**30
OFF = {
    "DO_NOT_TRACK": ("1", "true"),
    "MLFLOW_DISABLE_TELEMETRY": ("1", "true"),
    "PREFECT_SERVER_ANALYTICS_ENABLED": ("0", "false"),
}
REVISION = re.compile(r"^(down_revision|revision)\b.*?=\s*[\"'](\w+)[\"']", re.MULTILINE)
DATABASE = "MLflow database"


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: `ok`, `warn` where work goes on without it, `fail` where nothing can run."""

    state: Literal["ok", "warn", "fail"]
    what: str
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Findings(Sequence[Finding]):
    """All findings; `is_fit` where nothing would stop a run."""

    found: tuple[Finding, ...]

    @property
    def is_fit(self) -> bool:
        """Whether no finding is a failure."""
        return not any(each.state == "fail" for each in self.found)

    @overload
    def __getitem__(self, place: int) -> Finding: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Finding]: ...
    def __getitem__(self, place: int | slice) -> Finding | Sequence[Finding]:
        return self.found[place]

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        lines = [f"{each.state:5} {each.what}: {each.found}{f' -> {each.remedy}' * bool(each.remedy)}" for each in self]
        return "\n".join(lines)


def doctor() -> Findings:
    """What is well and what is not with versions, folders, databases, servers and speed; nothing is changed.

    Examples
    --------
    >>> doctor()[0].what
    'Python'
    """
    be_quiet()
    return Findings(tuple(examine()))


def examine() -> Iterator[Finding]:
    """Every check in turn; a check that breaks is itself a finding."""
    for check in (_python, _packages, _places, _database, _prefect, _speed, _numba, _machine, _telemetry, _data, _git):
        yield from _guarded(check)


def _guarded(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as error:
        what = check.__name__.strip("_")
        yield Finding("fail", what, f"could not be checked: {type(error).__name__}: {error}", "install evenhand anew")


def _python() -> Iterator[Finding]:
    asked = distribution("evenhand").metadata["Requires-Python"]
    found = platform.python_version()
    if Requirement(f"python{asked}").specifier.contains(found, prereleases=True):
        yield Finding("ok", "Python", found)
    else:
        yield Finding("fail", "Python", f"{found}, but {asked} is needed", "make the environment with another Python")


def _packages() -> Iterator[Finding]:
    needed = [Requirement(text) for text in distribution("evenhand").requires or ()]
    needed = [each for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = [mismatch for each in needed if (mismatch := _mismatch(each))]
    if wrong:
        yield Finding("fail", "packages", "; ".join(wrong), "run make install, or pip install evenhand anew")
    else:
        yield Finding("ok", "packages", f"evenhand {version('evenhand')}, all {len(needed)} it needs are in range")


def _mismatch(needed: Requirement) -> str:
    """How an installed package differs from what is asked; empty if it does not."""
    try:
        found = version(needed.name)
    except PackageNotFoundError:
        return f"{needed.name} is not installed"
    is_right = needed.specifier.contains(found, prereleases=True)
    return "" if is_right else f"{needed.name} is {found}, but {needed.specifier} is needed"


def _places() -> Iterator[Finding]:
    yield _place("store", home(), "set EVENHAND_HOME to a folder you may write to")
    if "MLFLOW_TRACKING_URI" not in os.environ:
        yield _place("mlruns", Path("mlruns").absolute(), "make it writable, or set MLFLOW_TRACKING_URI")


def _place(what: str, folder: Path, remedy: str) -> Finding:
    """Whether a folder, or the nearest one above it that is there, takes a file."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    probe = there / f".evenhand-probe-{uuid.uuid4().hex}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        return Finding("fail", what, f"'{there}' is not writable: {error.strerror}", remedy)
    free = shutil.disk_usage(there).free
    made = "" if there == folder else ", will be made"
    if free < LEAST_DISK:
        return Finding("warn", what, f"{folder}{made}; only {size_text(free)} free", "free space, or `evenhand prune`")
    return Finding("ok", what, f"{folder}{made}; {size_text(free)} free")


def _database() -> Iterator[Finding]:
    uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path('mlruns').absolute() / 'mlflow.db'}"
    if uri.startswith("http"):
        yield _server("MLflow server", f"{uri.rstrip('/')}/health", "start it, or unset MLFLOW_TRACKING_URI")
    elif uri.startswith("sqlite:///"):
        yield _sqlite(Path(uri.removeprefix("sqlite:///").partition("?")[0]))
    else:
        yield Finding("warn", DATABASE, f"{uri.partition(':')[0]} is not checked here", "try `evenhand show`")


def _sqlite(file: Path) -> Finding:
    if not file.exists():
        return Finding("ok", DATABASE, f"{file} is not there yet; the first run makes it")
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=KNOCK_SECONDS)) as connection:
            found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            n_runs = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    except sqlite3.DatabaseError as error:
        return Finding(
            "fail", DATABASE, f"'{file}' cannot be read: {error}", "move it away; the next run makes a new one"
        )
    current = _newest_schema()
    if found is None or found[0] != current:
        shown = found[0] if found else "none"
        remedy = f"copy it, then: mlflow db upgrade sqlite:///{file}"
        return Finding(
            "fail", DATABASE, f"'{file}' has schema {shown}, MLflow {version('mlflow')} needs {current}", remedy
        )
    return Finding("ok", DATABASE, f"{file}, {n_runs:,} runs, schema current")


def _newest_schema() -> str:
    """The newest revision of MLflow's schema, read from its files: importing MLflow takes a second."""
    spec = find_spec("mlflow")
    assert spec is not None
    assert spec.origin is not None
    files = (Path(spec.origin).parent / "store/db_migrations/versions").glob("*.py")
    found = [REVISION.findall(file.read_text(encoding="utf-8")) for file in files]
    made = {number for each in found for key, number in each if key == "revision"}
    built_upon = {number for each in found for key, number in each if key == "down_revision"}
    return (made - built_upon).pop()


def _prefect() -> Iterator[Finding]:
    from prefect.settings import PREFECT_API_URL

    address = PREFECT_API_URL.value()
    if address:
        remedy = "start it (prefect server start), or unset PREFECT_API_URL"
        yield _server("Prefect server", f"{str(address).rstrip('/')}/health", remedy)
    else:
        yield Finding("ok", "Prefect server", "none is named, so each run starts one for itself")


def _server(what: str, address: str, remedy: str) -> Finding:
    if why := no_answer(address, KNOCK_SECONDS):
        return Finding("fail", what, f"{address} does not answer: {why}", remedy)
    return Finding("ok", what, f"{address} answers")


def _speed() -> Iterator[Finding]:
    if available():
        yield Finding("ok", "acceleration", f"scikit-learn-intelex {version('scikit-learn-intelex')}")
    elif platform.machine() in {"x86_64", "AMD64"}:
        found = "scikit-learn-intelex is not installed; a kernel SVM on many rows takes some ten times as long"
        yield Finding("warn", "acceleration", found, "pip install 'evenhand[fast]'")
    else:
        yield Finding("ok", "acceleration", f"there is none for {platform.machine()}")


def _numba() -> Iterator[Finding]:
    from numba import njit

    if njit(_doubled)(21) == 42:
        yield Finding("ok", "numba", f"{version('numba')} compiles")
    else:
        yield Finding("fail", "numba", f"{version('numba')} computes wrongly", "install evenhand anew")


def _doubled(number: int) -> int:
    return 2 * number


def _machine() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = psutil.virtual_memory()
    found = f"{cores} cores, {size_text(memory.available)} of {size_text(memory.total)} memory available"
    if memory.available < LEAST_MEMORY:
        yield Finding("warn", "machine", found, "close other programs, or say workers: 1 in the study")
    else:
        yield Finding("ok", "machine", found)


def _telemetry() -> Iterator[Finding]:
    loud = [name for name, values in OFF.items() if os.environ.get(name, "").lower() not in values]
    if loud:
        remedy = "unset " + " ".join(loud) + "; evenhand turns telemetry off where nothing is set"
        yield Finding("warn", "telemetry", f"{listed(loud)} let packages report home", remedy)
    else:
        yield Finding("ok", "telemetry", "off: nothing leaves this machine")


def _data() -> Iterator[Finding]:
    elsewhere = os.environ.get("EVENHAND_DATA")
    folder = Path(elsewhere) if elsewhere else Path("data")
    named = f"EVENHAND_DATA={elsewhere}" if elsewhere else "data/"
    if folder.is_dir():
        n_files = sum(file.is_file() for file in folder.iterdir())
        yield Finding("ok", "data", f"{named} has {n_files:,} files")
    elif elsewhere:
        yield Finding("fail", "data", f"{named} is no folder", "correct it, or unset it to use data/ here")
    else:
        yield Finding(
            "warn", "data", "there is no data/ here", "make it, or set EVENHAND_DATA, for studies that name data/..."
        )


def _git() -> Iterator[Finding]:
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        yield Finding("warn", "git", "is not installed", "install it to have the commit kept with each run")
        return
    if done.returncode:
        yield Finding("warn", "git", "this folder is no checkout", "run in one to have the commit kept with each run")
    else:
        yield Finding("ok", "git", f"commit {done.stdout.strip()[:12]} will be kept with each run")
