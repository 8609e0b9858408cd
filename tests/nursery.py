"""Python programs in processes that are forked from one which has imported the libraries: that saves seconds in each.

The program itself is imported by each process anew, and Prefect's settings are read when it imports that.
`python nursery.py` is the one they are forked from, for all workers of a run. A connection names a process to start, a
line of JSON, and is given the id of that process, and its exit code when it has ended.
"""

import contextlib
import fcntl
import gc
import importlib
import importlib.machinery
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import SimpleNamespace

LIBRARIES = (
    "pandas", "pyarrow.parquet", "scipy.stats", "sklearn.ensemble", "imblearn.combine", "skops.io", "mlflow.sklearn",
    "mlflow.store.tracking.sqlalchemy_store", "matplotlib.figure", "numba", "click", "rich.console", "pydantic",
    "httpx", "prefect.main", "prefect.client.orchestration", "prefect.events.clients",
)  # fmt: skip
N_BYTES = 8  # of a number that is reported
QUEUE = 100  # connections that may wait while it imports


@cache
def _room():
    """Where what they write is put, gone with the process that reads it."""
    return tempfile.TemporaryDirectory(prefix="nursery-")


class Begun:
    """A process of the nursery, used as one of `subprocess.Popen`."""

    def __init__(self, words, surroundings):
        self._out, self._err = (Path(tempfile.mkstemp(f"-{name}", dir=_room().name)[1]) for name in ("out", "err"))
        given = {"words": [str(word) for word in words], "cwd": os.getcwd(), "env": surroundings}
        self._nursery = _connected(_nursery()[0])
        self._nursery.sendall(json.dumps({**given, "out": str(self._out), "err": str(self._err)}).encode() + b"\n")
        self.pid, self.returncode = self._reported(0), None

    def _reported(self, how):
        """The next number that the nursery reports."""
        number = self._nursery.recv(N_BYTES, socket.MSG_WAITALL | how)
        assert len(number) == N_BYTES, "the nursery has ended"
        return int.from_bytes(number, "big", signed=True)

    def poll(self):
        """The exit code, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        """The exit code once it has ended."""
        if self.returncode is None:
            if not select.select([self._nursery], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("nursery", timeout)
            self.returncode = self._reported(socket.MSG_PEEK)  # which another thread may wait for too
        return self.returncode

    def communicate(self, timeout=None):
        """What it wrote, once it has ended."""
        self.wait(timeout)
        return self._out.read_text(encoding="utf-8"), self._err.read_text(encoding="utf-8")

    def send_signal(self, number):
        """Send it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self):
        """End it."""
        self.send_signal(signal.SIGKILL)


def begun(*words, **surroundings):
    """A process that does what `python *words` does, `-m module` or `-c code`, in the surroundings of this moment."""
    return Begun(words, {**os.environ, **surroundings})


def ran(*words, timeout=300, **surroundings):
    """What a process that has ended wrote, and its exit code."""
    return ended(begun(*words, **surroundings), timeout)


def run(command, *, timeout, env, **_):
    """What `subprocess.run` does with a command of this Python."""
    return ran(*command[1:], timeout=timeout, **env)


def ended(process, timeout=300):
    """What a process wrote until it ended, and its exit code."""
    out, err = process.communicate(timeout)
    return SimpleNamespace(returncode=process.returncode, stdout=out, stderr=err)


@cache
def _nursery():
    """Where the process listens that others are forked from, and a connection that keeps it alive.

    All workers of one run share it: the first that needs it starts it, and it ends once none of them is connected.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    place = Path(tempfile.gettempdir(), f"nursery-{run[:12]}")
    with _alone():
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            return place, _connected(place)
        place.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(place))
            door.listen(QUEUE)
            subprocess.Popen(
                [sys.executable, __file__, str(door.fileno()), str(place)], pass_fds=[door.fileno()], cwd="/",
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
        return place, _connected(place)


@contextlib.contextmanager
def _alone():
    """Nobody else starts or ends a nursery."""
    with Path(__file__).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _connected(place):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(place))
    return connection


def serve(number, place):
    """Start what is asked for until nobody is connected who could ask."""
    gc.disable()  # imports leave no garbage
    for name in LIBRARIES:
        importlib.import_module(name)
    _Kept()
    gc.freeze()
    gc.set_threshold(100_000)  # as our own command has it
    gc.enable()
    door, connected = socket.socket(fileno=int(number)), []
    while True:
        for each in select.select([door, *connected], [], [])[0]:
            if each is door:
                connected.append(door.accept()[0])
            elif line := _line(each):
                _start(json.loads(line), each, [door, *connected])
            else:
                connected.remove(each)
                each.close()
        if not connected:
            with _alone():
                if not select.select([door], [], [], 0)[0]:
                    Path(place).unlink()
                    return


def _line(connection):
    """What is asked for, or nothing once nobody is there."""
    with contextlib.suppress(ConnectionResetError), connection.makefile("rb") as asked:
        return asked.readline()


def _start(given, asking, sockets):
    """Fork a process that does what is given, and report its id, and how it ended when it has."""
    ready, go = os.pipe()
    if not (pid := os.fork()):
        for each in sockets:
            each.close()
        os.close(go)
        os.read(ready, 1)  # until its id is known
        os.close(ready)
        _become(given)
    _report(asking, pid)
    threading.Thread(target=_wait, args=(asking, pid), daemon=True).start()
    os.close(ready)
    os.close(go)


def _wait(asking, pid):
    _report(asking, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _report(asking, number):
    with contextlib.suppress(OSError):  # who asked may be gone
        asking.sendall(number.to_bytes(N_BYTES, "big", signed=True))


def _become(given):
    """Do in this fork what a new interpreter would do with the words, and end."""
    os.setsid()
    for number, place in ((0, os.devnull), (1, given["out"]), (2, given["err"])):
        file = os.open(place, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(os.dup(n), mode, 1) for n, mode in ((0, "r"), (1, "w"), (2, "w")))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(given["cwd"])
    os.environ.clear()
    os.environ.update(given["env"])
    kind, what, *words = given["words"]
    sys.argv[:] = [what if kind == "-m" else "-c", *words]
    sys.orig_argv[:] = [sys.executable, *given["words"]]
    sys.path[:] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *sys.path[1:]]
    os._exit(_outcome(kind, what))


class _Kept:
    """Prefect as it was imported here, handed to the program that imports it; its settings are read then."""

    def __init__(self):
        self._modules = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == "prefect"}
        self._spec = self._modules["prefect"].__spec__
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name == "prefect" else None

    def create_module(self, spec):
        return self._modules["prefect"]

    def exec_module(self, module):
        """Settings and logs as this environment has them: they are all that Prefect learns of it when imported."""
        module.__spec__ = self._spec
        sys.meta_path.remove(self)
        sys.modules.update(self._modules)
        from prefect.context import refresh_global_settings_context
        from prefect.logging import configuration

        refresh_global_settings_context()
        configuration.PROCESS_LOGGING_CONFIG.clear()
        configuration.setup_logging()


def _outcome(kind, what):
    import atexit
    import traceback

    code = 0
    try:
        if kind == "-m":
            runpy.run_module(what, run_name="__main__")
        else:
            exec(compile(what, "-c", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve(*sys.argv[1:])
