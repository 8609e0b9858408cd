"""A schedule that a person pauses in Prefect itself stays paused when it is put on the server again."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from makers import write_two_clouds
from prefect.client.orchestration import get_client

from evenhand.flows.tick import tick
from evenhand.service.deployments import switches
from evenhand.service.schedule_server import agree, deployed, heed
from evenhand.service.schedules import lateness
from evenhand.service.tick_ledger import Tick, is_paused, note, ticks_of
from evenhand.study.loader import load_study

AT = datetime(2026, 3, 10, 12, tzinfo=UTC)
CONF = {
    "name": "paused",
    "source": {"path": "rows.csv"},
    "target": "y",
    "candidates": {"gaussian_nb": None},
    "schedule": {"cron": "0 12 1 1 *"},
}


@pytest.fixture
def study(prefect_server):
    """A study whose schedule is on the server."""
    write_two_clouds()
    Path("paused.yaml").write_text(yaml.safe_dump(CONF), encoding="utf-8")
    found = load_study("paused.yaml")
    put(found)
    yield found
    with get_client(sync_client=True) as client:
        client.delete_deployment(deployment(client).id)


def put(study):
    """What `evenhand up` does for a study at its start."""
    heed(study.name, switches().get(study.name))
    deployed("paused.yaml", study, tick).apply()
    agree(study.name, switches().get(study.name))


def deployment(client):
    return client.read_deployment_by_name("retrain-on-schedule/paused")


def touch(verb):
    """What a person does on Prefect's page of the deployment."""
    with get_client(sync_client=True) as client:
        there = deployment(client)
        if verb == "switch off":
            client.update_deployment_schedule(there.id, there.schedules[0].id, active=False)
        else:
            getattr(client, f"{verb}_deployment")(there.id)


def say(outcome, when):
    note(Tick("paused", AT.isoformat(), outcome, when=when.isoformat(timespec="seconds")))


@pytest.mark.parametrize("verb", ["switch off", "pause"])
def test_what_is_paused_in_prefect_stays_paused_at_the_next_start(study, verb):
    touch(verb)

    put(study)

    (line,) = ticks_of("paused")
    assert (line.outcome, line.why, line.who) == ("paused", "in Prefect's own pages or API", "a person")
    assert switches()["paused"].is_paused


def test_who_resumes_with_our_command_while_nothing_is_up_has_the_last_word(study):
    touch("pause")
    heed("paused", switches()["paused"])
    say("resumed", datetime.now(UTC) + timedelta(seconds=2))

    put(study)

    assert [line.outcome for line in ticks_of("paused")] == ["paused", "resumed"]
    assert not switches()["paused"].is_paused


def test_our_pause_lasts_where_nobody_touched_the_server_since(study):
    say("paused", datetime.now(UTC) + timedelta(seconds=2))

    put(study)

    assert [line.outcome for line in ticks_of("paused")] == ["paused"]
    assert switches()["paused"].is_paused


def test_what_is_resumed_in_prefect_goes_on(study):
    say("paused", datetime.now(UTC) - timedelta(minutes=1))
    touch("resume")

    heed("paused", switches()["paused"])

    assert [line.outcome for line in ticks_of("paused")] == ["paused", "resumed"]


def test_a_schedule_that_was_never_on_the_server_is_heeded_as_nothing(prefect_server):
    assert "nobody" not in switches()
    assert heed("nobody", None) is None


def test_a_tick_that_was_handed_out_before_the_pause_is_not_run(study):
    say("paused", AT)

    assert lateness(study, AT, AT) == "the schedule is paused: evenhand schedule resume paused"
    assert is_paused(ticks_of("paused"))
