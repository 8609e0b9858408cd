"""MLflow's own server in a process of its own, asked over HTTP for what the champion says."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from makers import make_study, two_clouds, work, write_two_clouds

from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.scoring import choose_model, score_rows
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion import promote, propose, register
from evenhand.tracking.champion_ledger import Decisions

DEADLINE = 300


@pytest.fixture
def champion(mlruns):
    """A study whose model was proved by a clean process and promoted."""
    write_two_clouds()
    study = make_study()
    found = work(study)
    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
    with opened(study) as run:
        parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
        record.fn(run, Results(study, *parts))
    proposed = propose("tiny")
    return promote(
        proposed, register(proposed, found.table.digest, found.table.path / "rows.parquet"), "1st", Decisions()
    )


@pytest.fixture
def address(champion, tmp_path):
    """Where MLflow serves the champion; uvicorn is found on the PATH, as in an activated environment."""
    (tmp_path / "bin").mkdir()
    for name, words in {"uvicorn": "-m uvicorn", "python": ""}.items():
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["models", "serve", "-m", "models:/tiny@champion", "--env-manager", "local", "--host", "127.0.0.1"]
    surroundings = {
        "MLFLOW_TRACKING_URI": mlflow_client.tracking_uri(),
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
    }
    with Path("serve.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *words, "--port", str(port)],
            env={**os.environ, **surroundings}, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        _wait_for(f"http://127.0.0.1:{port}/ping", process)
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        os.killpg(process.pid, 15)
        process.wait(DEADLINE)


def _wait_for(address, process):
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.2)
    raise AssertionError(Path("serve.log").read_text())


def asked(address, content, kind):
    request = urllib.request.Request(address, content.encode(), {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return pd.DataFrame(json.load(answer)["predictions"])


@pytest.mark.slow
def test_mlflow_answers_the_numbers_that_evenhand_writes(address):
    columns, _ = two_clouds(seed=3)
    rows = pd.DataFrame(columns)
    rows.to_csv("new.csv", index=False)
    score_rows.fn(choose_model.fn("tiny"), "new.csv", Path("out.parquet"))
    expected = pd.read_parquet("out.parquet")

    answers = [
        asked(address, json.dumps({"dataframe_split": rows.to_dict(orient="split")}), "application/json"),
        asked(address, rows.to_csv(index=False), "text/csv"),
    ]

    for found in answers:
        assert found.columns.tolist() == ["score", "probability", "decision"]
        assert found.decision.tolist() == expected.decision.tolist()
        for name in ("score", "probability"):
            assert np.abs(found[name] - expected[name]).max() <= 1e-12
