"""What is told of schedules with everything down: next ticks, last ticks, verdicts, and ticks that never came."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from makers import make_study

from evenhand.cli.main import main
from evenhand.errors import ConfError, PlaceError
from evenhand.service import status
from evenhand.service.servers import free_port
from evenhand.service.status import reachable_server, schedule_lines, system_status, ticks_between, with_schedule
from evenhand.service.tick_ledger import Tick, note, ticks_of
from evenhand.tracking.champion_ledger import Contender, Decision, decide

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
CONF = {"source": {"path": "rows.csv"}, "target": "y", "candidates": ["gaussian_nb"]}


@pytest.fixture
def confs():
    """A folder with a study that is due every night in Berlin, and one without a schedule."""
    Path("conf").mkdir()
    nightly = {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "grace": "2h"}
    Path("conf/storm.yaml").write_text(yaml.safe_dump(CONF | {"schedule": nightly}), encoding="utf-8")
    Path("conf/calm.yaml").write_text(yaml.safe_dump(CONF), encoding="utf-8")
    return with_schedule(["conf"])


def line(outcome, text, **more):
    return note(Tick("storm", text, outcome, **more))


def told(*words):
    return CliRunner().invoke(main, list(words))


def test_of_a_folder_the_studies_with_a_schedule_count(confs):
    assert confs == ["conf/storm.yaml"]
    with pytest.raises(ConfError, match=r"none of conf/calm.yaml has a schedule: add one to a study file"):
        with_schedule(["conf/calm.yaml"], must_exist=True)


def test_everything_is_reported_with_nothing_up(confs):
    line("scheduled", "2026-03-08T12:00:00+00:00")
    line("retrained", "2026-03-09T02:00:00+00:00", why="4 fits done, 0 reused")
    line("skipped", "2026-03-10T02:00:00+00:00", why="nothing changed")
    decide(Decision("storm", "promote", "it is the first", Contender("run_1", 3, "d"), when="2026-03-09"), "")

    found = system_status(confs, NOON)

    assert found.late == ()
    assert found.lines == (
        "not up: start `evenhand up`",
        "",
        "storm  0 3 * * * Europe/Berlin  next 2026-03-11 02:00 UTC",
        "  2026-03-09 02:00 UTC  retrained: 4 fits done, 0 reused",
        "  2026-03-10 02:00 UTC  skipped: nothing changed",
        "  champion version 3",
        "  2026-03-09  promote: it is the first",
    )


def test_a_tick_that_never_came_ends_the_check_with_1(confs):
    line("skipped", "2026-03-08T02:00:00+00:00")

    done = told("status", "--check", "conf")

    assert done.exit_code == 1
    assert "storm: the tick of " in done.output
    assert "never came" in done.output


def test_a_check_with_every_tick_in_time_is_silent(confs, monkeypatch):
    monkeypatch.setattr("evenhand.api.schedules._now", lambda: NOON)
    line("skipped", "2026-03-10T02:00:00+00:00")

    done = told("status", "--check", "conf")

    assert (done.exit_code, done.output) == (0, "")


def test_a_check_of_nothing_is_no_success():
    assert told("status").exit_code == 0
    assert told("status", "--check").exit_code == 2
    assert "there is no study file 'conf'" in told("status", "--check").output


def test_a_schedule_is_paused_and_resumed_with_nothing_up(confs):
    line("skipped", "2026-03-10T02:00:00+00:00")

    paused = told("schedule", "pause", "storm")
    shown = schedule_lines(confs, NOON)
    late = system_status(confs, datetime(2027, 1, 1, tzinfo=UTC)).late
    resumed = told("schedule", "resume", "storm")

    assert (paused.exit_code, resumed.exit_code) == (0, 0)
    assert shown == ["storm  0 3 * * * Europe/Berlin  paused"]
    assert late == ()
    assert [each.outcome for each in ticks_of("storm")] == ["skipped", "paused", "resumed"]
    assert "is not paused" in told("schedule", "resume", "storm").output
    assert "Did you mean 'storm'?" in told("schedule", "pause", "strom").output


def test_what_needs_a_server_says_that_none_is_up():
    with pytest.raises(PlaceError, match="nothing is up here: start `evenhand up` first"):
        reachable_server()
    assert told("trigger", "storm").exit_code == 2


def test_what_needs_a_server_that_does_not_answer_yet_says_to_wait(monkeypatch):
    monkeypatch.setattr(status, "is_up", lambda: True)
    monkeypatch.setattr(status, "state", lambda: {"prefect": free_port(), "mlflow": free_port()})

    with pytest.raises(PlaceError, match=r"does not answer at .*wait until `evenhand status` shows that it does"):
        reachable_server()


def test_the_ticks_between_two_dates_are_those_of_the_zone_with_both_days_whole():
    nightly = make_study(schedule={"cron": "30 2 * * *", "timezone": "Europe/Berlin"})

    found = ticks_between(nightly, datetime(2026, 3, 28), datetime(2026, 3, 30))

    assert [f"{tick:%d %H:%M}" for tick in found] == ["28 01:30", "29 01:30", "30 00:30"]
    with pytest.raises(ConfError, match="has no tick from"):
        ticks_between(nightly, datetime(2026, 3, 28, 4), datetime(2026, 3, 28, 5))
    with pytest.raises(ConfError, match="study 'tiny' has no schedule"):
        ticks_between(make_study(), datetime(2026, 3, 28), datetime(2026, 3, 30))
