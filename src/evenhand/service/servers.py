"""MLflow's pages: served in the foreground, announced when they answer, ended with every process they started."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import IO

import psutil

from evenhand.errors import PlaceError
from evenhand.runtime.patience import Progress, answers_in_time, waiting_aloud
from evenhand.runtime.process_identity import own_children
from evenhand.service.access_key import key
from evenhand.service.web_guard import ENTER, ONCE

HOST = "127.0.0.1"
END_SECONDS = 10.0
STORE = "MLFLOW_BACKEND_STORE_URI"
LINK = "EVENHAND_LINK"
PAGES, MODEL = "evenhand.service.runs_pages", "evenhand.service.model_server"
QUIET = {
    "DO_NOT_TRACK": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # saves eight processes and 700 MB that nothing here uses
}


def serve_runs(uri: str, port: int, ready: Callable[[str, str], None], ends: threading.Event | None = None) -> None:
    """Serve MLflow's pages of a store behind the key until Ctrl-C, SIGTERM or `ends`.

    `ready` is given the address once it answers, and a link that opens it without the key, once.
    """
    check_free(port)
    key()
    serve_child(runs_command(port), {STORE: uri}, port, ready, ends, name="MLflow")


def serve_child(
    command: Sequence[str],
    surroundings: Mapping[str, str],
    port: int,
    ready: Callable[[str, str], None],
    ends: threading.Event | None = None,
    *,
    name: str,
) -> None:
    """Keep a server of ours up in a child until Ctrl-C, SIGTERM or `ends`."""
    own_children()
    link = secrets.token_urlsafe(16)
    env = {**os.environ, **QUIET, **surroundings, LINK: link}
    with ended_by_signals(ends or threading.Event()) as ended, tempfile.TemporaryFile() as output:
        server = subprocess.Popen(command, env=env, stdout=output, stderr=output, start_new_session=True)
        try:
            address = f"http://{HOST}:{port}"
            if answers(f"{address}/health", server, ended, name):
                ready(address, f"{address}{ENTER}?{ONCE}={link}")
            while not ended.wait(0.2):
                if server.poll() is not None:
                    raise PlaceError(
                        f"{name}'s server ended by itself (code {server.returncode}): {_last_words(output)}"
                    )
        finally:
            end(server.pid)


def serve_model(
    given: Sequence[str], port: int, ready: Callable[[str, str], None], ends: threading.Event | None = None
) -> None:
    """Answer requests for scores behind the key; `given` is the model's folder, its digest and what may be in it."""
    check_free(port)
    key()
    command = [sys.executable, "-m", MODEL, HOST, str(port), *given]
    path = os.pathsep.join(filter(None, sys.path))  # where own code is found here
    serve_child(command, {"PYTHONPATH": path}, port, ready, ends, name="the model")


def runs_command(port: int) -> list[str]:
    """The command that serves MLflow's pages; the store is named in its environment, which other users cannot read."""
    return [sys.executable, "-m", PAGES, HOST, str(port)]


def check_free(port: int, option: str = "--port") -> None:
    """Refuse a port that something listens on, or that this user may not open."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError:
            raise PlaceError(f"port {port} is not open to this user: say {option} with a number above 1023") from None
        except OSError:
            raise PlaceError(
                f"port {port} is taken by another program, perhaps an `evenhand ui` or `evenhand up` that still runs: "
                f"open http://{HOST}:{port} or say {option} {free_port()}"
            ) from None


def free_port() -> int:
    """A port that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def answers(address: str, server: subprocess.Popen[bytes], ended: threading.Event, name: str = "MLflow") -> bool:
    """Wait until an address answers, however long its server works on it; false if that or the waiting ended before."""
    progress = Progress(server)

    def goes_on() -> bool:
        return server.poll() is None and not ended.is_set() and progress.goes_on()

    with waiting_aloud(f"{name}'s server"):
        if answers_in_time(address, goes_on, ended.wait):
            return True
    if server.poll() is None and not ended.is_set():
        raise PlaceError(f"{name}'s server at {address} neither answers nor works on it any more: try again")
    return False


def has_display() -> bool:
    """Whether a browser window would be seen."""
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def ended_by_signals(ended: threading.Event) -> Iterator[threading.Event]:
    """Turn Ctrl-C and SIGTERM into the event, in the main thread; elsewhere only the event counts."""
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        ended.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end(pid: int) -> None:
    """End a process and all that it started, gently first."""
    try:
        first = psutil.Process(pid)
        family = [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    end_all(family)


def end_all(processes: Sequence[psutil.Process]) -> None:
    """End processes, gently first."""
    for process in processes:
        _sent(process.terminate)
    _, alive = psutil.wait_procs(processes, timeout=END_SECONDS)
    for process in alive:
        _sent(process.kill)
    psutil.wait_procs(alive, timeout=END_SECONDS)


def _sent(signal_to: Callable[[], None]) -> None:
    """Send a signal; a process that is gone already needs none."""
    try:
        signal_to()
    except psutil.NoSuchProcess:
        return


def _last_words(output: IO[bytes]) -> str:
    output.seek(0)
    lines = [line.strip() for line in output.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"
