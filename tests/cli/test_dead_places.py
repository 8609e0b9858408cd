"""Servers that are dead, folders that cannot be written and packages that are missing are one message each."""

import os
import socket
from pathlib import Path

import nursery
import pytest
import yaml
from makers import write_two_clouds

DEADLINE = 300
CONF = {
    "source": {"path": "rows.csv"},
    "target": "y",
    "split": {"folds": 2, "holdout_share": 0.25},
    "candidates": ["gaussian_nb"],
    "workers": 1,
}


@pytest.fixture(scope="module")
def ports():
    """A port that nothing listens on, and one that takes a call and never says a word."""
    with socket.socket() as dead, socket.socket() as mute:
        for probe in (dead, mute):
            probe.bind(("127.0.0.1", 0))
        mute.listen()
        yield {"dead": dead.getsockname()[1], "mute": mute.getsockname()[1]}


def run(surroundings, ports, command=("run", "storm.yaml"), **changes):
    """A command as a shell would start it, with what it says and its exit code."""
    write_two_clouds()
    Path("file").write_text("no folder", encoding="utf-8")
    Path("storm.yaml").write_text(yaml.safe_dump(CONF | changes), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_API")}
    given = {name: value.format(**ports) for name, value in surroundings.items()}
    return nursery.ended(nursery.Begun(["-m", "evenhand", *command], kept | {"EVENHAND_HOME": "home", **given}))


@pytest.mark.parametrize(
    ("surroundings", "words"),
    [
        ({"PREFECT_API_URL": "http://127.0.0.1:{dead}/api"}, "which PREFECT_API_URL names, does not answer: "),
        ({"PREFECT_API_URL": "http://ada:pw@127.0.0.1:{mute}/api"}, "/api', which PREFECT_API_URL names, does not ans"),
        ({"PREFECT_API_URL": "http://nobody.invalid/api"}, "unset PREFECT_API_URL for a temporary one"),
        ({"PREFECT_API_URL": "http://127.0.0.1:many/api"}, "which PREFECT_API_URL names, does not answer: Port could"),
        ({"MLFLOW_TRACKING_URI": "http://127.0.0.1:{dead}"}, "cannot be reached (Connection refused): start it"),
        (
            {"MLFLOW_TRACKING_URI": "http://127.0.0.1:{mute}"},
            "cannot be reached (it is silent for 15 seconds): start",
        ),
        ({"MLFLOW_TRACKING_URI": "http://nobody.invalid:5000"}, "unset MLFLOW_TRACKING_URI to keep runs under mlruns/"),
        ({"MLFLOW_TRACKING_URI": "postgresql://ada:pw@127.0.0.1:{dead}/runs"}, "cannot be reached (Connection refused"),
        ({"MLFLOW_TRACKING_URI": "file:///runs"}, "names a folder, where MLflow keeps runs no more"),
        ({"EVENHAND_DATABASE_URL": "postgresql+asyncpg://ada:pw@127.0.0.1:{dead}/x"}, "the database at EVENHAND_DATAB"),
        ({"EVENHAND_DATABASE_URL": "mysql://127.0.0.1/x"}, "EVENHAND_DATABASE_URL begins with 'mysql'"),
        ({"EVENHAND_HOME": "/proc/nowhere"}, "Set EVENHAND_HOME to another folder."),
        ({"EVENHAND_HOME": "file"}, "Set EVENHAND_HOME to another folder."),
        (
            {"EVENHAND_HOME": "s3://bucket/store"},
            "EVENHAND_HOME=s3://bucket/store is an address, but what is kept there",
        ),
    ],
)
def test_a_place_that_cannot_be_used_is_one_message_before_anything_is_begun(surroundings, words, ports):
    done = run(surroundings, ports)

    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr
    assert "pw" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("evenhand: ")]) == 1
    assert "Traceback" not in done.stderr
    assert not Path("mlruns/mlflow.db").exists()


@pytest.mark.parametrize(
    "command", [("show", "storm"), ("champion", "show", "storm"), ("ui",), ("report", "storm"), ("prune",)]
)
def test_other_commands_name_a_home_that_is_an_address_too(command, ports):
    done = run({"EVENHAND_HOME": "s3://bucket/store"}, ports, command)

    assert done.returncode == 2, done.stdout + done.stderr
    assert "EVENHAND_HOME=s3://bucket/store is an address" in done.stderr


@pytest.mark.parametrize(
    ("package", "changes", "words"),
    [
        ("lightgbm", {"candidates": {"boosting": {"model": "lightgbm.LGBMClassifier"}}}, "Install its package"),
        ("s3fs", {"source": {"url": "s3://bucket/rows.parquet"}}, "evenhand[s3]"),
    ],
)
def test_a_package_that_is_missing_is_named_with_how_to_get_it(package, changes, words, ports):
    Path("without").mkdir()
    Path(f"without/{package}.py").write_text("raise ImportError('not installed')", encoding="utf-8")

    done = run({"PYTHONPATH": "without"}, ports, **changes)

    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
