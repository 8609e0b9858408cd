"""A year of a schedule in simulated time, four ticks a day, with what goes wrong in a year.

One process lives through it, with a Prefect server beside it as `evenhand up` starts one. The study is tiny: 60 rows
made up anew each day, naive Bayes. One tick a day finds new rows; three find none and are skipped. Now and then the
source is away, the run is killed (in a child, by a fault point), the disk is full (fsync fails), or Prefect's server
is killed. After what would end a process, ticks are reckoned as at a restart. Prefect's own times are real, so its
database is aged by a month whenever one has passed; the server's own vacuum, each minute instead of each hour, does the
rest.

It prints whether every tick was seen to once, memory and descriptors of this process and of the server in the first and
the last quarter, rows of Prefect's database, and how many runs of MLflow stand for skipped ticks. SIGTERM ends it after
the day under way, with the same report.

usage: python benchmarks/soak.py [DAYS [TICKS]]   with each of the faults once in so many ticks, 131 unless said
"""

import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import psutil

FAULTS = {0.13: "source", 0.34: "disk", 0.54: "kill", 0.77: "server"}
START, STEP, MONTH = datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=6), 30
CONF = """
name: soak
source: {path: rows.csv}
target: y
split: {folds: 2, holdout_share: 0.25}
candidates: [gaussian_nb]
workers: 1
schedule: {cron: "0 */6 * * *", grace: 2h}
"""
DIES_AT = "store.rename.before"
CHILD = """
import sys
from datetime import datetime
from unittest.mock import patch
from evenhand.flows.tick import tick
at = datetime.fromisoformat(sys.argv[1])
with patch("evenhand.flows.tick.clock", lambda: at):
    tick("soak.yaml", as_of=at, because="schedule", return_state=True)
"""
TABLES = ("flow_run", "task_run", "task_run_state", "log", "artifact", "events", "event_resources")


@dataclass
class Look:
    """What a day looked like from outside."""

    memory_mb: float
    n_descriptors: int
    server_mb: float
    n_server_descriptors: int
    tick_seconds: float
    tick_processor_seconds: float
    n_rows: int


@dataclass
class Life:
    """What is counted on the way."""

    server: subprocess.Popen[bytes]
    env: dict[str, str]
    looks: list[Look] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Live through the days and print what came of them; exit code 1 if a tick was lost or came twice."""
    n_days = int(sys.argv[1]) if len(sys.argv) > 1 else 365
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 131
    room = Path(tempfile.mkdtemp(prefix="soak-"))
    os.chdir(room)
    os.environ["EVENHAND_HOME"] = str(room / "home")
    Path("soak.yaml").write_text(CONF, encoding="utf-8")
    from evenhand.service.schedules import reckon
    from evenhand.service.servers import free_port
    from evenhand.service.supervisor import Ports, client_surroundings, surroundings
    from evenhand.study.loader import load_study

    ports = Ports(free_port(), free_port())
    os.environ |= client_surroundings(ports.prefect_api)
    from evenhand.service.prefect_session import be_quiet, leave_failures_to_the_caller

    be_quiet("CRITICAL")
    env = {**os.environ, **surroundings(ports), "PREFECT_SERVER_SERVICES_DB_VACUUM_LOOP_SECONDS": "60"}
    life = Life(serving(ports, env), env)
    leave_failures_to_the_caller()
    reckon(load_study("soak.yaml"), START - STEP)  # as `evenhand up` does when it starts
    try:
        began = time.perf_counter()
        ends: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, frame: ends.append(number))
        for day in range(n_days):
            live(day, life, lambda: serving(ports, env), every)
            if ends:
                break
        report(len(life.looks), life, time.perf_counter() - began)
    finally:
        life.server.terminate()
        life.server.wait()
        os.chdir("/")
        shutil.rmtree(room)


def serving(ports: Any, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """A Prefect server that answers."""
    import threading

    from evenhand.service.servers import answers
    from evenhand.service.supervisor import _prefect_command

    with open("server.log", "ab") as log:
        server = subprocess.Popen(_prefect_command(ports.prefect), env=env, stdout=log, stderr=log)
    assert answers(f"{ports.prefect_api}/health", server, threading.Event(), "Prefect")
    return server


def live(day: int, life: Life, serve: Callable[[], subprocess.Popen[bytes]], every: int) -> None:
    """The four ticks of a day."""
    write_rows(day)
    seconds, working = [], time.process_time()
    for k in range(4):
        moment = START + timedelta(days=day) + k * STEP
        began = time.perf_counter()
        fault = fault_of(4 * day + k, every)
        life.faults[fault] += 1
        HAPPENS[fault](moment, life, serve)
        if not fault:
            seconds.append(time.perf_counter() - began)
    working = time.process_time() - working
    if (day + 1) % MONTH == 0:
        age_database()
    me, server = psutil.Process(), psutil.Process(life.server.pid)
    life.looks.append(
        Look(
            me.memory_info().rss / 2**20, me.num_fds(), server.memory_info().rss / 2**20, server.num_fds(),
            statistics.fmean(seconds or [0.0]), working / 4, sum(rows_of_database().values()),
        )
    )  # fmt: skip
    if (day + 1) % 20 == 0:
        print(f"day {day + 1}: {life.looks[-1]} {dict(life.states)}", flush=True)


def fault_of(number: int, every: int) -> str:
    """What goes wrong at a tick: nothing, mostly."""
    return {round(share * every): fault for share, fault in FAULTS.items()}.get(number % every, "")


def write_rows(day: int) -> None:
    """Sixty rows that differ from those of the day before."""
    sixty_rows(day).to_csv("rows.csv", index=False)


def sixty_rows(seed: int | list[int]) -> pd.DataFrame:
    """Two numbers, one of which says something of the class."""
    draw = np.random.default_rng(seed)
    y = np.arange(60) % 3 == 0
    return pd.DataFrame({"x": draw.normal(size=60) + 1.5 * y, "z": draw.normal(size=60), "y": y.astype(int)})


def tick_at(moment: datetime, life: Life, because: str = "schedule", at: datetime | None = None) -> Any:
    """A tick at the moment when the schedule fires, or later."""
    from evenhand.flows.tick import tick

    with patch("evenhand.flows.tick.clock", lambda: at or moment + timedelta(seconds=3)):
        state = tick("soak.yaml", as_of=moment, because=because, return_state=True)
    life.states[state.name] += 1
    if state.is_failed():
        print(moment, " ".join(str(state.message).split())[:400], flush=True)
    return state


def restart(moment: datetime, life: Life) -> None:
    """What a restart does a quarter of an hour later: closes what was left, and catches up."""
    from evenhand.service.deployments import close_lost
    from evenhand.service.schedules import close_recorded, reckon
    from evenhand.study.loader import load_study

    at = moment + timedelta(minutes=15)
    close_recorded(["soak"])
    close_lost()
    if (pending := reckon(load_study("soak.yaml"), at)) is not None:
        tick_at(pending, life, because="catch-up", at=at)


def _source(moment: datetime, life: Life, serve: Any) -> None:
    Path("rows.csv").rename("away.csv")
    try:
        assert tick_at(moment, life).is_failed()
    finally:
        Path("away.csv").rename("rows.csv")


@contextmanager
def full_disk() -> Iterator[None]:
    """Have every fsync fail as on a full disk."""

    def fails(number: int) -> None:
        raise OSError(28, "No space left on device")

    with patch("os.fsync", fails):
        yield


def _disk(moment: datetime, life: Life, serve: Any) -> None:
    with full_disk():
        assert tick_at(moment, life).is_failed()
    restart(moment, life)


def _kill(moment: datetime, life: Life, serve: Any) -> None:
    write_rows(10_000 + int(moment.timestamp()) // 3600)  # so that there is something to do
    words = [sys.executable, "-c", CHILD, moment.isoformat()]
    from evenhand.runtime.fault_injection import VARIABLE

    done = subprocess.run(words, env={**os.environ, VARIABLE: DIES_AT}, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    restart(moment, life)


def _server(moment: datetime, life: Life, serve: Callable[[], subprocess.Popen[bytes]]) -> None:
    from evenhand.errors import PlaceError
    from evenhand.service.prefect_server.at_hand import check_prefect

    life.server.kill()
    life.server.wait()
    try:
        check_prefect()
    except PlaceError:
        life.states["refused: no server"] += 1
    life.server = serve()
    restart(moment, life)


def _nothing(moment: datetime, life: Life, serve: Any) -> None:
    tick_at(moment, life)


HAPPENS: dict[str, Callable[..., None]] = {
    "": _nothing, "source": _source, "disk": _disk, "kill": _kill, "server": _server,
}  # fmt: skip


def database() -> Path:
    from evenhand.service.supervisor import place

    return place() / "prefect" / "prefect.db"


def rows_of_database() -> dict[str, int]:
    """How many rows the tables have that grow with what runs."""
    with closing(sqlite3.connect(database(), timeout=60)) as server:
        return {table: server.execute(f"select count(*) from {table}").fetchone()[0] for table in TABLES}


def age_database() -> None:
    """Have all that Prefect knows be a month older."""
    columns = {"flow_run": "end_time", "events": "occurred", "event_resources": "occurred", "log": "timestamp"}
    with closing(sqlite3.connect(database(), timeout=60)) as server:
        for table, column in columns.items():
            server.execute(
                f"update {table} set {column} = strftime('%Y-%m-%d %H:%M:%f', {column}, '-{MONTH} days') "
                f"where {column} is not null"
            )
            server.commit()  # so that the server waits for one table at most


def report(n_days: int, life: Life, seconds: float) -> None:
    """Print what was counted, first against last quarter, and what became of the ticks."""
    quarter = max(n_days // 4, 1)
    first, last = life.looks[:quarter], life.looks[-quarter:]
    print(
        f"{n_days} days, {4 * n_days} ticks in {seconds:.0f} s; faults: {dict(life.faults)}; ended: {dict(life.states)}"
    )
    for name in Look.__dataclass_fields__:
        before, after = (statistics.median(getattr(look, name) for look in looks) for looks in (first, last))
        print(f"{name:22} first quarter {before:10.2f}   last quarter {after:10.2f}")
    print("Prefect's database:", rows_of_database(), f"{database().stat().st_size / 2**20:.1f} MB")
    wrong = lost_or_twice(n_days)
    with closing(sqlite3.connect("mlruns/mlflow.db")) as runs:
        kinds = Counter(
            kind for (kind,) in runs.execute("select value from tags where key = 'evenhand.kind'").fetchall()
        )
        going = runs.execute("select count(*) from runs where status = 'RUNNING'").fetchone()[0]
    print(f"MLflow: {dict(kinds)}, {going} RUNNING; ticks lost or twice: {wrong or 'none'}")
    sys.exit(bool(wrong) or kinds["tick"] > n_days or bool(going))


def lost_or_twice(n_days: int) -> list[str]:
    """The ticks that came to no end, or to two; what was missed stands for those before it."""
    from evenhand.service.tick_ledger import OVER, ticks_of

    lines = [line for line in ticks_of("soak") if line.outcome in OVER]
    seen = Counter(line.moment for line in lines)
    due = [START + k * STEP for k in range(4 * n_days)]
    return [f"{moment:%m-%d %H:%M} x{seen[moment]}" for moment in due if seen[moment] != 1][:20]


if __name__ == "__main__":
    main()
