"""Runs killed at random moments, as `kill -9` would: what the next run makes of what they left.

A study is run undisturbed once. Then, each time in a folder of its own, `evenhand run` is started, its whole process
group is killed at a moment drawn evenly over the time that a run takes, and it is run again. Its rows and figures must
be those of the undisturbed run; nothing may be RUNNING afterwards in MLflow or on Prefect's server, which stays up for
all of them; and a third run must do no fits. Ends with exit code 1 if anything is amiss.

usage: python benchmarks/kills.py [N, 30 if left out] [SEED]
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from evenhand.service.servers import free_port

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
LONGER = 1.1  # a run takes longer on a machine that became busier; one that ends before its kill sets this right


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
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def answers(address: str) -> bool:
    """Whether an address answers at once."""
    with suppress(OSError):
        return bool(urllib.request.urlopen(address, timeout=5).status == 200)
    return False


def begun(folder: Path, api: str) -> subprocess.Popen[bytes]:
    """`evenhand run` as a shell starts it, in a process group of its own."""
    around = {"EVENHAND_HOME": str(folder / "home"), "PREFECT_API_URL": api, "DO_NOT_TRACK": "1"}
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


def killed(folder: Path, api: str, after: float) -> tuple[bool, float]:
    """Whether a run was killed after so many seconds, and how long it went on."""
    process, started = begun(folder, api), time.monotonic()
    with suppress(subprocess.TimeoutExpired):
        process.wait(after)
    lasted = time.monotonic() - started
    end(process)
    return process.wait() == -signal.SIGKILL, lasted


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


def main(n_kills: int = 30, seed: int = 7) -> int:
    """Kill so many runs, and print what became of each."""
    draw, n_done, n_wrong, n_open = random.Random(seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as room:
        (server := Path(room) / "server").mkdir()
        with prefect(server) as api:
            expected = comes_to(ended(furnished(Path(room) / "undisturbed"), api))
            started = time.monotonic()
            ended(furnished(Path(room) / "measured"), api)
            longest, number = time.monotonic() - started, 0
            while n_done < n_kills:
                number += 1
                folder, after = furnished(Path(room) / str(number)), draw.uniform(0, longest)
                was_killed, lasted = killed(folder, api, after)
                if not was_killed:
                    longest = lasted
                    continue
                longest *= LONGER
                n_done, was_open = n_done + 1, "RUNNING" in statuses(folder)
                wrong, n_reused = amiss(folder, api, expected)
                n_wrong, n_open = n_wrong + bool(wrong), n_open + was_open
                state = "open in MLflow" if was_open else "not begun or at its end"
                print(
                    f"{n_done:>3}  after {after:5.1f} s, {state}, {n_reused} fits found: {'; '.join(wrong) or 'well'}"
                )
    print(f"{n_done} runs killed, {n_open} of them while their run was open in MLflow: {n_wrong} not made good")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
