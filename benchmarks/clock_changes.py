"""A year of schedules in every time zone whose clocks change: does each tick come, and come once?

Two things are asked, each with another opinion beside it. The moments that `study/cron.py` names are compared with what
a walk through the year's quarter-hours by the zone's own wall clock gives. Then Prefect's own dates around every
change are fed to what decides about a tick, once with a clock that is set back by two hours before or after the change,
and once with a tick on record that was written while the clock was a month ahead; each tick must be run once. Of zones
whose clocks show the same all year one is asked.

usage: python benchmarks/clock_changes.py [--year 2026] [--zones N]
"""

import argparse
import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

from evenhand.service.tick_ledger import FIRES_WITHIN, Tick, is_done, not_fired
from evenhand.study.cron import Cron, parsed_cron
from evenhand.study.study import Schedule

QUARTER, HOUR, DAY = timedelta(minutes=15), timedelta(hours=1), timedelta(days=1)
DAILY = ("30 2 * * *", "0 2 * * *", "15 1 * * *", "0 3 * * *", "0 0 * * *", "45 23 * * *", "30 0 * * *")
OFTEN = ("0 */6 * * *", "0 0,6,12,18 * * *", "30 1,2,3 * * *", "0 * * * *")
SET_BACK, AHEAD, LATE = timedelta(hours=2), timedelta(days=30), timedelta(seconds=40)


def shown(zone: ZoneInfo, year: int) -> tuple[timedelta, tuple[tuple[datetime, timedelta], ...]]:
    """The offset of a zone some days before a year, and the moments at which it changes, with the new one."""
    first, last = datetime(year, 1, 1, tzinfo=UTC) - 3 * DAY, datetime(year + 1, 1, 1, tzinfo=UTC) + 3 * DAY
    steps = [first + k * QUARTER for k in range(int((last - first) / QUARTER) + 1)]
    offsets = [moment.astimezone(zone).utcoffset() or timedelta(0) for moment in steps]
    return offsets[0], tuple((steps[k], offsets[k]) for k in range(1, len(steps)) if offsets[k] != offsets[k - 1])


def changes(zone: ZoneInfo, year: int) -> list[datetime]:
    """The moments at which the clocks of a zone change."""
    return [moment for moment, _ in shown(zone, year)[1]]


def zones_alike(year: int) -> dict[str, tuple[list[datetime], int]]:
    """One zone of all whose clocks show the same all year, for those that change, with its changes and their number."""
    found = defaultdict(list)
    for name in sorted(available_timezones()):
        found[shown(ZoneInfo(name), year)].append(name)
    return {names[0]: ([at for at, _ in moments], len(names)) for (_, moments), names in found.items() if moments}


def walked(cron: Cron, year: int) -> set[datetime]:
    """The ticks of a year by walking through its quarter-hours.

    The first quarter-hour that shows a wall time counts; one that never shows comes as much later as clocks skip.
    """
    zone, first = cron.zone, datetime(year, 1, 1, tzinfo=UTC) - DAY
    moments = [first + k * QUARTER for k in range(int((datetime(year + 1, 1, 1, tzinfo=UTC) + DAY - first) / QUARTER))]
    shows: dict[datetime, datetime] = {}
    skipped: dict[datetime, datetime] = {}
    before = moments[0].astimezone(zone).replace(tzinfo=None) - QUARTER
    for moment in moments:
        wall = moment.astimezone(zone).replace(tzinfo=None)
        gap = wall - before - QUARTER
        for k in range(int(gap / QUARTER)):
            skipped[before + QUARTER + k * QUARTER] = moment + k * QUARTER
        shows.setdefault(wall, moment)
        before = wall
    named = {**skipped, **shows}
    return {moment for wall, moment in named.items() if moment.year == year and _names(cron, wall)}


def _names(cron: Cron, wall: datetime) -> bool:
    return wall.hour in cron.hours and wall.minute in cron.minutes


def fired(expression: str, zone: str, change: datetime) -> list[datetime]:
    """What Prefect's server puts down in the days around a change, looking ahead from every third hour."""
    from prefect.server.schemas.schedules import CronSchedule

    schedule = CronSchedule(cron=expression, timezone=zone)

    async def looked() -> set[datetime]:
        starts = [change - 2 * DAY + k * 3 * HOUR for k in range(4 * 8)]
        found = [await schedule.get_dates(12, start=start, end=start + 12 * HOUR) for start in starts]
        return {datetime.fromtimestamp(each.timestamp(), UTC) for dates in found for each in dates}

    return sorted(asyncio.run(looked()))


def ran(schedule: Schedule, fires: Sequence[datetime], sets_back_at: datetime | None = None) -> list[datetime]:
    """The ticks that are run when a server fires and when we look after it, in order.

    A clock that is set back has the server fire some of them again.
    """
    cron = schedule.ticks
    lines = [Tick("simulated", (fires[0] + AHEAD).isoformat(), "retrained")]
    looks = [tick + FIRES_WITHIN + LATE for tick in cron.between(fires[0], fires[-1])]
    for at in _clock(sorted({*fires, *looks}), sets_back_at):
        asked = {cron.latest(at + LATE), cron.meant(at)} if at in fires else {not_fired(lines, schedule, at)}
        moment = max((each for each in asked if each is not None), default=None)
        if moment is not None and not is_done(lines, moment, at + LATE):
            lines.append(Tick("simulated", moment.isoformat(), "retrained", number=len(lines)))
    return [line.moment for line in lines[1:]]


def _clock(fires: Sequence[datetime], sets_back_at: datetime | None) -> Iterator[datetime]:
    for at in fires:
        yield at
        if sets_back_at is not None and at >= sets_back_at:
            yield from (again for again in fires if at - SET_BACK <= again <= at)
            sets_back_at = None


def main() -> None:
    """Print what differs, and how much was looked at; exit code 1 if anything does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--year", type=int, default=2026)
    parser.add_argument("--zones", type=int, default=None, help="only so many, for a first look")
    parser.add_argument("--only", action="append", help="only this expression; repeatable")
    given = parser.parse_args()
    began, wrong, n_ticks, n_runs = time.perf_counter(), [], 0, 0
    zones = dict(list(zones_alike(given.year).items())[: given.zones])
    for name, (moments, _) in zones.items():
        for expression in given.only or (*DAILY, *OFTEN):
            cron = parsed_cron(expression, name)
            start, end = datetime(given.year, 1, 1, tzinfo=UTC), datetime(given.year, 12, 31, 23, 59, 59, tzinfo=UTC)
            ticks = list(cron.between(start, end))
            n_ticks += len(ticks)
            if len(set(ticks)) != len(ticks) or set(ticks) != walked(cron, given.year):
                wrong.append(f"{name} '{expression}': {sorted(set(ticks) ^ walked(cron, given.year))[:4]}")
            n_runs += around(cron, expression, name, moments, wrong)
    n_zones, n_expressions = sum(n for _, n in zones.values()), len(given.only or (*DAILY, *OFTEN))
    print(f"{n_zones} zones whose clocks change in {given.year}, which show {len(zones)} different times,")
    print(f"{n_expressions} expressions, {n_ticks:,} ticks in it,")
    print(f"{n_runs:,} runs around changes, {len(wrong)} wrong, {time.perf_counter() - began:.0f} s")
    print("\n".join(wrong[:40]))
    sys.exit(bool(wrong))


def around(cron: Cron, expression: str, name: str, moments: Sequence[datetime], wrong: list[str]) -> int:
    """How many ticks were run around the changes of a zone; what came twice or never is added to what is wrong."""
    n_runs, schedule = 0, Schedule(cron=expression, timezone=name)
    for change in moments:
        fires = fired(expression, name, change)
        expected = list(cron.between(change - 36 * HOUR, change + 36 * HOUR))
        for sets_back_at in (None, change - HOUR, change + 3 * HOUR):
            runs = ran(schedule, fires, sets_back_at)
            found = Counter(each for each in runs if abs(each - change) <= 36 * HOUR)
            n_runs += len(runs)
            if found != Counter(expected):
                differs = sorted({*found, *expected} - {e for e in expected if found[e] == 1})
                wrong.append(f"{name} '{expression}' at {change}, set back at {sets_back_at}: {differs[:4]}")
    return n_runs


if __name__ == "__main__":
    main()
