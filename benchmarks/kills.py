"""Runs killed with `kill -9` at every named moment and at random ones: what the next run makes of what they left.

A study is run undisturbed once. Then, each time in a folder of its own, `evenhand run` is started, it alone is killed,
and it is run again. First it dies at each moment that runtime/fault_injection names and a run gets to; then at N
moments drawn evenly over its stages, and within a stage over the time that it took. Its rows and figures must be those
of the undisturbed run; three seconds after the kill no process of it may be left; nothing may be RUNNING afterwards in
MLflow or on Prefect's server, which stays up for all of them; and a third run must do no fits. Ends with exit code 1 if
anything is amiss.

usage: python benchmarks/kills.py [N, 200 if left out] [SEED] [SHARE of the named moments, 1 if left out]
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from evenhand.runtime.fault_injection import VARIABLE
from evenhand.service.servers import free_port

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fault_points import moments

CONF = """\
name: killed
source: {sklearn: {name: breast_cancer, majority_per_minority: 9}}
target: target
positive: malignant
split: {holdout: hash, holdout_share: 0.25, folds: 3}
balance: [none, undersample]
candidates: {gaussian_nb: , logistic: }
metric: average_precision
gate: {}
workers: 2
"""
FIGURES = ("name", "cv", "train", "holdout", "cv_interval", "holdout_interval")
UNDER_WAY = ["PENDING", "RUNNING", "CANCELLING"]
SECONDS = 600
ORPHAN_SECONDS, LOOK_SECONDS = 3.0, 0.02
ELSEWHERE = ("fetch", "ledger.truncate", "manifest", "mlflow.point", "notification", "scored", "store.prune")
MARKS = ("mlruns/mlflow.db", "home/store/*", "mlruns/artifacts", "home/reports", "home/recorded", "home/decisions")


class Broken(Exception):
    """A run did not come to its end."""


@contextmanager
def prefect(folder: Path) -> Iterator[str]:
    """The address of a Prefect server of our own."""
    port = free_port()
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    around = {"PREFECT_HOME": str(folder), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=os.environ | around, stdout=log, stderr=log, start_new_session=True)
    try:
        address = f"http://127.0.0.1:{port}/api"
        deadline = time.monotonic() + SECONDS
        while not answers(f"{address}/health"):
            if server.poll() is not None or time.monotonic() > deadline:
                raise SystemExit((folder / "server.log").read_text())
            time.sleep(0.2)
        yield address
    finally:
        for process in psutil.Process().children(recursive=True):  # the server, and a run that is under way
            with suppress(psutil.NoSuchProcess):
                process.kill()
        server.wait()


def answers(address: str) -> bool:
    """Whether an address answers at once."""
    with suppress(OSError):
        return bool(urllib.request.urlopen(address, timeout=5).status == 200)
    return False


def begun(folder: Path, api: str, moment: str = "") -> subprocess.Popen[bytes]:
    """`evenhand run` as a shell starts it, in a process group of its own; it dies at the moment, if one is named."""
    around = {"EVENHAND_HOME": str(folder / "home"), "PREFECT_API_URL": api, "DO_NOT_TRACK": "1", VARIABLE: moment}
    with (folder / "said.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "evenhand", "run", "killed.yaml", "--json", "report.json"],
            cwd=folder, env=os.environ | around, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip


def furnished(folder: Path) -> Path:
    """A folder with the study."""
    folder.mkdir()
    (folder / "killed.yaml").write_text(CONF, encoding="utf-8")
    return folder


def ended(folder: Path, api: str) -> dict[str, Any]:
    """The report of a run that comes to its end."""
    process = begun(folder, api)
    try:
        code = process.wait(SECONDS)
    finally:
        end(process)
    if code:
        raise Broken(f"the next run ended with {code}: {(folder / 'said.log').read_text()[-600:]}")
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return report


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with its whole group, whatever is left of them."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def comes_to(report: dict[str, Any]) -> dict[str, Any]:
    """All that must be the same whatever happened on the way."""
    return {
        "rows": report["rows"],
        "best": report["best"],
        "figures": [{name: each[name] for name in FIGURES} for each in report["candidates"]],
    }


def statuses(folder: Path) -> list[str]:
    """The status of every run in MLflow; none before its database is there."""
    if not (file := folder / "mlruns/mlflow.db").exists():
        return []
    with closing(sqlite3.connect(file)) as database, suppress(sqlite3.OperationalError):
        return [status for (status,) in database.execute("select status from runs")]
    return []


def n_under_way(api: str) -> int:
    """How many flow and task runs Prefect believes to be going on."""
    return sum(counted(api, kind) for kind in ("flow_runs", "task_runs"))


def counted(api: str, kind: str) -> int:
    chosen = {kind: {"state": {"type": {"any_": UNDER_WAY}}}}
    request = urllib.request.Request(
        f"{api}/{kind}/count", json.dumps(chosen).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(json.loads(answer.read()))


def stages_seen(folder: Path, process: "subprocess.Popen[bytes]") -> Iterator[tuple[str, float]]:
    """What a run leaves in its folder, as it appears, each with its moment, until the run ends."""
    seen: set[str] = {"home/store/unfinished"}
    yield "start", time.monotonic()
    while process.poll() is None:
        for mark in MARKS:
            for path in sorted(folder.glob(mark)):
                if (name := str(path.relative_to(folder))) not in seen:
                    seen.add(name)
                    yield name, time.monotonic()
        time.sleep(LOOK_SECONDS)
    yield "end", time.monotonic()


def stages_of(folder: Path, api: str) -> dict[str, float]:
    """How long an undisturbed run stays in each of its stages, named after what it left last."""
    process = begun(folder, api)
    seen = list(stages_seen(folder, process))
    return {name: after - at for (name, at), (_, after) in pairwise(seen)}


def killed(folder: Path, api: str, stage: str, after: float) -> bool:
    """Whether a run was killed so many seconds after a stage began; if not, it came to its end before."""
    process = begun(folder, api)
    for name, _ in stages_seen(folder, process):
        if name == stage:
            break
    with suppress(subprocess.TimeoutExpired):
        process.wait(after)
    process.kill()
    return process.wait() == -signal.SIGKILL


def dies_at(folder: Path, api: str, moment: str) -> bool:
    """Whether a run died at a named moment; if not, it does not get there."""
    return begun(folder, api, moment).wait(SECONDS) == -signal.SIGKILL


def orphans(folder: Path) -> list[str]:
    """The processes of a killed run that are still there when they should have been ended."""
    deadline = time.monotonic() + ORPHAN_SECONDS
    while (left := _left(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    return [str(process.pid) for process in left]


def _left(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_of_it = process.environ().get("EVENHAND_HOME") == str(folder / "home")
            if is_of_it and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def amiss(folder: Path, api: str, expected: dict[str, Any]) -> tuple[list[str], int]:
    """What the next run makes of a killed one other than it should, and how many fits it found done."""
    try:
        report, rerun = ended(folder, api), ended(folder, api)
    except Broken as error:
        return [str(error)], 0
    wrong = {
        "other figures than undisturbed": comes_to(report) != expected,
        "other figures when rerun": comes_to(rerun) != expected,
        f"{rerun['fits']['executed']} fits in an unchanged rerun": rerun["fits"]["executed"] > 0,
        "RUNNING in MLflow": "RUNNING" in statuses(folder),
        "under way in Prefect": n_under_way(api) > 0,
        "left unfinished in the store": any((folder / "home/store/unfinished").glob("*")),
    }
    return [words for words, is_so in wrong.items() if is_so], report["fits"]["reused"]


class Tally:
    """What became of the runs that were killed."""

    def __init__(self, room: Path, api: str, expected: dict[str, Any]) -> None:
        self.room, self.api, self.expected = room, api, expected
        self.n_done = self.n_wrong = self.n_open = self.n_started = 0

    def folder(self) -> Path:
        """A folder for the next run."""
        self.n_started += 1
        return furnished(self.room / str(self.n_started))

    def take(self, folder: Path, words: str) -> None:
        """Look at what a killed run left, run it again, and print what came of it."""
        left, was_open = orphans(folder), "RUNNING" in statuses(folder)
        wrong, n_reused = amiss(folder, self.api, self.expected)
        wrong += [f"orphans {left}"] * bool(left)
        self.n_done, self.n_wrong, self.n_open = (
            self.n_done + 1, self.n_wrong + bool(wrong), self.n_open + was_open,
        )  # fmt: skip
        state = "open in MLflow" if was_open else "not begun or at its end"
        print(f"{self.n_done:>3}  {words}, {state}, {n_reused} fits found: {'; '.join(wrong) or 'well'}", flush=True)
        shutil.rmtree(folder)


def main(n_kills: int = 200, seed: int = 7, share: float = 1.0) -> int:
    """Kill so many runs, and print what became of each."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as room:
        (server := Path(room) / "server").mkdir()
        with prefect(server) as api:
            expected = comes_to(ended(furnished(Path(room) / "undisturbed"), api))
            tally, stages = Tally(Path(room), api, expected), stages_of(furnished(Path(room) / "measured"), api)
            named = [each for each in moments() if not each.startswith(ELSEWHERE) and draw.random() < share]
            for moment in named:
                if dies_at(folder := tally.folder(), api, moment):
                    tally.take(folder, f"at {moment}")
            n_named = tally.n_done
            while tally.n_done < n_named + n_kills:
                stage = draw.choice(list(stages))
                after = draw.uniform(0, stages[stage])
                if killed(folder := tally.folder(), api, stage, after):
                    tally.take(folder, f"{after:.1f} s after {stage}")
    print(
        f"{n_named} runs killed at named moments ({len(named)} tried), {n_kills} at random ones over {len(stages)} "
        f"stages, {tally.n_open} of them while open in MLflow: asked 0 not made good, found {tally.n_wrong}"
    )
    return int(tally.n_wrong > 0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # its server and its runs have groups of their own
    n, seed, share = (*sys.argv[1:], *("200", "7", "1")[len(sys.argv) - 1 :])
    sys.exit(main(int(n), int(seed), float(share)))
