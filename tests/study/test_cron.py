"""The moments that a cron expression names, also on the days on which clocks change."""

import asyncio
import runpy
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from evenhand.study.cron import parsed_cron

SIMULATION = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "clock_changes.py"))
BERLIN = ZoneInfo("Europe/Berlin")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ticks(expression, start, n, timezone="UTC"):
    return [f"{tick:%m-%d %H:%M}" for tick in islice(parsed_cron(expression, timezone).after(at(start)), n)]


@pytest.mark.parametrize(
    ("expression", "expected"),  # 1 January 2026 is a Thursday
    [
        ("0 3 * * *", ["01-01 03:00", "01-02 03:00", "01-03 03:00"]),
        ("*/20 1 * * *", ["01-01 01:00", "01-01 01:20", "01-01 01:40"]),
        ("5,50 * * * *", ["01-01 00:05", "01-01 00:50", "01-01 01:05"]),
        ("0 0 * * mon-fri", ["01-02 00:00", "01-05 00:00", "01-06 00:00"]),
        ("0 0 * * 7", ["01-04 00:00", "01-11 00:00", "01-18 00:00"]),
        ("0 0 1 feb,apr *", ["02-01 00:00", "04-01 00:00", "02-01 00:00"]),
        ("0 0 13 * 5", ["01-02 00:00", "01-09 00:00", "01-13 00:00"]),  # Fridays, and every 13th
        ("15-45/15 6 * * *", ["01-01 06:15", "01-01 06:30", "01-01 06:45"]),
        ("@weekly", ["01-04 00:00", "01-11 00:00", "01-18 00:00"]),
    ],
)
def test_an_expression_names_the_moments_that_cron_would(expression, expected):
    assert ticks(expression, "2026-01-01T00:00", 3) == expected


def test_a_sixth_field_is_for_seconds():
    found = list(islice(parsed_cron("* * * * * */20").after(at("2026-01-01T00:00:15")), 3))

    assert [tick.second for tick in found] == [20, 40, 0]


def test_a_tick_is_not_after_itself_but_is_the_latest_then():
    cron, three = parsed_cron("0 3 * * *"), at("2026-01-01T03:00")

    assert next(cron.after(three)) == at("2026-01-02T03:00")
    assert cron.latest(three) == three
    assert cron.latest(three - timedelta(seconds=1)) == at("2025-12-31T03:00")
    assert list(cron.between(three, three + timedelta(days=1))) == [three, at("2026-01-02T03:00")]


def test_the_hour_follows_the_clocks_of_the_zone():
    assert ticks("0 3 * * *", "2026-03-27T12:00", 3, "Europe/Berlin") == ["03-28 02:00", "03-29 01:00", "03-30 01:00"]


def test_a_time_that_clocks_leave_out_comes_as_much_later_and_one_they_repeat_comes_once():
    assert ticks("30 2 * * *", "2026-03-28T12:00", 2, "Europe/Berlin") == ["03-29 01:30", "03-30 00:30"]  # 03:30 there
    assert ticks("30 2 * * *", "2026-10-24T12:00", 2, "Europe/Berlin") == ["10-25 00:30", "10-26 01:30"]  # the first


def test_a_time_left_out_before_midnight_comes_once_and_in_order():
    cron = parsed_cron("0,30 * * * *", "America/Nuuk")  # clocks go from 23:00 to 00:00 on 28 March 2026, at 01:00 UTC

    found = list(cron.between(at("2026-03-29T00:00"), at("2026-03-29T03:00")))

    assert [f"{tick:%H:%M}" for tick in found] == ["00:00", "00:30", "01:00", "01:30", "02:00", "02:30", "03:00"]
    assert [cron.latest(at(f"2026-03-29T01:{minute}")) for minute in ("29", "31", "59")] == [
        at("2026-03-29T01:00"), at("2026-03-29T01:30"), at("2026-03-29T01:30"),
    ]  # fmt: skip


def test_what_a_scheduler_meant_is_as_much_later_as_clocks_skip_and_no_more():
    two_hours = parsed_cron("30 2 * * *", "Antarctica/Troll")

    assert two_hours.meant(at("2026-03-29T00:30")) == at("2026-03-29T02:30")
    assert two_hours.meant(at("2026-03-28T00:30")) == at("2026-03-27T02:30")


def test_where_no_clock_skips_a_scheduler_meant_the_tick_before_however_far_the_zone_is_from_utc():
    berlin = parsed_cron("30 2 * * *", "Europe/Berlin")  # 01:30 UTC in winter

    assert berlin.meant(at("2026-01-10T00:30")) == at("2026-01-09T01:30")


def from_prefect(expression, timezone, start, n):
    """What Prefect's server would schedule from a moment on."""
    from prefect.server.schemas.schedules import CronSchedule

    dates = asyncio.run(CronSchedule(cron=expression, timezone=timezone).get_dates(n, start=start))
    return [datetime.fromtimestamp(moment.timestamp(), UTC) for moment in dates]


@pytest.mark.parametrize("timezone", ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize(
    "expression",
    ["0 3 * * *", "*/7 * * * *", "0 0 29 2 *", "15 4 1-7 * mon", "0 4 */2 * 1", "0 1 1 * */1", "5 0-6/2 * 3,nov 1-5"],
)
def test_prefect_names_the_same_moments_on_other_days(expression, timezone):
    start = at("2027-06-20T00:00")

    expected = from_prefect(expression, timezone, start, 5)

    assert expected
    assert list(islice(parsed_cron(expression, timezone).between(start, at("2060-01-01")), len(expected))) == expected


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 2 * * *", "59 1 * * *", "0 3 * * *", "0 0 * * *"])
@pytest.mark.parametrize("change", ["2026-03-29", "2026-10-25"])
def test_what_prefect_schedules_means_one_tick_a_day_across_a_change_of_clocks(expression, change):
    first, cron = at(change) - timedelta(days=2), parsed_cron(expression, "Europe/Berlin")
    asked = [first + timedelta(hours=hour) for hour in range(4 * 24)]

    scheduled = {moment for start in asked for moment in from_prefect(expression, "Europe/Berlin", start, 2)}

    days = Counter(meant.astimezone(BERLIN).date() for meant in {cron.meant(moment) for moment in scheduled})
    assert set(days.values()) == {1}
    assert max(days) - min(days) == timedelta(days=len(days) - 1)


# Clocks change by half an hour, by two, at midnight, around Ramadan, and on a Saturday evening.
NASTY = ["Australia/Lord_Howe", "Antarctica/Troll", "America/Havana", "Africa/Casablanca", "America/Santiago"]


@pytest.mark.parametrize("zone", NASTY)
def test_a_year_has_the_ticks_that_a_walk_by_the_wall_clock_finds_each_once(zone):
    for expression in ("30 2 * * *", "0 0 * * *", "45 23 * * *", "30 1,2,3 * * *", "0 * * * *"):
        cron = parsed_cron(expression, zone)
        ticks = list(cron.between(at("2026-01-01"), at("2026-12-31T23:59:59")))

        assert len(ticks) == len(set(ticks))
        assert set(ticks) == SIMULATION["walked"](cron, 2026)


@pytest.mark.parametrize("zone", NASTY)
def test_around_a_change_of_clocks_each_tick_is_run_once_also_when_a_clock_was_set_back_or_was_ahead(zone):
    wrong = []

    for expression in ("30 2 * * *", "0 0 * * *", "0 */6 * * *"):
        changes = SIMULATION["changes"](ZoneInfo(zone), 2026)
        SIMULATION["around"](parsed_cron(expression, zone), expression, zone, changes, wrong)

    assert changes
    assert wrong == []


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("0 3 * *", "has 4 of the 5 fields"),
        ("61 * * * *", "'61' is no minute: numbers from 0 to 59"),
        ("0 24 * * *", "'24' is no hour"),
        ("0 0 0 * *", "'0' is no day of month: numbers from 1 to 31"),
        ("0 0 * * 8", "'8' is no day of week"),
        ("0 0 * * frid", "'frid' is no day of week"),
        ("*/0 * * * *", "'0' is no minute"),
        ("0 5-2 * * *", "'5-2' as hour runs backwards"),
        ("0 1- * * *", "'' is no hour"),
        ("0 0 30 2 *", "never comes: there is no such day in any year"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_reason(expression, told):
    with pytest.raises(ValueError, match=told.replace("*", r"\*")):
        parsed_cron(expression)


def test_an_unknown_zone_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"no time zone 'Europe/Berln'. Did you mean 'Europe/Berlin'"):
        parsed_cron("0 3 * * *", "Europe/Berln")


def test_a_tick_just_before_the_start_is_not_between():
    hourly, tick = parsed_cron("0 * * * *"), datetime(2026, 5, 1, 12, tzinfo=UTC)

    assert list(hourly.between(tick, tick)) == [tick]
    assert list(hourly.between(tick + timedelta(microseconds=1), tick + timedelta(minutes=59))) == []
