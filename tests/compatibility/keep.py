"""Puts down what this version leaves on a machine, for later versions to be tested with.

usage: python tests/compatibility/keep.py, once for each release. Writes tests/compatibility/VERSION.tar.xz: a folder in
which a study ran twice, was scheduled, and has a champion, with MLflow's database as SQL and its folder as @ROOM@.
"""

import getpass
import json
import os
import sqlite3
import tarfile
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
STUDY = """\
description: Every room leaves something
source: {path: payments.csv, delimiter: ","}
target: fraud
positive: "yes"
columns: {key: id, categorical: [channel], ignore: [note]}
cleaning: {drop_missing_target: true, missing_values: ["?"]}
split: {holdout: hash, holdout_share: 0.25, folds: 3}
encodings:
  standard: {numeric: {scale: standard}}
  bins: {numeric: {bins: quantile, n_bins: 4}, as: ordinal}
balance: [none, smotenc]
candidates:
  gaussian_nb: {encodings: standard}
  categorical_nb: {encodings: bins, balance: none}
  knn: {encodings: standard, grid: {n_neighbors: [3, 5]}}
metric: average_precision
metrics: [roc_auc, log_loss]
decide: {cost: {"yes": {"no": 10}, "no": {"yes": 1}}}
calibrate: auto
ensemble: {}
gate: {metric: average_precision, margin: 0.01}
guards: {recall: 0.2}
watch: {psi: 0.2}
schedule: {cron: "0 6 * * *", timezone: Europe/Berlin, grace: 2h}
seed: 3
"""


def main() -> None:
    """Run the study in a folder of its own, note what was found, and pack it."""
    with tempfile.TemporaryDirectory() as name:
        room = Path(name).resolve() / "room"
        room.mkdir()
        os.chdir(room)
        os.environ["EVENHAND_HOME"] = str(room / ".evenhand")
        with patch("socket.gethostname", lambda: "machine"), patch("psutil.Process.username", lambda process: "person"):
            facts = lived_in(room)
        (room / "facts.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        database = room / "mlruns/mlflow.db"
        with closing(sqlite3.connect(database)) as made:
            sql = "\n".join(made.iterdump()).replace(str(room), "@ROOM@")
            sql = sql.replace(f"'mlflow.user','{getpass.getuser()}'", "'mlflow.user','person'")
        (room / "mlflow.sql").write_text(sql, encoding="utf-8")
        with tarfile.open(HERE / f"{version('evenhand')}.tar.xz", "w:xz") as archive:
            for part in ("payments.csv", "conf", "facts.json", "mlflow.sql", "mlruns/artifacts", ".evenhand"):
                archive.add(room / part, part, filter=nobodys)


def lived_in(room: Path) -> dict[str, object]:
    """Rows, a study, two runs of it and a champion; what a person would read of them."""
    import evenhand as eh
    from evenhand.service.tick_ledger import Tick, note
    from evenhand.storage.artifact_store import Store
    from evenhand.tracking.champion_ledger import decisions_of

    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"id": range(160), "amount": rng.gamma(2.0, 50.0, 160).round(2)})
    frame["channel"], frame["note"] = rng.choice(["web", "shop"], 160), "?"
    risk = 0.02 * frame["amount"] + (frame["channel"] == "web") + rng.normal(0, 0.5, 160)
    frame["fraud"] = np.where(risk > np.quantile(risk, 0.8), "yes", "no")
    frame.to_csv("payments.csv", index=False)
    (room / "conf").mkdir()
    (room / "conf/payments.yaml").write_text(STUDY, encoding="utf-8")
    run = eh.run("conf/payments.yaml", progress=False)
    eh.run("conf/payments.yaml", changes={"seed": 4}, progress=False)
    champion = eh.champion("payments")
    note(Tick("payments", "2026-01-01T06:00:00+01:00", "skipped", "nothing changed"))
    scored = eh.score(run.model(), frame)
    return {
        "version": version("evenhand"),
        "leaderboard": run.leaderboard.index.tolist(),
        "best": run.best,
        "champion": champion.version,
        "verdicts": [line.verdict for line in decisions_of("payments").lines],
        "entries": sorted(reference.entry for reference, _, _ in Store().entries()),
        "score": scored["score"].tolist(),
        "decision": scored["decision"].tolist(),
    }


def nobodys(found: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """A member without a name of who made it; nothing of pages, pictures and locks."""
    found.uid = found.gid = found.mtime = 0
    found.uname = found.gname = ""
    left_out = ("reports", "locks", "up", "unfinished")
    return None if any(part in found.name.split("/") for part in left_out) or found.name.endswith(".png") else found


if __name__ == "__main__":
    main()
