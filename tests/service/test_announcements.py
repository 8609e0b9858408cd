"""Who is told what by ticks and by `evenhand status --check`, counted at the other end of a webhook."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from hooks import Hook, served
from makers import make_study

from evenhand.cli.main import main
from evenhand.monitoring import transport
from evenhand.service import status
from evenhand.service.announcements import notify_skips
from evenhand.service.tick_ledger import Tick, note

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SCHEDULE = {"cron": "0 * * * *", "grace": "30m"}


@pytest.fixture
def hook(monkeypatch):
    monkeypatch.setattr(transport, "PAUSES", (0.0, 0.0))
    with served(Hook()) as server:
        monkeypatch.setenv("HOOK", server.address)
        yield server


def asking():
    return make_study(schedule=SCHEDULE, notify={"webhook": "${HOOK}", "skips": 2})


def write_conf():
    plain = asking().model_dump(mode="json", by_alias=True, exclude_defaults=True)
    Path("tiny.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")


def ticks(*outcomes, because="schedule"):
    for number, outcome in enumerate(outcomes):
        note(Tick("tiny", (NOON + number * HOUR).isoformat(), outcome, "nothing changed", because))


def texts(hook):
    return [content["text"] for content, _ in hook.got]


def test_a_streak_of_skipped_ticks_is_reported_once(hook):
    ticks("retrained", "skipped")
    early = notify_skips(asking())
    ticks("retrained", "skipped", "skipped")

    outcomes = [notify_skips(asking()), notify_skips(asking())]

    assert (early, outcomes) == ("not asked", ["sent", "known"])
    assert texts(hook) == [
        "tiny skips its ticks: 2 ticks in a row were skipped since 2026-03-10T13:00:00+00:00, the last because "
        "nothing changed"
    ]


def test_skips_of_a_backfill_and_ticks_that_ran_are_no_streak(hook):
    ticks("skipped", "skipped", because="backfill")
    backfilled = notify_skips(asking())
    ticks("skipped", "skipped", "retrained")

    assert (backfilled, notify_skips(asking())) == ("not asked", "not asked")


def test_a_tick_that_never_came_is_reported_once_by_the_check_from_outside(hook, monkeypatch):
    write_conf()
    ticks("retrained")
    monkeypatch.setattr("evenhand.api.schedules._now", lambda: NOON + 5 * HOUR)

    results = [CliRunner().invoke(main, ["status", "tiny.yaml", "--check"]) for _ in range(2)]

    assert [result.exit_code for result in results] == [1, 1]
    (text,) = texts(hook)
    assert text.startswith("tiny is silent: the tick of ")
    assert "is `evenhand up` running?" in text


def test_where_every_tick_came_the_check_sends_what_was_pending(hook):
    write_conf()
    ticks("retrained", "skipped", "skipped")
    hook.answers = [404]
    notify_skips(asking())

    status.notify_silences(["tiny.yaml"], NOON + 2 * HOUR)

    assert [content["event"] for content, _ in hook.got] == ["skips", "skips"]


def test_a_tick_that_breaks_is_reported_once_with_where_and_what_to_do(hook, mlruns, prefect_server, monkeypatch):
    from evenhand.flows.tick import tick

    write_conf()
    monkeypatch.setattr("evenhand.flows.tick.clock", lambda: NOON)

    states = [tick("tiny.yaml", NOON, because="trigger", return_state=True) for _ in range(2)]

    assert [state.is_failed() for state in states] == [True, True]
    (text,) = texts(hook)
    assert text.startswith("tiny failed: in ingestion: source.path names 'rows.csv', but there is no such file")
    assert text.endswith("Fix source.path.")
