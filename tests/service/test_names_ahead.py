"""Runs that a schedule has put down for later: their names, whose turn it is, and schedules of more than one page."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from makers import write_two_clouds
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.settings import PREFECT_RUNNER_PROCESS_LIMIT, temporary_settings
from prefect.states import Completed, Scheduled

from evenhand.flows.tick import tick
from evenhand.service import deployments
from evenhand.service.deployments import coming_runs, due_runs, switches
from evenhand.service.flow_run_names import name_ahead
from evenhand.service.schedule_server import Served, deployed
from evenhand.study.loader import load_study

pytestmark = pytest.mark.xdist_group("prefect")

AT = datetime.now(UTC)
CONF = {
    "name": "ahead",
    "source": {"path": "rows.csv"},
    "target": "y",
    "candidates": {"gaussian_nb": None},
    "schedule": {"cron": "0 6 * * *", "timezone": "Asia/Tokyo"},
}


@pytest.fixture
def study(prefect_server):
    """A study of which the server has put down a run for each of the next mornings."""
    write_two_clouds()
    Path("ahead.yaml").write_text(yaml.safe_dump(CONF), encoding="utf-8")
    found = load_study("ahead.yaml")
    deployment_id = deployed("ahead.yaml", found, tick).apply()
    with get_client(sync_client=True) as client:
        client.request("POST", "/deployments/{id}/schedule", path_params={"id": deployment_id}, json={"min_runs": 3})
        yield found
        client.delete_deployment(deployment_id)


def ahead():
    """The runs that are put down for later."""
    with get_client(sync_client=True) as client:
        there = client.read_deployment_by_name("retrain-on-schedule/ahead")
    return coming_runs({there.id: "ahead"}).get("ahead", [])


def names():
    return sorted(run.name for run in ahead())


def test_each_is_named_by_its_study_and_its_time_where_the_schedule_is(study):
    assert not any(name.startswith("ahead") for name in names())
    mornings = sorted(run.expected_start_time for run in ahead())

    name_ahead(study, ahead(), datetime.now(UTC))

    # 06:00 in Tokyo is 21:00 UTC of the day before
    expected = [f"ahead {morning + timedelta(hours=9):%Y-%m-%d} 06:00" for morning in mornings]
    assert len(expected) >= 3
    assert names() == expected


def test_what_bears_its_name_and_what_is_due_is_left_alone(study):
    first = min(run.expected_start_time for run in ahead())

    name_ahead(study, ahead(), first)

    given = [name for name in names() if not re.fullmatch(r"ahead \d{4}-\d\d-\d\d 06:00", name)]
    assert len(given) == 1
    assert name_ahead(study, ahead(), first) == []


def test_a_run_that_a_person_put_down_keeps_the_name_it_was_given(study):
    with get_client(sync_client=True) as client:
        there = client.read_deployment_by_name("retrain-on-schedule/ahead")
        later = datetime.now(UTC) + timedelta(days=1)
        client.create_flow_run_from_deployment(there.id, name="my own", state=Scheduled(scheduled_time=later))

    name_ahead(study, ahead(), datetime.now(UTC))

    assert "my own" in names()


def test_a_schedule_that_is_not_on_the_server_has_nothing_to_name(prefect_server):
    assert coming_runs({uuid4(): "nowhere"}) == {}


def test_a_run_that_is_due_and_waits_for_its_turn_is_known_until_it_is_over(study):
    with get_client(sync_client=True) as client:
        there = client.read_deployment_by_name("retrain-on-schedule/ahead")
        due = Scheduled(scheduled_time=AT - timedelta(minutes=5))
        run = client.create_flow_run_from_deployment(there.id, state=due)

        waiting = due_runs({there.id: "ahead"}, AT)
        client.set_flow_run_state(run.id, Completed(), force=True)

    assert waiting == {"ahead": StateType.SCHEDULED}
    assert due_runs({there.id: "ahead"}, AT) == {}


def test_schedules_are_found_on_whichever_of_the_servers_pages_they_stand(study, monkeypatch):
    monkeypatch.setattr(deployments, "PAGE", 1)
    other = deployed("ahead.yaml", study, tick)
    other.name = "another"
    with get_client(sync_client=True) as client:
        strange = client.create_deployment(client.create_flow_from_name("stranger"), "zzz")
        other_id = other.apply()

        found, planned = switches(), {each.name: each for each in deployments.plans()}
        for each in (strange, other_id):
            client.delete_deployment(each)

    assert {"ahead", "another"} == set(found) & {"ahead", "another", "zzz"}
    assert planned["ahead"].next_at == min(run.expected_start_time for run in ahead())
    assert not planned["ahead"].is_going


def test_no_more_runs_begin_at_once_than_prefect_is_asked_for():
    with temporary_settings({PREFECT_RUNNER_PROCESS_LIMIT: 3}):
        assert Served(name="evenhand").limit == 3
