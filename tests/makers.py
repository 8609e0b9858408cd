"""Tiny inputs: studies, tables and matrices whose columns say what they are for."""

import os
import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from evenhand.records.pipeline import FINAL, Feature, Held, Ledger, Output, Plan, Prepared, Table, Training
from evenhand.records.reference import Reference
from evenhand.storage.artifact_store import Store
from evenhand.storage.digests import digest
from evenhand.storage.matrices import write_matrix
from evenhand.storage.verification import FACTS
from evenhand.study.study import Study


def make_study(**changes: Any) -> Study:
    """A study of two classes; any setting can be given."""
    settings = {
        "name": "tiny",
        "source": {"path": "rows.csv"},
        "target": "y",
        "split": {"folds": 3, "holdout_share": 0.25},
        "candidates": {"gaussian_nb": {}},
    }
    return Study.model_validate({**settings, **changes})


def make_regression(**changes: Any) -> Study:
    """A study of numbers."""
    return make_study(**{"candidates": {"ridge": {}}, **changes})


def stored(folder: Path) -> Reference:
    """The files of a folder as an entry of the store; made again, they take the place of the earlier ones."""
    return _put(Reference("made", digest(str(folder))), folder)


def changed(reference: Reference) -> None:
    """Have files that a test changed in the store count as what was written."""
    _put(reference, Store().root / reference.entry)


def _put(reference: Reference, folder: Path) -> Reference:
    store = Store()
    unfinished = store.root / "unfinished" / uuid.uuid4().hex
    shutil.copytree(folder, unfinished, ignore=shutil.ignore_patterns(FACTS))
    if store.has(reference):
        store.delete(reference)
    store.put(reference, unfinished, {})
    return reference


def make_table(folder: Path, columns: dict[str, Any], y: Any, **more: Any) -> Table:
    """A table as `clean` leaves it: text columns are categories, the others numbers."""
    frame, y = pd.DataFrame(columns), np.asarray(y)
    roles = {
        name: "categorical" if frame[name].dtype == object or str(frame[name].dtype) == "str" else "numeric"
        for name in frame
    }
    roles |= more.pop("roles", {})
    classes = tuple(more.pop("classes", np.unique(y).tolist() if y.dtype.kind in "iU" else ()))
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(folder / "rows.parquet")
    codes = np.searchsorted(np.array(classes), y).astype(np.int32) if classes else y.astype(np.float64)
    np.save(folder / "target.npy", codes)
    features = tuple(Feature(n, r) for n, r in roles.items() if r in {"numeric", "categorical", "text"})
    content = str(pd.util.hash_pandas_object(frame, index=False).tolist()) + str(codes.tolist())
    return Table(
        digest=content, stored=stored(folder), n_rows=len(frame), features=features, target="y", classes=classes,
        roles={**roles, "y": "target"}, taken={}, **more,
    )  # fmt: skip


def two_clouds(n_common: int = 60, n_rare: int = 20, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Two numeric columns, one that tells the classes apart and one that does not."""
    random = np.random.default_rng(seed)
    y = np.r_[np.zeros(n_common, dtype=int), np.ones(n_rare, dtype=int)]
    columns = {"telling": random.normal(size=len(y)) + 2.0 * y, "noise": random.normal(size=len(y))}
    order = random.permutation(len(y))
    return {name: values[order] for name, values in columns.items()}, y[order]


def write_rows(file: Path | str, columns: dict[str, Any], y: Any) -> None:
    """Rows as a CSV file with the target y."""
    pd.DataFrame({**columns, "y": y}).to_csv(file, index=False)


def write_two_clouds(file: Path | str = "rows.csv", **more: int) -> None:
    """The two clouds as a CSV file with the classes `calm` and `storm`, the rarer one."""
    columns, y = two_clouds(**more)
    write_rows(file, columns, np.where(y == 1, "storm", "calm"))


def numeric_outputs(n: int) -> tuple[Output, ...]:
    """Descriptions of plain numeric columns."""
    return tuple(Output(f"x{j}", f"x{j}", "numeric") for j in range(n))


def make_training(folder: Path, X: Any, y: Any, outputs: tuple[Output, ...] | None = None) -> Training:
    """Training rows on disk."""
    write_matrix(folder, X, np.asarray(y), np.arange(len(y)))
    return Training(str(folder), stored(folder), len(y), outputs or numeric_outputs(X.shape[1]))


def make_held(folder: Path, X: Any, y: Any, rows: Any = None) -> Held:
    """Held rows on disk."""
    write_matrix(folder, X, np.asarray(y), np.arange(len(y)) if rows is None else np.asarray(rows))
    return Held(str(folder), stored(folder), len(y), numeric_outputs(X.shape[1]))


def make_prepared(folder: Path, training: tuple[Any, Any], held: tuple[Any, Any], fold: str = "fold_0") -> Prepared:
    """One fold of an encoding named plain."""
    return Prepared(
        "plain", fold, make_training(folder / "training", *training), make_held(folder / "held", *held), 0.0
    )


def make_plan(model: str, **more: Any) -> Plan:
    """A plan named after its model."""
    given = {"name": model, "candidate": model, "model": model, "params": {}, "encoding": "plain", "balance": "none"}
    return Plan(**{**given, **more})


@dataclass(frozen=True)
class Worked:
    """What each stage of a study came to, done without Prefect."""

    study: Study
    snapshot: Any
    table: Table
    ledger: Ledger
    plans: list[Plan]
    prepared: dict[Any, Any]
    balanced: dict[Any, Any]
    scores: dict[Any, Any]
    judgement: Any
    tuned: tuple[Any, ...] = ()


def work(study: Study) -> Worked:
    """A study from its rows to its judgement, stage by stage as the flow does it."""
    from evenhand.tasks.balancing import balance
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.encoding import prepare
    from evenhand.tasks.fitting import fit
    from evenhand.tasks.ingestion import ingest
    from evenhand.tasks.judging import judge
    from evenhand.tasks.planning import plan
    from evenhand.tasks.selection import select
    from evenhand.tasks.splitting import split
    from evenhand.tasks.tuning import settle, tune

    plans = plan.fn(study)
    snapshot = ingest.fn(study)
    table = clean.fn(snapshot, study)
    ledger = split.fn(table, study)
    folds = [*ledger.folds, FINAL]
    prepared = {
        (e, f): prepare.fn(table, ledger, study, e, f) for e in dict.fromkeys(p.encoding for p in plans) for f in folds
    }
    balanced = {
        (e, b, f): balance.fn(prepared[e, f].training, table, study, b)
        for e, b in dict.fromkeys((p.encoding, p.balance) for p in plans)
        for f in folds
    }
    tuned = {(p.name, f): tune.fn(p, f, table, ledger, study) for p in plans if p.tuning for f in folds}
    settled = settle(plans, tuned, ledger.folds)
    plans = [settled[p.name, FINAL] for p in plans]
    scores = {
        (p.name, f): fit.fn(
            settled[p.name, f], prepared[p.encoding, f], balanced[p.encoding, p.balance, f], table, study.seed
        )
        for p in plans
        for f in folds
    }
    judgement = select.fn(judge.fn(plans, scores, prepared, table, study), table, study)
    return Worked(study, snapshot, table, ledger, plans, prepared, balanced, scores, judgement, tuple(tuned.values()))


@contextmanager
def room_of_its_own(folder: Path, empty_database: Path) -> Iterator[Path]:
    """A folder to work in, with an MLflow store and a home of its own."""
    (folder / "mlruns").mkdir()
    (folder / "mlruns/mlflow.db").write_bytes(empty_database.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder


def enter(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Work in a folder, with the home that lies in it."""
    patch.chdir(folder)
    patch.setenv("EVENHAND_HOME", str(folder / "home"))


def know_models_of(folder: Path) -> None:
    """Let the test's own home know the models that were recorded in another room, and have its store."""
    own = Path(os.environ["EVENHAND_HOME"])
    shutil.copytree(folder / "home/recorded", own / "recorded")
    (own / "store").symlink_to(folder / "home/store")


def leave_pictures_blank(patch: Any) -> None:
    """Have the pictures of a run be kept without being drawn, which takes a tenth of it: for tests that see none."""

    def save(figure: Figure, place: Any, **_: Any) -> None:
        Path(place).write_bytes(b"\x89PNG")

    patch.setattr(Figure, "savefig", save)


def started_long_ago(run_id):
    """Have a run of MLflow here begin before any other, so that no test waits for the clock to move."""
    with closing(sqlite3.connect("mlruns/mlflow.db")) as database, database:
        database.execute("update runs set start_time = 1 where run_uuid = ?", [run_id])
