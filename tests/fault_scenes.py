"""What the tests of faults play in processes of their own, each a small part of a day; without Prefect, to be quick."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from makers import leave_pictures_blank, make_study, work

from evenhand.data import remote
from evenhand.data.remote import fetch
from evenhand.monitoring.notifications import notify, silence
from evenhand.runtime.fault_injection import VARIABLE
from evenhand.storage.artifact_store import Store
from evenhand.storage.digests import file_digest
from evenhand.storage.ledger import read_chain
from evenhand.tasks.gating import challenge
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.scoring import choose_model, score_rows
from evenhand.tracking import champion as champions
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion import stand
from evenhand.tracking.champion_ledger import decisions_of, ledger_path, repair

FIGURES = ("name", "cv", "train", "holdout", "cv_interval", "holdout_interval")


def play(scene, folder, moment, result):
    """Play a scene in a folder; the process dies at the moment named, else writes what it came to."""
    os.chdir(folder)
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    given = Path("surroundings.json")
    os.environ |= json.loads(given.read_text()) if given.exists() else {}
    os.environ |= {"EVENHAND_HOME": str(Path(folder) / "home"), VARIABLE: moment}
    Path(result).write_text(json.dumps(SCENES[scene]()), encoding="utf-8")


def study():
    """A study from its rows to a champion; the clean process that proves the model is tested elsewhere."""
    champions.difference_when_reloaded = lambda *_: 0.0
    leave_pictures_blank(pytest.MonkeyPatch())  # for good: the process does nothing else
    given = make_study(gate={}, split={"folds": 2})
    with opened(given) as run:
        found = work(given)
        model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, given)
        parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
        report = record.fn(run, Results(given, *parts))
        challenge.fn(run.place, run.run_id, found.table, found.ledger, given)
    standing = stand("tiny")
    place = mlflow_client.open_experiment("tiny")
    runs = place.client().search_runs([place.experiment_id])
    champion = place.client().get_model_version_by_alias("tiny", "champion")
    return {
        "figures": [{name: each[name] for name in FIGURES} for each in report.as_json()["candidates"]],
        "statuses": sorted({run.info.status for run in runs}),
        "champions": [standing.decisions.champion.run_id, champion.run_id],
        "unfinished": [str(path) for path in (Store().root / "unfinished").glob("*")],
    }


def score():
    """New rows through the model of the study, next door."""
    folder = Path.cwd()
    with contextlib.chdir(os.environ["EVENHAND_TRAINED"]):
        os.environ["EVENHAND_HOME"] = str(Path("home").absolute())
        score_rows.fn(choose_model.fn("tiny"), "new.csv", folder / "out.parquet")
    manifest = json.loads((folder / "out.parquet.manifest.json").read_text())
    files = [folder / file["name"] for file in manifest["files"].values()]
    return {
        "rows": manifest["rows"],
        "agrees": [file_digest(file) for file in files] == [file["digest"] for file in manifest["files"].values()],
        "files": sorted(path.name for path in folder.iterdir() if path.name.startswith(("out", ".out"))),
        "digest": file_digest(folder / "out.parquet"),
    }


def prune():
    """A store that is bounded."""
    for name in ("one", "two"):
        Store().keep("part", {"name": name}, "evenhand.runtime.text", lambda folder: {})
    Store().prune(0)
    Store().sweep(older_than_seconds=-1)
    return {"entries": len(Store().entries()), "left": len(list((Store().root / "unfinished").glob("*")))}


def repair_ledger():
    """A ledger whose last line was cut off."""
    file = ledger_path("tiny")
    if not file.exists():
        file.parent.mkdir(parents=True)
        file.write_bytes(b'{"study": "ti')
    repair("tiny")
    return {"lines": len(decisions_of("tiny").lines), "left": file.read_bytes().decode()}


def message():
    """A message to a webhook."""
    notify(make_study(notify={"webhook": os.environ["HOOK"]}), silence("2026-05-01", "nothing"))
    lines = read_chain(Path(os.environ["EVENHAND_HOME"]) / "notices/tiny.jsonl", "messages").lines
    return {"state": lines[-1]["state"]}


def bring():
    """A file from elsewhere."""
    Path("elsewhere.csv").write_text("a,y\n1,2\n")
    remote.KNOWN = {*remote.KNOWN, "file"}  # this machine plays the server
    return {"content": next(iter(fetch(Path("elsewhere.csv").absolute().as_uri()))).read_text()}


SCENES = {each.__name__: each for each in (study, score, prune, repair_ledger, message, bring)}

if "EVENHAND_WARM" in os.environ:  # in the process that others are forked from
    play("study", os.environ["EVENHAND_WARM"], "", f"{os.environ['EVENHAND_WARM']}/result.json")
