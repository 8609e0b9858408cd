"""Keeping a machine up: its servers as children of one process, none left behind, whatever ended the last one."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from evenhand.errors import PlaceError
from evenhand.runtime.io_errors import writing
from evenhand.runtime.process_identity import boot_id, own_children
from evenhand.runtime.whole_files import write_text
from evenhand.service.access_key import key, key_file
from evenhand.service.prefect_server.retention import vacuum_surroundings
from evenhand.service.servers import (
    HOST,
    QUIET,
    STORE,
    answers,
    check_free,
    end,
    end_all,
    ended_by_signals,
    runs_command,
)
from evenhand.service.tick_progress import MARK, followed
from evenhand.storage.artifact_store import home
from evenhand.storage.locks import alone, is_held, now
from evenhand.tracking.databases import prefect_surroundings

HEARTBEAT_SECONDS = 30
SERVED = "evenhand.cli.schedule_server"  # started by its name: commands are above this room


@dataclass(frozen=True)
class Ports:
    """Where the two servers listen."""

    prefect: int = 4200
    mlflow: int = 5000

    @property
    def prefect_api(self) -> str:
        """The address of Prefect's API."""
        return f"http://{HOST}:{self.prefect}/api"


@dataclass
class Child:
    """A server that was started, and where it writes what it says."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path


@dataclass
class Household:
    """All that is kept up, with what it is kept up for."""

    ports: Ports
    confs: list[str]
    at_once: int
    children: list[Child] = field(default_factory=list)

    def start(
        self,
        name: str,
        command: Sequence[str],
        surroundings: Mapping[str, str],
        echo: Callable[[str], None] | None = None,
    ) -> Child:
        """Start a child in a session of its own, which Ctrl-C does not reach, and write down what is up.

        With `echo`, its lines are shown as they come; what it complains of goes into its log.
        """
        log = place() / f"{name}.log"
        with writing(log), log.open("wb") as output:
            process = subprocess.Popen(
                command, env={**os.environ, **surroundings}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if echo else output, stderr=output, start_new_session=True,
            )  # fmt: skip
        if echo is not None:
            threading.Thread(target=_follow, args=(process, echo), daemon=True).start()
        self.children.append(Child(name, process, log))
        self.write_down()
        return self.children[-1]

    def write_down(self) -> None:
        """Keep who runs, so that a later start finds what this one may leave behind."""
        content = {
            "pid": os.getpid(), "boot_id": boot_id(), "since": now(), "confs": self.confs,
            "prefect": self.ports.prefect, "mlflow": self.ports.mlflow,
        }  # fmt: skip
        write_text(place() / "state.json", json.dumps(content))

    def check(self) -> None:
        """Report a child that ended by itself."""
        for child in self.children:
            if child.process.poll() is not None:
                raise PlaceError(
                    f"{child.name} ended by itself (code {child.process.returncode}): {_last_words(child.log)} "
                    f"Everything was stopped; more in '{child.log}'."
                )

    def end(self, all_but: int = 0) -> None:
        """End every child with all of its kin, the one started last first; all but the first few."""
        while len(self.children) > all_but:
            end(self.children.pop().process.pid)
        kept = {one.pid for child in self.children for one in _family(child.process.pid)}
        end_all([process for process in kin() if process.pid not in kept])


def place() -> Path:
    """Where the key, the logs and the state of what is kept up lie."""
    return home() / "up"


def state() -> dict[str, Any]:
    """What the last `evenhand up` wrote down; empty if there was none."""
    try:
        return json.loads((place() / "state.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def is_up() -> bool:
    """Whether an `evenhand up` is at work."""
    return is_held(place() / "lock")


def pages_kept_up() -> str:
    """The address of MLflow's pages that `evenhand up` keeps up here; empty where it does not."""
    return f"http://{HOST}:{port}" if (port := state().get("mlflow")) and is_up() else ""


def client_surroundings(api: str) -> dict[str, str]:
    """What lets Prefect's client and commands reach the server that is kept up."""
    return {"PREFECT_API_URL": api, "PREFECT_API_AUTH_STRING": key()}


def surroundings(ports: Ports) -> dict[str, str]:
    """The environment of every child: one server, one key, nothing sent out, nothing asked from elsewhere."""
    return {
        **QUIET,
        MARK: str(place()),
        **client_surroundings(ports.prefect_api),
        **prefect_surroundings(),
        **vacuum_surroundings(),
        "EVENHAND_MLFLOW_PAGES": f"http://{HOST}:{ports.mlflow}",
        "PREFECT_HOME": str(place() / "prefect"),
        "PREFECT_SERVER_API_AUTH_STRING": key(),
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": f"http://{HOST}:{ports.prefect}",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS),
        "PREFECT_LOGGING_LEVEL": "INFO",  # what a run says is kept with it; consoles show less
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING",
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
    }


@contextmanager
def household(ports: Ports, confs: Sequence[str], at_once: int) -> Iterator[Household]:
    """Hold the place for one `evenhand up`, with what an earlier one left behind ended before."""
    with alone(place() / "lock", "`evenhand up` is at work"):
        end_all(kin())
        for port, option in ((ports.prefect, "--prefect-port"), (ports.mlflow, "--port")):
            check_free(port, option)
        own_children()
        kept = Household(ports, [str(Path(conf).absolute()) for conf in confs], at_once)
        try:
            yield kept
        finally:
            kept.end()


def kin() -> list[psutil.Process]:
    """Every process that an `evenhand up` of this place started, also in sessions of their own, however it ended."""
    return [one for one in psutil.process_iter() if one.pid != os.getpid() and _mark(one) == str(place())]


def keep_up(
    kept: Household, runs_uri: str, echo: Callable[[str], None], close: Callable[[bool], object], ends: threading.Event
) -> None:
    """Start everything, show a line of each, and stay until Ctrl-C, SIGTERM or the end of a child.

    `close` is called when what runs studies has ended, with whether Prefect's server can still be asked.
    """
    around = surroundings(kept.ports)
    with ended_by_signals(ends) as ended:
        prefect = kept.start("prefect", _prefect_command(kept.ports.prefect), around)
        try:
            mlflow = kept.start("mlflow", runs_command(kept.ports.mlflow), {**around, STORE: runs_uri})
            _wait_for(prefect, f"{kept.ports.prefect_api}/health", ended, echo)
            echo(f"{'key':9} in {key_file()}, which the pages of Prefect and MLflow ask for")
            _wait_for(mlflow, f"http://{HOST}:{kept.ports.mlflow}/health", ended, echo)
            kept.check()
            if not ended.is_set():
                echo("starting the schedules ...")
                limited = {**around, "PREFECT_RUNNER_PROCESS_LIMIT": str(kept.at_once)}
                kept.start("schedules", [sys.executable, "-m", SERVED, *kept.confs], limited, echo)
            while not ended.wait(0.2):
                kept.check()
            echo("stopping ...")
        finally:
            kept.end(all_but=2)
            close(prefect.process.poll() is None)


def _prefect_command(port: int) -> list[str]:
    return [sys.executable, "-m", "evenhand.service.prefect_server.pages", HOST, str(port)]


def _wait_for(child: Child, address: str, ended: threading.Event, echo: Callable[[str], None]) -> None:
    if answers(address, child.process, ended, child.name):
        echo(f"{child.name:9} up at {address.removesuffix('/health').removesuffix('/api')}")


def _follow(process: subprocess.Popen[bytes], echo: Callable[[str], None]) -> None:
    """Echo what a child prints, line by line."""
    assert process.stdout is not None
    for line in process.stdout:
        echo(followed(line.decode(errors="replace").rstrip("\r\n")))


def _mark(process: psutil.Process) -> str | None:
    """The place whose `evenhand up` started a process, as its environment says."""
    try:
        return process.environ().get(MARK)
    except psutil.Error:  # another user's, or gone by now
        return None


def _family(pid: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing."
