"""The champion behind HTTP in a process of its own: what it answers, to whom, and what is never loaded for it."""

import json
import shutil
import time
import urllib.error
import urllib.request
from base64 import b64encode
from pathlib import Path

import numpy as np
import nursery
import pandas as pd
import pytest
from click.testing import CliRunner
from makers import enter, make_study, room_of_its_own, two_clouds, work, write_two_clouds

from evenhand.cli.main import main
from evenhand.service.access_key import key
from evenhand.service.servers import free_port
from evenhand.storage.artifact_store import local
from evenhand.storage.model_files import Distrusted
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.scoring import choose_model, score_rows
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion import promote, propose, register
from evenhand.tracking.champion_ledger import Decisions
from evenhand.tracking.model_serving import private_copy
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import recorded_model

DEADLINE = 300


@pytest.fixture(scope="module")
def promoted(tmp_path_factory, empty_database):
    """A folder with a study whose model was proved by a clean process and promoted."""
    with room_of_its_own(tmp_path_factory.mktemp("served"), empty_database) as folder:
        yield folder, made_champion()


@pytest.fixture
def champion(promoted, monkeypatch):
    """The champion, from the folder that it is kept in."""
    enter(promoted[0], monkeypatch)
    return promoted[1]


@pytest.fixture
def folder(champion, tmp_path):
    """The files of the champion, which a test may change: afterwards they are what they were."""
    files = run_reader.model_folder(mlflow_client.open_store(), champion.candidate.run_id)
    shutil.copytree(files, tmp_path / "as_promoted")
    yield files
    shutil.rmtree(files)
    shutil.copytree(tmp_path / "as_promoted", files)


def made_champion():
    write_two_clouds()
    study = make_study()
    found = work(study)
    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
    with opened(study) as run:
        parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
        record.fn(run, Results(study, *parts))
    proposed = propose("tiny")
    return promote(
        proposed, register(proposed, found.table.digest, local(found.table.stored) / "rows.parquet"), "1st", Decisions()
    )


@pytest.fixture
def address(champion):
    """Where the champion is served."""
    port = free_port()
    process = nursery.begun("-m", "evenhand", "serve", "tiny", "--port", port)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        process.terminate()
        process.wait(DEADLINE)


def _wait_for(address, process):
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.2)
    process.kill()
    raise AssertionError(process.communicate(DEADLINE))


def asked(address, content, kind, **headers):
    request = urllib.request.Request(address, content.encode(), {"Content-Type": kind, **headers})
    with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
        return pd.DataFrame(json.load(answer)["predictions"])


def with_key():
    return {"Authorization": f"Basic {b64encode(key().encode()).decode()}"}


@pytest.mark.slow
def test_the_numbers_that_evenhand_writes_are_answered_to_who_has_the_key_alone(address):
    columns, _ = two_clouds(seed=3)
    rows = pd.DataFrame(columns)
    rows.to_csv("new.csv", index=False)
    score_rows.fn(choose_model.fn("tiny"), "new.csv", Path("out.parquet"))
    expected = pd.read_parquet("out.parquet")

    answers = [
        asked(address, json.dumps({"dataframe_split": rows.to_dict(orient="split")}), "application/json", **with_key()),
        asked(address, rows.to_csv(index=False), "text/csv", **with_key()),
    ]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        asked(address, rows.to_csv(index=False), "text/csv")

    for found in answers:
        assert found.columns.tolist() == ["score", "probability", "decision"]
        assert found.decision.tolist() == expected.decision.tolist()
        for name in ("score", "probability"):
            assert np.abs(found[name] - expected[name]).max() <= 1e-12


def test_files_of_a_model_that_were_changed_are_not_served(folder):
    (folder / "MLmodel").write_text((folder / "MLmodel").read_text().replace("mlflow.sklearn", "os"))

    done = CliRunner().invoke(main, ["serve", "tiny", "--port", str(free_port())])

    assert done.exit_code == 2
    assert "are not those that were promoted" in done.output


def test_a_file_that_came_to_a_model_is_not_served_either(champion, folder):
    found = recorded_model("tiny", champion.candidate.run_id, folder)
    (folder / "code.py").write_text("raise SystemExit")

    with pytest.raises(Distrusted, match="are not those that were recorded"), private_copy(found, folder):
        pass
