"""Queries put to a real PostgreSQL server, and both servers' tables kept in it, where one is installed."""

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import test_up
import yaml
from makers import make_study, write_two_clouds

from evenhand.errors import DataError, PlaceError
from evenhand.storage.artifact_store import home, local
from evenhand.storage.database_locks import connected, is_held_in_database
from evenhand.storage.ledger import Broken, append_line, held, ledgers_in, read_chain
from evenhand.storage.locks import LockHeld, one_run_of
from evenhand.tasks.ingestion import ingest
from evenhand.tracking.mlflow_client import LEASE_SECONDS, PROCESS, _is_orphan, open_store

SECRET = "a-word-nobody-may-see"


def programs():
    """The folder of the newest server's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
    return found[-1].parent if found else None


def as_postgres(*words):
    """The server refuses to run as root, so root hands it to the user that comes with the package."""
    return ["runuser", "-u", "postgres", "--", *words] if os.getuid() == 0 else list(words)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a server of the tests' own, ended with them."""
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL (evenhand[postgres]) is not installed")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL's server is not installed (no /usr/lib/postgresql/*/bin/initdb)")
    if os.getuid() == 0 and shutil.which("runuser") is None:
        pytest.skip("the server does not run as root, and there is no runuser to start it as another user")
    room = Path(
        subprocess.check_output(
            as_postgres("mktemp", "-d", "-p", tempfile.gettempdir(), "evenhand-postgres-XXXXXX"), text=True
        ).strip()
    )
    try:
        yield from _served(folder, room)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _served(folder, room):
    (password := room / "password").write_text(SECRET, encoding="utf-8")
    password.chmod(0o644)
    user = "postgres" if os.getuid() == 0 else getpass.getuser()
    making = [folder / "initdb", "-D", room / "data", "-U", user, "-A", "scram-sha-256", f"--pwfile={password}", "-N"]
    subprocess.run(as_postgres(*map(str, making)), check=True, capture_output=True, cwd=room)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = f"-h 127.0.0.1 -p {port} -k {room} -F"
    control = [folder / "pg_ctl", "-D", room / "data", "-w", "-l", room / "log"]
    subprocess.run(
        as_postgres(*map(str, control), "-o", options, "start"), check=True, stdout=subprocess.DEVNULL, cwd=room
    )
    try:
        yield f"postgresql+psycopg://{user}:{SECRET}@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run(as_postgres(*map(str, control), "-m", "fast", "stop"), check=True, capture_output=True, cwd=room)


@pytest.fixture
def database(server, monkeypatch):
    """The server with a table of storms, its address in a variable."""
    from sqlalchemy import create_engine, text

    monkeypatch.setenv("STORMS_URL", server)
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS storms"))
        connection.execute(
            text("CREATE TABLE storms (day date, wind double precision, gusts numeric(5, 1), sky text, storm boolean)")
        )
        connection.execute(
            text(
                "INSERT INTO storms SELECT date '2024-01-01' + i, i / 4.0, i * 1.5, "
                "CASE WHEN i % 3 = 0 THEN NULL ELSE 'grey' END, i % 10 = 0 FROM generate_series(1, 30) AS i"
            )
        )
    engine.dispose()


def asking(query):
    return make_study(source={"sql": {"url": "${STORMS_URL}", "query": query}}, target="storm")


def test_the_rows_of_a_query_arrive_with_their_types(database):
    snapshot = ingest.fn(asking("SELECT * FROM storms WHERE wind > 2.5 ORDER BY day"))

    rows = pd.read_parquet(local(snapshot.stored))
    assert snapshot.n_rows == 20  # i / 4 > 2.5 from i = 11 on, of 30
    assert [column.kind for column in snapshot.columns] == ["date", "numeric", "numeric", "categorical", "categorical"]
    assert rows.wind.tolist() == [i / 4 for i in range(11, 31)]
    assert rows.gusts.astype(float).tolist() == [i * 1.5 for i in range(11, 31)]
    assert rows.sky.isna().sum() == 7  # 12, 15, ... 30
    assert rows.storm.sum() == 2  # 20 and 30
    assert SECRET not in snapshot.origin


def test_the_same_rows_again_are_found_unchanged_and_a_new_one_is_seen(database, server):
    from sqlalchemy import create_engine, text

    first = ingest.fn(asking("SELECT * FROM storms"))
    again = ingest.fn(asking("SELECT * FROM storms"))
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO storms VALUES (date '2025-01-01', 1.0, 2.0, 'blue', true)"))
    engine.dispose()
    grown = ingest.fn(asking("SELECT * FROM storms"))

    assert (again.digest, again.n_rows) == (first.digest, 30)
    assert grown.n_rows == 31
    assert grown.digest != first.digest


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * FROM hurricanes", 'relation "hurricanes" does not exist'),
        ("SELECT * FROM storms WHERE wind > 1000", "gave no rows: check its conditions"),
        ("SELECT wind, wind FROM storms", "name them apart with AS"),
    ],
)
def test_a_query_that_cannot_be_used_is_reported(database, query, told):
    with pytest.raises(DataError, match=told):
        ingest.fn(asking(query))


def test_a_wrong_password_is_reported_without_showing_it(database, server, monkeypatch):
    monkeypatch.setenv("STORMS_URL", server.replace(SECRET, "another-secret"))

    with pytest.raises(DataError, match="password authentication failed") as told:
        ingest.fn(asking("SELECT * FROM storms"))

    assert "another-secret" not in str(told.value)


WITHOUT_FIGURES_OR_DATA = """
    select name from mlflow.runs where name not like 'skipped%' and (
        run_uuid not in (select run_uuid from mlflow.latest_metrics) or
        run_uuid not in (select run_uuid from mlflow.params) or
        run_uuid not in (select destination_id from mlflow.inputs)
    )
"""


@pytest.mark.slow
def test_up_keeps_both_servers_tables_in_it_and_leaves_nothing_running(server, monkeypatch, mlruns):
    from psycopg import connect

    monkeypatch.setenv("EVENHAND_DATABASE_URL", server.replace("+psycopg", "+asyncpg"))
    write_two_clouds()
    Path("storm.yaml").write_text(yaml.safe_dump(test_up.CONF), encoding="utf-8")
    up = test_up.Up()
    try:
        up.wait_for("skipped: neither data nor settings changed")
        commands = " ".join(word for process in up.family() for word in process.cmdline())
        shown = test_up.evenhand("show", "storm")
        code = up.stop()
    finally:
        up.kill()

    with connect(server.replace("+psycopg", "")) as database:
        states = database.execute("select state_type::text from prefect.flow_run")
        left = {state for (state,) in states} & {"PENDING", "RUNNING"}
        runs = database.execute("select distinct status from mlflow.runs").fetchall()
        bare = database.execute(WITHOUT_FIGURES_OR_DATA).fetchall()
    assert (code, left, runs, bare) == (0, set(), [("FINISHED",)], []), up.said()
    assert shown.returncode == 0, shown.stderr
    assert not Path("mlruns/mlflow.db-wal").exists()
    assert SECRET not in commands + up.said() + "".join(log.read_text() for log in Path("home/up").glob("*.log"))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://a:b@c/d", "EVENHAND_DATABASE_URL begins with 'mysql': write it as postgresql"),
        (
            "postgresql+asyncpg://me:a-word-nobody-may-see@127.0.0.1:1/d",
            "the database at 127.0.0.1:1 .* cannot be used",
        ),
    ],
)
def test_a_database_that_cannot_be_used_is_reported_without_its_password(url, told, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATABASE_URL", url)

    with pytest.raises(PlaceError, match=told) as caught:
        open_store()

    assert SECRET not in str(caught.value)


HOLDER = """
import os, sys
os.environ["EVENHAND_HOME"] = sys.argv[1]
from evenhand.storage.locks import one_run_of
with one_run_of("tiny"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def elsewhere(server, tmp_path, monkeypatch):
    """A process with a home of its own that runs a study, as one of another machine would, until it is killed."""
    monkeypatch.setenv("EVENHAND_DATABASE_URL", server.replace("psycopg", "asyncpg"))
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "theirs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_study_that_another_machine_runs_is_not_run_here(elsewhere):
    with pytest.raises(LockHeld, match=r"study 'tiny' is being run by .+@.+ since \d{4}-\d\d-\d\d"), one_run_of("tiny"):
        pytest.fail("two run the study")

    with one_run_of("another"):
        assert is_held_in_database("another")
    assert not is_held_in_database("another")


def test_a_machine_that_is_gone_runs_nothing(elsewhere):
    assert is_held_in_database("tiny")
    elsewhere.kill()
    elsewhere.wait()
    wait_until(lambda: not is_held_in_database("tiny"))

    with one_run_of("tiny"):
        assert is_held_in_database("tiny")


def test_a_run_of_another_machine_is_an_orphan_when_nobody_holds_its_study(elsewhere):
    theirs = {PROCESS: json.dumps({"boot_id": "theirs", "host": "theirs", "pid": "1"})}
    running, over = (
        SimpleNamespace(data=SimpleNamespace(tags={**theirs, "evenhand.study": name}), info=None)
        for name in ("tiny", "another")
    )

    assert not _is_orphan(running)
    assert _is_orphan(over)


@pytest.mark.parametrize(("age", "is_orphan"), [(0, False), (LEASE_SECONDS + 60, True)])
def test_without_a_database_a_run_of_another_machine_is_an_orphan_when_its_lease_is_over(age, is_orphan, monkeypatch):
    monkeypatch.delenv("EVENHAND_DATABASE_URL", raising=False)
    tags = {PROCESS: json.dumps({"boot_id": "theirs", "host": "theirs", "pid": str(os.getpid())})}
    begun = SimpleNamespace(start_time=(time.time() - age) * 1000)

    assert _is_orphan(SimpleNamespace(data=SimpleNamespace(tags=tags), info=begun)) is is_orphan


def test_a_database_without_an_answer_is_one_message(monkeypatch):
    monkeypatch.setenv("EVENHAND_DATABASE_URL", f"postgresql+asyncpg://me:{SECRET}@127.0.0.1:9/none")

    with pytest.raises(PlaceError, match="the database of locks and ledgers") as error, one_run_of("tiny"):
        pytest.fail("nobody vouches for that")

    assert SECRET not in str(error.value)


def wait_until(holds, attempts=6000):
    for _ in range(attempts):
        if holds():
            return
        time.sleep(0.05)
    pytest.fail("it did not come to pass")


APPENDER = """
import os, sys
os.environ["EVENHAND_HOME"] = sys.argv[1]
from evenhand.storage.artifact_store import home
from evenhand.storage.ledger import append_line, held, read_chain
file = home() / "decisions" / "many.jsonl"
for n in range(10):
    with held(file):
        append_line(file, {"who": sys.argv[2], "n": n}, read_chain(file, "ledger"))
"""


@pytest.fixture
def at_home(server, tmp_path, monkeypatch):
    """What makes this process work with the home of a machine; the database is all machines'."""
    monkeypatch.setenv("EVENHAND_DATABASE_URL", server.replace("psycopg", "asyncpg"))

    def switch(name):
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / name))
        return home() / "decisions" / f"{tmp_path.name}.jsonl"

    return switch


def line_after(file, n):
    with held(file):
        return append_line(file, {"n": n}, read_chain(file, "ledger"))


def numbers(file):
    return [line["n"] for line in read_chain(file, "ledger").lines]


def test_machines_with_one_database_have_one_ledger(at_home):
    line_after(at_home("ours"), 1)
    line_after(at_home("theirs"), 2)

    assert numbers(at_home("ours")) == numbers(at_home("theirs")) == [1, 2]
    assert not at_home("ours").exists()
    assert at_home("ours") in ledgers_in(at_home("ours").parent)


def test_machines_that_write_at_once_write_one_chain(at_home, tmp_path):
    at_home("ours")
    processes = [subprocess.Popen([sys.executable, "-c", APPENDER, str(tmp_path / who), who]) for who in "ab"]
    assert [process.wait() for process in processes] == [0, 0]

    lines = read_chain(home() / "decisions" / "many.jsonl", "ledger").lines
    assert [line["number"] for line in lines] == list(range(1, 21))
    assert sorted((line["who"], line["n"]) for line in lines) == [(who, n) for who in "ab" for n in range(10)]


def test_a_number_of_a_line_is_given_once(at_home):
    file = at_home("ours")
    before = read_chain(file, "ledger")
    append_line(file, {"n": 1}, before)

    with pytest.raises(PlaceError, match=r"another machine wrote line 1 of the ledger .* run the command again"):
        append_line(file, {"n": 2}, before)
    assert numbers(file) == [1]


def test_a_ledger_from_before_is_brought_in_and_another_one_is_refused(at_home, monkeypatch):
    with monkeypatch.context() as patch:
        files = [at_home("ours"), at_home("theirs")]
        patch.delenv("EVENHAND_DATABASE_URL")
        for n, name in enumerate(("ours", "theirs")):
            line_after(at_home(name), n)
    monkeypatch.setenv("EVENHAND_HOME", str(files[0].parents[1]))

    assert numbers(files[0]) == [0]
    line_after(files[0], 5)
    assert numbers(files[0]) == [0, 5]
    with pytest.raises(PlaceError, match=r"of this machine was kept before .* move the file away"):
        numbers(at_home("theirs"))


def test_lines_dropped_from_the_database_are_noticed(at_home, server):
    file = at_home("ours")
    line_after(file, 1)
    line_after(file, 2)
    with connected("test") as connection:
        connection.execute("DELETE FROM evenhand.ledger WHERE number = 2 AND name LIKE %s", [f"%{file.stem}"])

    with pytest.raises(Broken, match="has 1 of 2 lines: its end was dropped"):
        read_chain(file, "ledger")
