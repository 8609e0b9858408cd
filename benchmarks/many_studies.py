"""Many small studies that are all due at the same time, again and again, under `evenhand up` with a cluster.

A scheduler and four workers on this machine, a Prefect and an MLflow server, and as many studies as asked, whose rows
are made up anew between two ticks. The week that is asked for is seven ticks of 200 studies; fewer are for a machine
with little time. It prints what `up` takes while nothing is due, how many runs were under way at once, seconds until
all had ended, memory of what stays up after the first and the last tick, and ticks that were lost or came twice.

usage: python benchmarks/many_studies.py [STUDIES [TICKS [MINUTES_BETWEEN]]]
"""

import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import yaml
from clusters import SMALL, Room, room
from soak import sixty_rows

from evenhand.service.servers import free_port
from evenhand.service.tick_ledger import OVER, ticks_of

AT_ONCE, N_WORKERS, QUIET_SECONDS = 4, 4, 60
MINUTES = (5, 10, 15, 20, 30, 60)
RUN = "prefect.engine"  # in the command of a process that runs a study


def main() -> int:
    """Live through the ticks and print what came of them; 1 if one was lost or came twice."""
    n_studies, n_ticks, minutes = [*map(int, sys.argv[1:]), *(200, 7, 0)[len(sys.argv) - 1 :]]
    minutes = minutes or next(each for each in MINUTES if 60 * each >= 6 * n_studies or each == MINUTES[-1])
    with room(SMALL, 100) as where:
        os.environ |= {"EVENHAND_HOME": str(where.folder / "driver"), "EVENHAND_STORE": where.env["EVENHAND_STORE"]}
        os.chdir(where.folder)
        write_studies(n_studies, minutes)
        for number in range(N_WORKERS):
            where.worker(f"w{number}")
        up = begun(where)
        try:
            return lived(psutil.Process(up.pid), n_studies, n_ticks, minutes)
        finally:
            up.send_signal(signal.SIGTERM)
            up.wait()
            os.chdir("/")


def write_studies(n_studies: int, minutes: int) -> None:
    """A folder of studies, all due at the same times."""
    Path("conf").mkdir()
    for number in range(n_studies):
        write_rows(number, 0)
        study = {
            "name": f"s{number}", "source": {"path": f"rows/{number}.csv"}, "target": "y",
            "split": {"folds": 2, "holdout_share": 0.25}, "candidates": ["gaussian_nb"], "engine": "dask",
            "schedule": {"cron": f"*/{minutes} * * * *" if minutes < 60 else "0 * * * *", "grace": "6h"},
        }  # fmt: skip
        Path(f"conf/s{number}.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")


def write_rows(number: int, tick: int) -> None:
    """Sixty rows that no other study and no other tick has."""
    Path("rows").mkdir(exist_ok=True)
    sixty_rows([number, tick]).to_csv(f"rows/{number}.csv", index=False)


def begun(where: Room) -> "subprocess.Popen[str]":
    """`evenhand up`, which says that it serves every schedule."""
    ports = ["--port", str(free_port()), "--prefect-port", str(free_port()), "--at-once", str(AT_ONCE)]
    up = where.process(sys.executable, "-m", "evenhand", "up", "conf", *ports, home="driver", cwd=where.folder)
    n_studies, log, since = len(list(Path("conf").iterdir())), where.folder / "log", time.perf_counter()
    while log.read_text().count("schedule  s") < n_studies:
        if up.poll() is not None:
            raise SystemExit(f"`evenhand up` ended with {up.returncode}:\n{log.read_text()[-2000:]}")
        time.sleep(0.5)
    print(f"{n_studies} studies served after {time.perf_counter() - since:.0f} s", flush=True)
    return up


def tick_after(moment: datetime, minutes: int) -> datetime:
    """The first time that is due after a moment."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return day + (1 + (moment - day) // timedelta(minutes=minutes)) * timedelta(minutes=minutes)


def lived(up: psutil.Process, n_studies: int, n_ticks: int, minutes: int) -> int:
    """Wait for each tick of each study, and print what was seen."""
    names, first = [f"s{number}" for number in range(n_studies)], tick_after(datetime.now(UTC), minutes)
    if first - datetime.now(UTC) < timedelta(seconds=QUIET_SECONDS + 10):  # too soon to see what is taken before
        seen(up, lambda: all(is_over(name, first) for name in names))
        first = tick_after(datetime.now(UTC) + timedelta(seconds=QUIET_SECONDS + 10), minutes)
    before = processor_seconds(up)
    time.sleep(QUIET_SECONDS)
    print(f"nothing due: {100 * (processor_seconds(up) - before) / QUIET_SECONDS:.0f} % of a core", flush=True)
    due = [first + k * timedelta(minutes=minutes) for k in range(n_ticks)]
    memory: list[dict[str, float]] = []
    for number, moment in enumerate(due):
        for each in range(n_studies):
            write_rows(each, number + 1)
        most = seen(up, lambda moment=moment: all(is_over(name, moment) for name in names))
        seconds = (datetime.now(UTC) - moment).total_seconds()
        print(f"tick {moment:%H:%M}: all {n_studies} ended {seconds:.0f} s later; {most}", flush=True)
        memory.append({name: process.memory_info().rss / 2**20 for name, process in staying(up).items()})
    for name, mb in memory[0].items():
        print(
            f"memory of {name}: {mb:.0f} MB after the first tick, {memory[-1].get(name, math.nan):.0f} after the last"
        )
    wrong = lost_or_twice(names, due)
    kinds = Counter(line.outcome for name in names for line in ticks_of(name) if line.moment in due)
    print(f"asked: {n_studies * len(due)} ticks, each once; lost or twice: {wrong or 'none'}; lines {dict(kinds)}")
    return 1 if wrong else 0


def is_over(study: str, moment: datetime) -> bool:
    """Whether a tick has come to an end."""
    return any(line.moment == moment and line.outcome in OVER for line in ticks_of(study))


def seen(up: psutil.Process, is_done: Callable[[], bool]) -> str:
    """The most memory and the most runs that were under way at once until something is done."""
    most, at_once = 0.0, 0
    while not is_done():
        runs, mb = 0, 0.0
        for process in up.children(recursive=True):
            try:
                mb += process.memory_full_info().uss / 2**20
                runs += any(RUN in word for word in process.cmdline())
            except psutil.Error:  # it has ended by now
                continue
        most, at_once = max(most, mb), max(at_once, runs)
        time.sleep(2)
    return f"at most {at_once} at once and {most:,.0f} MB without the workers"


def processor_seconds(up: psutil.Process) -> float:
    """What all that is up has taken by now."""
    return sum(sum(process.cpu_times()[:2]) for process in staying(up).values())


def staying(up: psutil.Process) -> dict[str, psutil.Process]:
    """The processes that stay up, by what they do."""
    marks = {"prefect": "prefect_server.pages", "mlflow": "runs_pages", "schedules": "schedule_server"}
    found = {"up": up}
    for process in up.children(recursive=True):
        words = " ".join(process.cmdline())
        found |= {name: process for name, mark in marks.items() if mark in words and name not in found}
    return found


def lost_or_twice(names: list[str], due: list[datetime]) -> list[str]:
    """The ticks that came to no end, or to two."""
    found = []
    for name in names:
        over = Counter(line.moment for line in ticks_of(name) if line.outcome in OVER)
        found += [f"{name} {moment:%H:%M} x{over[moment]}" for moment in due if over[moment] != 1]
    return found[:20]


if __name__ == "__main__":
    sys.exit(main())
