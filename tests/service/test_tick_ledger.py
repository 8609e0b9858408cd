"""The record of ticks: what is owed, what never came, what died, and lines that vouch for each other."""

from datetime import UTC, datetime, timedelta

import pytest
from makers import make_study

from evenhand.errors import PlaceError
from evenhand.service.schedules import reckon
from evenhand.service.tick_ledger import (
    Tick,
    died_in_the_middle,
    is_done,
    last_finished,
    missed,
    not_fired,
    note,
    overdue,
    settings_digest,
    tick_lock,
    ticks_of,
    ticks_path,
)
from evenhand.storage.ledger import Broken, anchor_of
from evenhand.storage.locks import alone

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = {"cron": "0 * * * *", "grace": "30m"}


def study(**changes):
    return make_study(schedule=HOURLY, **changes)


def line(outcome, hours=0, **more):
    return note(Tick("tiny", (NOON + hours * HOUR).isoformat(), outcome, **more))


def owed(moment):
    return overdue(study(), ticks_of("tiny"), moment)


def test_a_tick_is_read_back_as_it_was_noted():
    made = line("retrained", why="better", data="d", settings="s", run_id="r", flow_run_id="f", because="backfill")

    assert ticks_of("tiny") == (made,)
    assert (made.number, made.moment) == (1, NOON)
    assert "@" in made.who
    assert ticks_of("other") == ()


def test_a_changed_line_is_reported():
    line("begun")
    line("retrained", why="better")
    file = ticks_path("tiny")
    file.write_text(file.read_text().replace("better", "worse!"))

    with pytest.raises(Broken, match=r"line 2 of the record of ticks .+ was changed after it was written"):
        ticks_of("tiny")


def test_a_line_cut_off_never_counted():
    line("begun")
    file = ticks_path("tiny")
    before_the_crash = anchor_of(file).read_bytes()
    line("retrained")
    file.write_bytes(file.read_bytes()[:-5])
    anchor_of(file).write_bytes(before_the_crash)  # a line is noted there once it is whole

    line("failed")

    assert [each.outcome for each in ticks_of("tiny")] == ["begun", "failed"]


def test_the_last_finished_as_of_a_moment_is_by_time_not_by_when_it_was_written():
    for hours, data in ((0, "a"), (5, "b"), (2, "c")):
        line("retrained", hours, data=data)
    line("skipped", 1, data="d")

    lines = ticks_of("tiny")

    assert [last_finished(lines, NOON + hours * HOUR).data for hours in (0, 1, 2, 4, 5, 9)] == list("aaccbb")
    assert last_finished(lines, NOON - HOUR) is None


def test_a_tick_counts_as_seen_to_when_it_or_a_later_one_is_over():
    line("begun", 1)
    line("retrained", 0, because="backfill")
    assert not is_done(ticks_of("tiny"), NOON, NOON + HOUR)

    line("skipped", 1)

    assert is_done(ticks_of("tiny"), NOON, NOON + HOUR)
    assert not is_done(ticks_of("tiny"), NOON + 2 * HOUR, NOON + 2 * HOUR)


def test_a_tick_that_a_clock_which_was_ahead_wrote_stands_for_none_that_come_before_it():
    line("retrained", 48)

    lines = ticks_of("tiny")

    assert not is_done(lines, NOON, NOON + HOUR)
    assert is_done(lines, NOON + 48 * HOUR, NOON + 48 * HOUR)
    assert is_done(lines, NOON + 48 * HOUR, NOON + 47.5 * HOUR)  # the same, an hour early where clocks skip its time
    assert missed(lines, study().schedule, NOON) == []


def test_missed_are_the_ticks_between_the_last_seen_to_and_this_one():
    assert missed((), study().schedule, NOON) == []
    line("scheduled", 0.5)
    assert missed(ticks_of("tiny"), study().schedule, NOON + HOUR) == []

    line("retrained", 1)

    assert missed(ticks_of("tiny"), study().schedule, NOON + 4 * HOUR) == [NOON + 2 * HOUR, NOON + 3 * HOUR]


def test_a_tick_is_overdue_when_its_grace_is_over_and_nobody_saw_to_it():
    line("skipped", 0)

    assert owed(NOON + HOUR + timedelta(minutes=29)) == ""
    assert owed(NOON + HOUR + timedelta(minutes=30)) == (
        "the tick of 2026-03-10 13:00 UTC never came, and it is 30 min 00 s past its time: is `evenhand up` running?"
    )


def test_what_was_due_before_the_schedule_began_is_not_pending():
    assert "no tick was ever recorded" in owed(NOON)

    line("scheduled", 0)

    assert owed(NOON + timedelta(minutes=45)) == ""
    assert "never came" in owed(NOON + 2 * HOUR)


def test_a_tick_dated_in_the_future_calms_nobody():
    line("retrained", 48)
    assert owed(NOON) == (
        "every tick on record is dated in the future, the first 2026-03-12 12:00 UTC: was the clock of this machine "
        "ahead?"
    )

    line("skipped", 0)

    assert owed(NOON + HOUR) == ""
    assert "the tick of 2026-03-10 13:00 UTC never came" in owed(NOON + 2 * HOUR - timedelta(minutes=1))


def test_a_tick_of_the_future_that_died_is_no_tick_to_catch_up_with():
    line("scheduled", -1, why="0 * * * * UTC")
    line("begun", 48, flow_run_id="f")

    assert reckon(study(), NOON + timedelta(minutes=10)) == NOON
    assert reckon(study(), NOON - timedelta(minutes=10)) is None
    assert (ticks_of("tiny")[-1].outcome, ticks_of("tiny")[-1].moment) == ("failed", NOON + 48 * HOUR)


def test_ticks_that_came_before_the_schedule_was_noted_are_made_up_for_when_it_is(monkeypatch):
    line("skipped", -1)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(PlaceError, match="the disk is full"):
            line("begun", 0)

    due = reckon(study(), NOON + timedelta(minutes=10))

    assert due == NOON
    assert [each.outcome for each in ticks_of("tiny")] == ["skipped", "scheduled"]


def test_another_schedule_begins_anew():
    line("scheduled", -3, why="30 * * * * UTC")
    line("skipped", -1)

    assert reckon(study(), NOON + timedelta(minutes=10)) is None
    assert ticks_of("tiny")[-1].why == "0 * * * * UTC"


def full(number):
    raise OSError(28, "No space left on device")


def test_a_tick_that_nobody_fired_is_due_until_its_grace_is_over_unless_the_schedule_is_paused():
    after = [timedelta(minutes=minutes) for minutes in (2, 4, 29, 31)]
    assert not_fired(ticks_of("tiny"), study().schedule, NOON + after[1]) is None
    line("skipped", -1)

    found = [not_fired(ticks_of("tiny"), study().schedule, NOON + each) for each in after]

    assert found == [None, NOON, NOON, None]
    line("begun", 0)
    assert not_fired(ticks_of("tiny"), study().schedule, NOON + after[1]) is None
    line("paused", 0.5)
    assert not_fired(ticks_of("tiny"), study().schedule, NOON + HOUR + after[1]) is None


def test_runs_that_are_no_ticks_of_the_schedule_do_not_stand_for_one():
    line("skipped", 0)
    line("retrained", 1, because="trigger")
    line("retrained", 1, because="backfill")

    assert "the tick of 2026-03-10 13:00 UTC never came" in owed(NOON + 2 * HOUR - timedelta(minutes=1))


def test_a_tick_that_began_and_never_ended_is_reported_unless_it_is_at_work():
    line("begun", 0, flow_run_id="f")

    with alone(tick_lock("tiny"), "it"):
        at_work = died_in_the_middle("tiny", ticks_of("tiny"))

    assert at_work is None
    assert "the tick of 2026-03-10 12:00 UTC began at" in owed(NOON)
    assert "died in the middle" in owed(NOON)
    line("skipped", 0, flow_run_id="another")
    assert died_in_the_middle("tiny", ticks_of("tiny")).flow_run_id == "f"
    line("failed", 0, flow_run_id="f")
    assert owed(NOON) == ""


@pytest.mark.parametrize("changes", [{"seed": 1}, {"alpha": 0.1}, {"gate": {"margin": 0.1}}, {"split": {"folds": 4}}])
def test_settings_that_change_what_a_run_comes_to_change_the_digest(changes):
    assert settings_digest(study(**changes)) != settings_digest(study())


def test_settings_that_do_not_leave_the_digest_as_it_is():
    assert settings_digest(study(description="words", workers=3, engine="processes")) == settings_digest(make_study())
