"""Every test has a folder and a store of its own, and nothing leaves the machine."""

import fcntl
import gc
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from threading import RLock
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
DRAIN_SECONDS = 20
ALLOCATIONS = 100_000  # between two looks at young objects, as in our own processes
FONTS = os.environ.get("MPLCONFIGDIR") or str(Path.home() / ".cache" / "matplotlib")  # takes seconds to make
PREFECT_SCHEMA = """
import asyncio
from prefect.server.database import provide_database_interface

asyncio.run(provide_database_interface().create_db())
"""
LONGEST = (  # half a minute of the processor and more, the longest first; those that wait between those that work
    "service/test_up.py", "runtime/test_fault_injection.py", "study/test_example_studies.py", "data/test_postgres.py",
    "flows/test_reuse.py", "flows/test_interruption.py", "flows/test_tick.py", "flows/test_retrain.py",
    "study/test_shipped_studies.py", "storage/test_audit.py", "docs/test_typed_pages.py",
)  # fmt: skip
for quiet, value in {
    "DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true", "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}.items():  # fmt: skip
    os.environ[quiet] = value  # before a server of the whole session starts
# Workers have the cores already: threads beside them would wait for each other, at full load.
for kind in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{kind}_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each of hundreds of processes would compile the program anew
sys.dont_write_bytecode = False
sys.path[:0] = [str(HERE), str(HERE / "service")]  # so that tests can import makers

# A run finds what every other run of the same tests finds. With EVENHAND_FREE_SEED=1 each draws anew, and a failure
# says how to draw it again.
UNTIMED = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, **UNTIMED)
EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "2000"))
settings.register_profile("free", derandomize=False, max_examples=EXAMPLES, print_blob=True, **UNTIMED)
settings.load_profile("free" if os.environ.get("EVENHAND_FREE_SEED") == "1" else "repeatable")


def pytest_addoption(parser):
    parser.addoption("--shuffle", metavar="SEED", help="files, and the tests of each, in an order drawn with this seed")


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers():
    """`-n auto` is two workers more than cores: some tests mostly wait, for servers and for what is due."""
    return (yield) + 2


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Garbage is not looked for while modules are imported, which leave none; then seldom, and not among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(ALLOCATIONS)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The worker that comes to a module of tests first compiles it for all of them, one module ahead of the others."""
    if not isinstance(collector, pytest.Module):
        return (yield)
    with collector.path.open() as module:
        fcntl.flock(module, fcntl.LOCK_EX)
        return (yield)


def pytest_collection_finish():
    """What numba compiles, one worker compiles, and the others read it from the cache."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        from numba.core.dispatcher import Dispatcher

        Dispatcher.compile = alone(Dispatcher.compile)


def alone(compile_one):
    """A compilation that begins when no other worker compiles."""
    lock, outermost = RLock(), []

    @wraps(compile_one)
    def compile_alone(dispatcher, signature):
        with lock, Path(__file__).open() as place:
            if outermost:  # what calls another kernel compiles that too
                return compile_one(dispatcher, signature)
            fcntl.flock(place, fcntl.LOCK_EX)
            outermost.append(dispatcher)
            try:
                return compile_one(dispatcher, signature)
            finally:
                outermost.clear()
                fcntl.flock(place, fcntl.LOCK_UN)  # also for processes forked meanwhile, which have it open too

    return compile_alone


def pytest_collection_modifyitems(config, items):
    """The longest files and those with slow tests come first: no worker is left with one when the others have ended."""
    if seed := config.getoption("shuffle"):
        items.sort(key=lambda item: (drawn(seed, item.path), drawn(seed, item.nodeid)))
        return
    n_slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    places = {HERE / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (places.get(item.path, len(places)), -n_slow[item.path]))


def pytest_sessionfinish():
    """What is still there at the end, when pytest has garbage looked for twice, is not gone through for it."""
    gc.freeze()


def drawn(seed, name):
    """A place in an order that is the same in every worker."""
    return sha256(f"{seed} {name}".encode()).digest()


@pytest.fixture(autouse=True)
def own_room(tmp_path, tmp_path_factory, monkeypatch):
    """The current folder and the store are the test's own; what a user's folders share, all tests share."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MPLCONFIGDIR", FONTS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def home_of_all(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def same_home(own_room, home_of_all, monkeypatch):
    """The home is one for all tests of a module that ask for it: what is the same work in two of them is done once."""
    monkeypatch.setenv("EVENHAND_HOME", str(home_of_all))


@pytest.fixture(scope="module")
def blank_pictures():
    """The pictures of all runs of a module are kept without being drawn."""
    from makers import leave_pictures_blank

    with pytest.MonkeyPatch.context() as patch:
        leave_pictures_blank(patch)
        yield


@pytest.fixture(scope="session")
def forked_proofs():
    """A model is proved by a process that is forked from the nursery: as clean as a new one, without its imports."""
    import nursery

    from evenhand.tracking import reload_check

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reload_check, "subprocess", SimpleNamespace(run=nursery.run))
        yield


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory, forked_proofs):
    """An MLflow database without runs; its schema takes seconds to make, so one worker makes it for all.

    Which schema MLflow's newest is, it works out for each database from all its migrations: once is enough.
    """
    from mlflow.store.db import utils

    def made(file):
        from mlflow import MlflowClient

        MlflowClient(f"sqlite:///{file}").search_experiments(max_results=1)
        put_into_one_file(file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils, "_get_latest_schema_revision", cache(utils._get_latest_schema_revision))
        yield made_once("mlflow.db", made, tmp_path_factory)


@pytest.fixture
def mlruns(empty_database, tmp_path):
    """The folder mlruns/ with an empty database, where the program looks for it."""
    folder = tmp_path / "mlruns"
    folder.mkdir()
    shutil.copy(empty_database, folder / "mlflow.db")
    return folder


@pytest.fixture(scope="session")
def empty_prefect(tmp_path_factory):
    """A database of Prefect's server without runs; its schema takes seconds to make, so one worker makes it for all."""
    import nursery

    def made(file):
        done = nursery.ran("-c", PREFECT_SCHEMA, PREFECT_SERVER_DATABASE_CONNECTION_URL=f"sqlite+aiosqlite:///{file}")
        assert done.returncode == 0, done.stderr
        put_into_one_file(file)

    return made_once("prefect.db", made, tmp_path_factory)


def put_into_one_file(database):
    """Have nothing of a database stand in files beside it, so that it can be copied and renamed."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")


def shared_room(tmp_path_factory):
    """The folder of all workers."""
    room = tmp_path_factory.getbasetemp()
    return room.parent if "PYTEST_XDIST_WORKER" in os.environ else room


def made_once(name, make, tmp_path_factory):
    """A file that the first worker that needs it makes for all of them."""
    room = shared_room(tmp_path_factory)
    file, unfinished = room / name, room / f"unfinished-{name}"
    with (room / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel lets go of it, however a worker ends
        if not file.exists():
            unfinished.unlink(missing_ok=True)
            make(unfinished)
            unfinished.rename(file)
    return file


@pytest.fixture(scope="session")
def prefect_server(empty_prefect, forked_proofs, tmp_path_factory):
    """Prefect's server, one for all workers; no flow run sends heartbeats, whose end takes a second each.

    It is reached without TLS: its clients, two or more a run, need not read all certificates that there are.
    """
    import certifi
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker
    from prefect.server.api.server import SubprocessASGIServer
    from prefect.settings import (
        PREFECT_API_REQUEST_TIMEOUT,
        PREFECT_API_SSL_CERT_FILE,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED,
        PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED,
        temporary_settings,
    )
    from prefect.testing import utilities

    unread = (PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED, PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED)

    def drain():
        """What Prefect's harness waits for without an end, which once never came, is waited for with one."""
        for workers in (APILogWorker, EventsWorker):
            workers.drain_all(timeout=DRAIN_SECONDS)

    def joined(server):
        return SharedServer(server, empty_prefect, tmp_path_factory)

    certificate = tmp_path_factory.mktemp("certificate") / "one.pem"
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----\n")
    certificate.write_text(first + end, encoding="utf-8")
    client = {PREFECT_API_REQUEST_TIMEOUT: 300, PREFECT_API_SSL_CERT_FILE: str(certificate)}

    with (
        temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None, **client, **dict.fromkeys(unread, False)}),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(SubprocessASGIServer, "_run_uvicorn_command", joined)
        with utilities.prefect_test_harness(server_startup_timeout=300):
            patch.setattr(utilities, "run_coro_as_sync", lambda coroutine: (coroutine.close(), drain()))
            yield


SERVED = """
import fcntl
import os
import socket
import sys
import threading
from pathlib import Path

from evenhand.runtime.starting import importing, seldom

number, users, port_file = sys.argv[1:]


def end():
    with open(users) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # once no worker holds it any more
        Path(port_file).unlink(missing_ok=True)
        os._exit(0)


threading.Thread(target=end, daemon=True).start()
seldom()
with importing():
    import uvicorn
    from evenhand.service.prefect_server.application import application

    served = application(sys.stderr.write)
config = uvicorn.Config(served, log_level="error", lifespan="on")
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(number))])
"""


class SharedServer:
    """The process of Prefect's harness: one for all workers, with the application as our servers serve it.

    The first worker that needs it starts it, and it ends once none of them holds the lock on `prefect-users`.
    """

    def __init__(self, server, empty, tmp_path_factory):
        self._room = shared_room(tmp_path_factory)
        self._users = (self._room / "prefect-users").open("w")
        fcntl.flock(self._users, fcntl.LOCK_SH)  # waits for the end of a server that is about to end

        def start(port_file):
            database = shutil.copy(empty, self._room / "prefect-served.db")
            with socket.socket() as place:
                place.bind(("127.0.0.1", 0))
                self._start(place, f"sqlite+aiosqlite:///{database}")
                port_file.write_text(str(place.getsockname()[1]), encoding="utf-8")

        server.port = int(made_once("prefect-port", start, tmp_path_factory).read_text(encoding="utf-8"))

    def _start(self, place, database):
        from prefect.settings import get_current_settings

        role = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
        given = get_current_settings().to_environment_variables(exclude_unset=True)
        subprocess.Popen(
            [sys.executable, "-c", SERVED, str(place.fileno()), self._users.name, str(self._room / "prefect-port")],
            env={**os.environ, **role, **given, "PREFECT_SERVER_DATABASE_CONNECTION_URL": database},
            pass_fds=[place.fileno()], start_new_session=True,
        )  # fmt: skip

    def poll(self):
        """Nothing, for it goes on."""

    def terminate(self):
        """Have it end, if nobody else needs it."""
        fcntl.flock(self._users, fcntl.LOCK_UN)
        self._users.close()

    def wait(self, timeout=None):
        """Wait for nothing: others may need it."""


@pytest.fixture
def shared_server(prefect_server, monkeypatch):
    """Have the commands use the server of the tests, which saves starting one each."""
    from prefect.settings import PREFECT_API_URL

    monkeypatch.setenv("PREFECT_API_URL", PREFECT_API_URL.value())
