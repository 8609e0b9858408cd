"""Runs on a scheduler and workers of their own: rooms apart, workers killed, one against two, beside bare Dask.

machines  driver and two workers in mount namespaces of their own (as root, on Linux), each with a home that no other
          sees, sharing S3 as moto serves it on loopback; then another driver, with the homes of the workers swapped
kills     one of two workers is killed with its home once so many fits have begun, N times; another one comes instead
speed     fits of some seconds on one worker and on two, and the same fits by Dask and scikit-learn alone, in turns

usage: python benchmarks/clusters.py PART [N]
"""

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evenhand.service.servers import free_port

SMALL = {
    "name": "elsewhere",
    "source": {"path": "rows.csv"},
    "target": "y",
    "split": {"folds": 4, "holdout_share": 0.25},
    "balance": ["none", "undersample"],
    "candidates": {"gaussian_nb": None, "logistic": None, "knn": None, "svm": None},
    "metric": "roc_auc",
    "seed": 1,
}
SLOW = {
    **SMALL,
    "balance": "none",
    "split": {"folds": 4, "holdout_share": 0.2},
    "candidates": {"svm": {"grid": {"C": [1, 10, 30]}}},
}
FIGURES = ("name", "cv", "train", "holdout")
PRELOAD = """
import os
from distributed.diagnostics.plugin import WorkerPlugin

class Told(WorkerPlugin):
    name = "told"
    def transition(self, key, start, finish, **more):
        if finish == "executing":
            with open(os.environ["TOLD"], "a") as file:
                file.write(f"{key}\\n")

async def dask_setup(worker):
    await worker.plugin_add(Told())
"""
BARE = """
import json, sys, time
import numpy as np, pandas as pd
from distributed import Client
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

def fitted(X, y, train, judged, C):
    made = make_pipeline(StandardScaler(), SVC(C=C)).fit(X[train], y[train])
    return roc_auc_score(y[judged], made.decision_function(X[judged])), made.decision_function(X[train])

began, frame = time.perf_counter(), pd.read_csv(sys.argv[2])
X, y = frame.drop(columns="y").to_numpy(), frame.y.to_numpy()
training, held = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=1)
split = StratifiedKFold(4, shuffle=True, random_state=1).split(training, y[training])
folds = [(training[a], training[b]) for a, b in split]
with Client(sys.argv[1]) as client:
    data = client.scatter([X, y], broadcast=True)
    calls = [client.submit(fitted, *data, *fold, C) for fold in [*folds, (training, held)] for C in (1, 10, 30)]
    client.gather(calls)
print(json.dumps(time.perf_counter() - began))
"""


@dataclass
class Room:
    """A folder with all of it: homes, the shared store, and what workers told."""

    folder: Path
    env: dict[str, str]
    under: ExitStack = field(default_factory=ExitStack)

    @property
    def begun(self) -> Counter[str]:
        """How often a call of each name began on any worker."""
        told = self.folder / "told"
        return Counter(line.rpartition("-")[0] for line in told.read_text().split()) if told.exists() else Counter()

    def process(self, *words: str, home: str, **how: Any) -> subprocess.Popen[str]:
        """A process with a home of its own."""
        env = {**self.env, "EVENHAND_HOME": str(self.folder / home), "PREFECT_HOME": str(self.folder / home / "p")}
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(words, env=env, stderr=log, text=True, **{"stdout": log, **how})

    def worker(self, home: str, *before: str) -> subprocess.Popen[str]:
        """A worker with one thread."""
        words = ["-m", "distributed.cli.dask_worker", self.env["DASK_SCHEDULER_ADDRESS"], "--nthreads", "1"]
        words += ["--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--preload", str(self.folder / "told.py")]
        return self.ended(self.process(*before, sys.executable, *words, home=home))

    def ended(self, process: subprocess.Popen[str]) -> subprocess.Popen[str]:
        """It, ended when this is over."""
        self.under.callback(killed, process)
        return process

    def driver(self, home: str, *before: str) -> subprocess.Popen[str]:
        """A run of the study, which begins."""
        words = ("-m", "evenhand", "run", "study.yaml", "--engine", "dask", "--json", "-", "--again")
        return self.ended(
            self.process(*before, sys.executable, *words, home=home, stdout=subprocess.PIPE, cwd=self.folder)
        )


@contextmanager
def room(study: dict[str, Any], n_rows: int, **env: str) -> Iterator[Room]:
    """A scheduler, a table and a study, and a store on a folder that is shared."""
    folder = Path(tempfile.mkdtemp(prefix="clusters-"))
    address = f"tcp://127.0.0.1:{free_port()}"
    around = {**os.environ, "OMP_NUM_THREADS": "1", "DASK_SCHEDULER_ADDRESS": address, "TOLD": str(folder / "told")}
    found = Room(folder, {**around, "EVENHAND_STORE": str(folder / "share"), **env})
    (folder / "told.py").write_text(PRELOAD)
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    write_rows(folder / "rows.csv", n_rows)
    os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "2"
    words = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2]]
    try:
        found.ended(found.process(sys.executable, *words, "--no-dashboard", home="scheduler"))
        yield found
    finally:
        found.under.close()
        shutil.rmtree(folder)


def write_rows(file: Path, n_rows: int) -> None:
    """A table of ten numbers in which a sum and a product say something."""
    import numpy as np
    import pandas as pd

    draw = np.random.default_rng(1)
    X = draw.normal(size=(n_rows, 10))
    y = X[:, 0] + X[:, 1] * X[:, 2] + draw.normal(size=n_rows) > 1
    pd.DataFrame(X, columns=[f"x{k}" for k in range(10)]).assign(y=y.astype(int)).to_csv(file, index=False)


def killed(process: subprocess.Popen[str]) -> None:
    """End a process at once."""
    process.kill()
    process.wait()


def report_of(driver: subprocess.Popen[str], where: Room) -> dict[str, Any]:
    """What a run came to; its log if it came to nothing."""
    words, _ = driver.communicate(timeout=900)
    if driver.returncode:
        raise SystemExit(f"the run ended with {driver.returncode}:\n{(where.folder / 'log').read_text()[-3000:]}")
    return json.loads(words)


def figures(report: dict[str, Any]) -> str:
    """What must be equal in all runs."""
    return json.dumps([{name: each[name] for name in FIGURES} for each in report["candidates"]], sort_keys=True)


def apart(folder: Path, name: str) -> tuple[str, ...]:
    """What starts a process so that it sees its own home at the place of all homes, and no other's."""
    own, place, all_homes = folder / "homes" / name, folder / "home", folder / "homes"
    for each in (own, place):
        each.mkdir(parents=True, exist_ok=True)
    words = f'mount --bind "{own}" "{place}" && mount -t tmpfs none "{all_homes}" && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", words, "sh")


def machines() -> bool:
    """Two runs, each in rooms apart."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "anyone"}
    address |= {"AWS_SECRET_ACCESS_KEY": "anything", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ |= address
    boto3.client("s3").create_bucket(Bucket="evenhand")
    found = []
    with room(SMALL, 2000, EVENHAND_STORE="s3://evenhand/store", **address) as where:
        for driver, pair in (("first", "ab"), ("second", "ba")):
            workers = [where.worker("home", *apart(where.folder, name)) for name in pair]
            found.append(report_of(where.driver("home", *apart(where.folder, driver)), where))
            for each in workers:
                killed(each)
            print(f"{driver} driver: {found[-1]['fits']}, homes {sorted(os.listdir(where.folder / 'homes'))}")
    server.stop()
    same = figures(found[0]) == figures(found[1])
    print(f"asked: 0 fits with the workers swapped; measured: {found[1]['fits']['executed']}; figures equal: {same}")
    return same and found[0]["fits"]["executed"] > 0 and found[1]["fits"]["executed"] == 0


def kills(n_kills: int) -> bool:
    """A worker dies with its home, each time later."""
    import random

    expected, well = "", 0
    for number in range(n_kills + 1):
        with room(SMALL, 2000) as where:
            doomed, _ = where.worker("a"), where.worker("b")
            driver, after = where.driver("driver"), random.randrange(1, 30)
            if number:
                while where.begun["fit"] < after and driver.poll() is None:
                    time.sleep(0.01)
                killed(doomed)
                shutil.rmtree(where.folder / "a", ignore_errors=True)
                where.worker("c")
            report = report_of(driver, where)
            expected = expected or figures(report)
            asked, begun = sum(report["fits"].values()), where.begun["fit"]
        is_well = figures(report) == expected and begun <= asked + 1
        well += is_well
        after_ = f"killed after {after} fits" if number else "undisturbed"
        print(f"{after_}: {asked} fits asked, {begun} begun, figures equal: {figures(report) == expected}", flush=True)
    print(f"asked: only the fit under way again, {n_kills} times; measured: {well - 1}")
    return well == n_kills + 1


def speed(n_rows: int) -> bool:
    """Seconds of all fits on one worker, on two, and of the same by Dask alone."""
    took: dict[str, float] = {}
    for n_workers in (1, 2):
        with room(SLOW, n_rows) as where:
            for k in range(n_workers):
                where.worker(f"w{k}")
            report = report_of(where.driver("driver"), where)
            took[f"evenhand {n_workers}"] = next(each["seconds"] for each in report["stages"] if each["name"] == "fit")
            took[f"whole command {n_workers}"] = report["wall_seconds"]
        with room(SLOW, n_rows) as where:
            for k in range(n_workers):
                where.worker(f"w{k}")
            words = [sys.executable, "-c", BARE, where.env["DASK_SCHEDULER_ADDRESS"], str(where.folder / "rows.csv")]
            took[f"bare {n_workers}"] = json.loads(subprocess.check_output(words, env=where.env))
    print({name: round(seconds, 1) for name, seconds in took.items()})
    gain, beside = took["evenhand 1"] / took["evenhand 2"], took["evenhand 2"] / took["bare 2"]
    print(f"asked: two workers >= 1.8 x, <= 1.10 x bare Dask; measured: {gain:.2f} x, {beside:.2f} x")
    return gain >= 1.8 and beside <= 1.1


def main() -> int:
    """One part."""
    part, number = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    parts = {"machines": machines, "kills": lambda: kills(number or 10), "speed": lambda: speed(number or 12_000)}
    return 0 if parts[part]() else 1


if __name__ == "__main__":
    sys.exit(main())
