"""Every study in examples/ is short, names its columns and models rightly, and runs as it is."""

import json
import shutil
from functools import cache
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from makers import room_of_its_own

from evenhand.study.loader import load_study, schema

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(file.name for file in EXAMPLES.glob("*.yaml"))
MOST_LINES = 15


@pytest.mark.parametrize("file", FILES)
def test_an_example_is_short_and_in_the_form_that_editors_check(file):
    text = (EXAMPLES / file).read_text(encoding="utf-8")

    assert len(text.splitlines()) <= MOST_LINES
    assert not list(Draft202012Validator(json.loads(schema())).iter_errors(yaml.safe_load(text)))


@pytest.fixture(scope="module")
def run_of(tmp_path_factory, empty_database, prefect_server):
    """The report of each example, run when it is first asked for, and the folder where it was."""
    from evenhand.api.launch import run_study

    @cache
    def ran(file):
        with room_of_its_own(tmp_path_factory.mktemp("example"), empty_database) as folder:
            shutil.copytree(EXAMPLES, "examples")
            return folder, run_study(load_study(f"examples/{file}"))

    return ran


@pytest.mark.parametrize("file", FILES)
def test_an_example_runs_as_it_is(file, run_of):
    _, report = run_of(file)

    assert report.page.exists()
    assert report.judgement.figures
    assert not report.judgement.failed


def test_a_candidate_that_sees_unlabelled_rows_is_marked_wherever_a_run_is_looked_at(run_of, monkeypatch):
    from evenhand.api.leaderboards import leaderboard_of
    from evenhand.tracking import mlflow_client

    folder, report = run_of("frequencies_all.yaml")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))

    client = mlflow_client.open_store().client()
    tags = {name: client.get_run(run).data.tags for name, run in report.run_ids.items()}
    marked = {name: each.get("evenhand.sees_unlabelled") for name, each in tags.items()}
    assert marked == {"lin": "true", "lin(frequencies=train)": None, "categorical_nb": None}
    assert "sees unlabelled rows" in tags["lin"]["evenhand.warnings"]
    assert report.page.read_text(encoding="utf-8").count("sees unlabelled rows") >= 1
    assert report.judgement.winner.plan.name != "lin"
    assert leaderboard_of(report.as_json())["sees_unlabelled"].to_dict() == {name: name == "lin" for name in marked}
