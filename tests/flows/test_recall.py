"""A study that is run again with nothing changed: answered by its last run, and noted in both tools."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from flips import Room
from makers import room_of_its_own, write_two_clouds
from mlflow import MlflowClient

from evenhand.cli.main import main
from evenhand.runtime.steps import Step

CONF = {
    "source": {"path": "rows.csv"},
    "target": "y",
    "split": {"folds": 3, "holdout_share": 0.25},
    "candidates": {"gaussian_nb": None, "knn": None},
}
N_FITS = 2 * (3 + 1)


def ran(*words):
    """The report of a run by the command, and what it printed; the stages that were called."""
    before = Step.n_called
    result = CliRunner().invoke(main, ["run", "clouds.yaml", "--json", "report.json", *words])
    assert result.exit_code == 0, result.output
    return json.loads(Path("report.json").read_text(encoding="utf-8")), result.output, Step.n_called - before


@pytest.fixture(scope="module")
def finished(prefect_server, empty_database, tmp_path_factory):
    """A room in which the study was run once, and the report of that run and what it printed."""
    kept = tmp_path_factory.mktemp("recall")
    with room_of_its_own(tmp_path_factory.mktemp("room"), empty_database) as folder:
        write_two_clouds()
        Path("clouds.yaml").write_text(yaml.safe_dump(CONF), encoding="utf-8")
        first = ran()
    shutil.copytree(folder, kept, dirs_exist_ok=True)
    return Room(folder, kept), first


@pytest.fixture
def first(finished, monkeypatch):
    """The report of the first run, and what it printed; all that it left is as it was then."""
    room, report = finished
    room.bring_back()
    monkeypatch.chdir(room.folder)
    monkeypatch.setenv("EVENHAND_HOME", str(room.folder / "home"))
    return report


def runs_of(kind):
    client = MlflowClient(f"sqlite:///{Path('mlruns/mlflow.db').absolute()}")
    experiment = client.get_experiment_by_name("clouds")
    return client.search_runs([experiment.experiment_id], f"tags.`evenhand.kind` = '{kind}'")


def table_of(printed):
    """The leaderboard and what stands below it, up to the counts of checks."""
    lines = printed.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("clouds: "))
    end = next(n for n, line in enumerate(lines) if " fits done, " in line)
    return [line for line in lines[begin:end] if line not in {"refitting", "explaining", "recording"}]


def test_an_unchanged_study_is_answered_by_its_last_run_which_both_tools_note(first):
    report, printed, _ = first

    again, said, n_called = ran()

    assert n_called == 1
    assert again["fits"] == {"executed": 0, "reused": N_FITS}
    assert again["candidates"] == report["candidates"]
    assert again["unchanged"]["since"] == report["mlflow"]["run_id"]
    assert report["unchanged"] is None
    assert table_of(said) == table_of(printed)
    assert said.splitlines()[-1] == printed.splitlines()[-1]
    (note,) = runs_of("rerun")
    assert note.info.status == "FINISHED"
    assert note.info.run_id == again["unchanged"]["noted_in"]
    assert note.data.tags["evenhand.same_as"] == report["mlflow"]["run_id"]
    assert note.data.metrics["fits_executed"] == 0
    assert [run.info.run_id for run in runs_of("run")] == [report["mlflow"]["run_id"]]


def test_again_goes_through_every_stage(first):
    _, _, n_called = first

    again, _, n_again = ran("--again")

    assert n_again == n_called
    assert again["unchanged"] is None
    assert len(runs_of("run")) == 2


def test_another_run_in_between_is_not_overlooked(first):
    ran("--only", "knn")

    again, _, _ = ran()

    assert again["unchanged"] is None
    assert len(again["candidates"]) == 2


def test_seconds_are_those_of_the_whole_command_and_memory_is_reported(first):
    report, _, _ = first

    assert report["wall_seconds"] >= report["seconds"] >= sum(each["seconds"] for each in report["stages"])
    assert report["peak_mb"] >= max(each["peak_mb"] for each in report["stages"])


def test_the_last_line_is_the_verdict(first):
    _, printed, _ = first

    last = " ".join(" ".join(printed.splitlines()[-2:]).split())
    assert "expected average_precision on new rows" in last


def test_on_stdout_is_the_report_alone_and_quiet_is_silent(first):
    loud = CliRunner().invoke(main, ["run", "clouds.yaml", "--json", "-"])
    quiet = CliRunner().invoke(main, ["run", "clouds.yaml", "--quiet"])

    assert json.loads(loud.stdout)["study"] == "clouds"
    assert loud.stderr.splitlines()[-1] == "looking up"
    assert (quiet.stdout, quiet.stderr) == ("", "")
