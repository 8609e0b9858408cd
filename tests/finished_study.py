"""A small study that was run twice, promoted, scheduled and scored, without Prefect; and what reads what it left."""

import json
import logging
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest import mock

import pyarrow.parquet as pq
import yaml
from makers import Worked, work, write_two_clouds

from evenhand.records.report import Report
from evenhand.storage.artifact_store import local
from evenhand.storage.digests import file_digest
from evenhand.study.loader import load_study
from evenhand.tasks.gating import challenge
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.scoring import choose_model, score_rows
from evenhand.tracking import champion as champions
from evenhand.tracking.champion import stand
from evenhand.tracking.history import read_history
from evenhand.tracking.leaderboards import read_leaderboard
from evenhand.tracking.run_comparison import contrast, recorded_runs

STUDY = {
    "name": "tiny", "source": {"path": "rows.csv"}, "target": "y", "split": {"folds": 2, "holdout_share": 0.25},
    "candidates": {"gaussian_nb": {}, "logistic": {}}, "gate": {}, "metric": "roc_auc",
    "schedule": {"cron": "0 3 * * *", "timezone": "UTC"},
}  # fmt: skip


def furnish(folder, empty_database):
    """Rows, a study file and an empty MLflow database in a folder."""
    (folder / "mlruns").mkdir(parents=True)
    shutil.copy(empty_database, folder / "mlruns/mlflow.db")
    write_two_clouds(folder / "rows.csv")
    write_two_clouds(folder / "new.csv", seed=1)
    (folder / "tiny.yaml").write_text(yaml.safe_dump(STUDY, sort_keys=False), encoding="utf-8")


@contextmanager
def inside(folder):
    """Work in a folder with a home of its own."""
    here = Path.cwd()
    os.chdir(folder)
    changed = {"EVENHAND_HOME": str(folder / "home")}
    with mock.patch.dict(os.environ, changed):
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        try:
            yield
        finally:
            os.chdir(here)


def run(conf="tiny.yaml", changes=()):
    """A run of the study from its rows to the gate; its figures. A clean process that proves the model is left out."""
    return figures_of(recorded(load_study(conf, changes)).report)


@dataclass(frozen=True)
class Recorded:
    """What the stages of a run came to, and its report."""

    worked: Worked
    report: Report


def recorded(study):
    """A run of a study, recorded and held against its champion."""
    with mock.patch.object(champions, "difference_when_reloaded", return_value=0.0), opened(study) as open_run:
        found = work(study)
        model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
        parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
        report = record.fn(open_run, Results(study, *parts))
        if study.gate is not None:
            challenge.fn(open_run.place, open_run.run_id, found.table, found.ledger, study)
    return Recorded(found, report)


def figures_of(report):
    """The figures of each candidate."""
    return {each["name"]: [each[name] for name in FIGURES] for each in report.as_json()["candidates"]}


FIGURES = ("cv", "train", "holdout", "cv_interval", "holdout_interval")


def rerun():
    """What the stages of a rerun come to, from its rows to the model that would be served."""
    study = load_study("tiny.yaml", ())
    found = work(study)
    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
    figures = {each.plan.name: [each.folds, each.holdout, each.train] for each in found.judgement.figures}
    judged = pq.read_table(local(found.judgement.predictions))
    return [
        found.ledger.split_id,
        figures,
        {name: judged[name].to_pylist() for name in judged.column_names},
        model.digest,
    ]


def leaderboard():
    """`evenhand show`."""
    return asdict(read_leaderboard("tiny"))


def history():
    """`evenhand show --history`."""
    return asdict(read_history("tiny"))


def compare():
    """`evenhand compare`."""
    return asdict(contrast(recorded_runs(["tiny"])))


def champion():
    """`evenhand champion show`."""
    return asdict(stand("tiny").decisions)


def score():
    """`evenhand score`."""
    score_rows.fn(choose_model.fn("tiny"), "new.csv", Path("out.parquet"))
    return file_digest(Path("out.parquet"))


def plain(result):
    """A result as text, so that two can be held against each other."""
    return json.dumps(result, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))


@contextmanager
def heard():
    """What is logged as a warning or worse."""
    lines = []

    class Ear(logging.Handler):
        def emit(self, line):
            lines.append(line.getMessage())

    ear, logger = Ear(logging.WARNING), logging.getLogger("evenhand")
    logger.addHandler(ear)
    try:
        yield lines
    finally:
        logger.removeHandler(ear)
