"""What a person sees of a run in Prefect: names, boxes, log lines and artifacts, asked for by Prefect's own client."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from makers import make_study, write_two_clouds
from prefect import tags
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
    FlowRunFilterParentFlowRunId,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.logging.handlers import APILogHandler

from evenhand.runtime.engines import boxes
from evenhand.runtime.process_identity import owner_tag
from evenhand.service.tick_ledger import ticks_of

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
MANY = {
    "candidates": {"gaussian_nb": None, "knn": {"grid": {"n_neighbors": [3, 5, 7]}}},
    "split": {"folds": 3, "holdout_share": 0.25},
    "workers": 1,
}


@pytest.fixture
def client(prefect_server):
    with get_client(sync_client=True) as client:
        yield client


@pytest.fixture
def room(mlruns, monkeypatch):
    write_two_clouds()
    monkeypatch.setenv("EVENHAND_MLFLOW_PAGES", "http://127.0.0.1:5000")


def retrained(**changes):
    from evenhand.flows.retrain import retrain

    state = retrain(make_study(**changes), as_of=NOON, return_state=True)
    APILogHandler().flush()
    return state.result(), state.state_details.flow_run_id


def of_run(run_id):
    return FlowRunFilter(id=FlowRunFilterId(any_=[run_id]))


def task_names(client, run_id):
    return {run.name for run in client.read_task_runs(flow_run_filter=of_run(run_id))}


def boxes_of(client, run_id):
    inside = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[run_id]))
    return {run.name: run.id for run in client.read_flow_runs(flow_run_filter=inside)}


def artifacts_of(client, run_id):
    chosen = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run_id]))
    return {artifact.key: artifact for artifact in client.read_artifacts(artifact_filter=chosen)}


def logged(client, run_id):
    chosen = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run_id]))
    return [log.message for log in client.read_logs(log_filter=chosen, limit=200)]


def test_a_run_and_its_parts_are_named_as_people_speak(client, room):
    _, run_id = retrained(workers=1)

    assert client.read_flow_run(run_id).name == "tiny 2026-03-10 12:00"
    names = task_names(client, run_id)
    assert {"clean", "judge", "fit gaussian_nb fold 1", "fit gaussian_nb final", "prepare plain fold 0"} <= names


def test_a_stage_of_many_parts_is_one_box_of_the_graph_with_its_parts_inside(client, room):
    report, run_id = retrained(**MANY)

    inside = boxes_of(client, run_id)
    assert list(inside) == ["fit: 16 parts"]
    assert len(task_names(client, inside["fit: 16 parts"])) == 16 == report.n_executed
    outside = task_names(client, run_id)
    assert not any(name.startswith("fit knn") for name in outside)
    assert len(client.read_task_runs(flow_run_filter=of_run(run_id))) < 30
    assert client.read_flow_run(inside["fit: 16 parts"]).state.is_completed()


def test_only_the_run_itself_is_tagged_with_the_process_that_works_on_it(client, room):
    with tags(owner_tag(), "mine"):
        _, run_id = retrained(**MANY)

    inside = boxes_of(client, run_id)["fit: 16 parts"]
    assert set(client.read_flow_run(run_id).tags) == {owner_tag(), "mine"}
    assert client.read_flow_run(inside).tags == ["mine"]
    parts = [
        *client.read_task_runs(flow_run_filter=of_run(run_id)),
        *client.read_task_runs(flow_run_filter=of_run(inside)),
    ]
    assert {tuple(part.tags) for part in parts} == {("mine",)}


def test_the_page_links_to_the_run_in_prefect_and_in_mlflow_and_names_no_command_without_a_file(client, room):
    report, run_id = retrained()

    page = report.page.read_text(encoding="utf-8")

    links = re.findall(r'<a href="(http[^"]+)">', page)
    mlflow = f"/#/experiments/{report.experiment_id}/runs/{report.run_id}?workflowType=machine_learning"
    assert [each.partition("://")[2].partition("/")[2] for each in links] == [mlflow[1:], f"runs/flow-run/{run_id}"]
    assert "To repeat it" not in page


def test_leaderboard_verdict_and_links_are_artifacts_of_the_run(client, room):
    report, run_id = retrained(**MANY)

    found = artifacts_of(client, run_id)

    assert set(found) == {"tiny-leaderboard", "tiny-verdict", "tiny-mlflow", "tiny-page"}
    assert found["tiny-leaderboard"].type == "table"
    best = report.judgement.best.plan.name
    assert best in found["tiny-leaderboard"].data
    assert "## Verdict" in found["tiny-verdict"].data
    assert "## Decision" in found["tiny-verdict"].data
    address = f"http://127.0.0.1:5000/#/experiments/{report.experiment_id}/runs/{report.run_id}"
    assert address in found["tiny-verdict"].data
    assert f"{address}/artifacts/report.html?workflowType=machine_learning" in found["tiny-page"].data


def test_our_lines_arrive_at_the_run(client, room):
    report, run_id = retrained(workers=1)

    lines = logged(client, run_id)

    assert any(f"recorded in MLflow run {report.run_id}" in line for line in lines)
    assert any("held out by" in line for line in lines)


def test_a_long_stage_shows_how_far_it_is(client, room, monkeypatch):
    monkeypatch.setattr(boxes, "LONG_SECONDS", 0.0)

    _, run_id = retrained(**MANY)

    found = artifacts_of(client, boxes_of(client, run_id)["fit: 16 parts"])
    assert found["fit-progress"].type == "progress"
    assert float(found["fit-progress"].data) == 100.0
    assert found["fit-progress"].description == "fit: 16 of 16 parts"


def test_a_run_goes_on_where_prefect_takes_no_artifact(client, room, monkeypatch):
    def refuses(**given):
        raise ValueError("no room")

    monkeypatch.setattr("evenhand.tasks.operation.publishing.create_table_artifact", refuses)

    report, run_id = retrained(workers=1)

    assert report.n_executed == 4
    assert set(artifacts_of(client, run_id)) == {"tiny-verdict", "tiny-mlflow", "tiny-page"}
    assert any(
        "the leaderboard could not be shown in Prefect: ValueError: no room" in x for x in logged(client, run_id)
    )


@pytest.fixture
def ticked(room, monkeypatch):
    from evenhand.flows.tick import tick

    conf = {
        "source": {"path": "rows.csv"}, "target": "y", "split": {"folds": 2, "holdout_share": 0.25},
        "candidates": ["gaussian_nb"], "workers": 1,
        "schedule": {"cron": "0 6 * * *", "timezone": "Europe/Berlin", "grace": "2h"},
    }  # fmt: skip
    Path("storm.yaml").write_text(yaml.safe_dump(conf), encoding="utf-8")

    def at(moment):
        monkeypatch.setattr("evenhand.flows.tick.clock", lambda: moment + timedelta(seconds=2))
        return tick("storm.yaml", as_of=moment, because="schedule", return_state=True)

    return at


def test_the_list_of_runs_says_of_a_skipped_tick_why(client, ticked):
    six = datetime(2026, 11, 18, 5, tzinfo=UTC)
    states = [ticked(six), ticked(six + timedelta(days=1))]

    first, second = (client.read_flow_run(state.state_details.flow_run_id) for state in states)
    assert first.name == "storm 2026-11-18 06:00"
    assert second.name == (
        "storm 2026-11-19 06:00 skipped: neither data nor settings changed since the tick of 2026-11-18 05:00 UTC"
    )
    assert second.state.name == "Skipped"
    assert set(artifacts_of(client, first.id)) == {"storm-leaderboard", "storm-verdict", "storm-mlflow", "storm-page"}
    assert ticks_of("storm")[-1].why.split(" since")[0] in artifacts_of(client, second.id)["storm-verdict"].data


def test_the_form_of_the_deployment_has_a_title_and_help_for_every_parameter():
    from prefect.utilities.callables import parameter_schema

    from evenhand.flows.tick import tick

    shown = parameter_schema(tick.fn).properties

    assert {name: one["title"] for name, one in shown.items()} == {
        "conf": "Study file", "as_of": "As of", "changes": "Changed settings", "because": "Reason",
        "force": "Run in any case", "promotes": "Gate decides",
    }  # fmt: skip
    assert all(one["description"].endswith(".") for one in shown.values())
