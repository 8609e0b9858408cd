"""What each released version left on a machine still works: study file, store, ledgers, runs, model, champion."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

import evenhand as eh

LEFT = sorted(Path(__file__).parent.glob("*.tar.xz"))


@pytest.fixture(params=LEFT, ids=lambda file: file.name.removesuffix(".tar.xz"))
def room(request, tmp_path, monkeypatch):
    """The folder that a version left, brought here, and what it found out when it was left."""
    folder = tmp_path / "room"
    shutil.unpack_archive(request.param, folder)
    with closing(sqlite3.connect(folder / "mlruns/mlflow.db")) as database:
        database.executescript((folder / "mlflow.sql").read_text(encoding="utf-8").replace("@ROOM@", str(folder)))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / ".evenhand"))
    return json.loads((folder / "facts.json").read_text(encoding="utf-8"))


def test_there_is_a_version_to_be_compatible_with():
    assert [file.name for file in LEFT] == ["0.1.0.tar.xz"]


def test_its_study_file_means_what_it_meant(room):
    study = eh.load_study("conf/payments.yaml")

    assert study.model_dump(mode="json") == eh.load_run("payments@1").study.model_dump(mode="json")


def test_its_store_holds_what_was_written(room):
    from evenhand.storage.artifact_store import Store

    found = {reference.entry: Store().get(reference) for reference, _, _ in Store().entries()}

    assert sorted(found) == room["entries"]
    assert all(path.is_dir() for path in found.values())


def test_its_ledgers_are_whole(room):
    from evenhand.service.tick_ledger import ticks_of
    from evenhand.tracking.champion_ledger import decisions_of

    assert [line.verdict for line in decisions_of("payments").lines] == room["verdicts"]
    assert [line.outcome for line in ticks_of("payments")] == ["skipped"]


def test_its_runs_are_read(room):
    run = eh.load_run("payments@1")

    assert run.leaderboard.index.tolist() == room["leaderboard"]
    assert run.best == room["best"]


def test_its_model_scores_as_it_did(room):
    scored = eh.score(eh.load_run("payments@1").model(), pd.read_csv("payments.csv"))

    assert scored["score"].tolist() == pytest.approx(room["score"], rel=0, abs=1e-9)
    assert scored["decision"].tolist() == room["decision"]


def test_its_champion_serves_on_and_can_be_followed_by_another(room, prefect_server):
    shutil.rmtree(".evenhand/store")  # what the code of today makes otherwise is made anew
    champion = eh.champion("payments")

    assert champion.version == room["champion"]
    assert len(eh.score(champion, pd.read_csv("payments.csv"))) == len(room["score"])
    eh.run("conf/payments.yaml", changes={"seed": 5}, progress=False)
    assert eh.champion("payments").promote(why="the next version").version > room["champion"]
