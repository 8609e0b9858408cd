"""The moments that a cron expression names in a time zone; each time of day once, also where clocks change."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from itertools import product, takewhile
from zoneinfo import ZoneInfo, available_timezones

from evenhand.errors import nearest

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
DAYS_AHEAD = 8 * 366 + 1  # a 29th of February comes within eight years


@dataclass(frozen=True)
class Field:
    """One place of an expression: its name, its least and greatest number, and words for the numbers."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()


FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31),
    Field("month", 1, 12, MONTHS),
    Field("day of week", 0, 7, WEEKDAYS),
    Field("second", 0, 59),
)


@dataclass(frozen=True)
class Cron:
    """What a cron expression names in a time zone: five fields, or six with the second as the last."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    seconds: tuple[int, ...]
    takes_either_day: bool
    zone: ZoneInfo

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Every tick later than a moment, the earliest first, in UTC."""
        day, n_without, later = moment.astimezone(self.zone).date() - timedelta(days=1), 0, set[datetime]()
        while n_without < DAYS_AHEAD:
            later.update(tick for tick in self._of_day(day) if tick > moment)
            day += timedelta(days=1)
            midnight = datetime.combine(day, time(), self.zone).astimezone(UTC)
            found = sorted(tick for tick in later if tick < midnight)
            yield from found
            later.difference_update(found)  # what clocks leave out before midnight comes after it, and perhaps twice
            n_without = 0 if found else n_without + 1

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Every tick from a moment up to another, both included."""
        return takewhile(lambda tick: tick <= end, self.after(start - timedelta(microseconds=1)))

    def latest(self, moment: datetime) -> datetime | None:
        """The last tick at or before a moment."""
        day = moment.astimezone(self.zone).date() + timedelta(days=1)
        for k in range(DAYS_AHEAD):
            two_days = (day - timedelta(days=k), day - timedelta(days=k + 1))
            if ticks := [tick for each in two_days for tick in self._of_day(each) if tick <= moment]:
                return max(ticks)
        return None

    def meant(self, moment: datetime) -> datetime | None:
        """The tick that a scheduler meant; some are as much early as clocks skip, on the day on which they do."""
        coming = next(self.after(moment - timedelta(microseconds=1)), None)
        is_meant = coming is not None and coming - moment <= self._skipped(moment, coming)
        return coming if is_meant else self.latest(moment)

    def _skipped(self, start: datetime, end: datetime) -> timedelta:
        """How far the clocks of the zone jump ahead between two moments."""
        before, after = (moment.astimezone(self.zone).utcoffset() for moment in (start, end))
        assert before is not None
        assert after is not None
        return after - before

    def _of_day(self, day: date) -> tuple[datetime, ...]:
        """The ticks of a day; a time that clocks leave out comes as much later, one they repeat comes first."""
        return _of_day(self, day) if self._has(day) else ()

    def _has(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_month or by_week if self.takes_either_day else by_month and by_week


@cache
def parsed_cron(expression: str, timezone: str = "UTC") -> Cron:
    """The ticks of an expression; a ValueError says what is wrong with it."""
    words = SHORT.get(expression.strip().lower(), expression).lower().split()
    if len(words) not in {5, 6}:
        raise ValueError(
            f"'{expression}' has {len(words)} of the 5 fields of a cron expression (minute hour day-of-month month "
            "day-of-week), such as '0 3 * * *' for 3 o'clock every night"
        )
    numbers = [_numbers(word, field) for word, field in zip([*words, "0"][:6], FIELDS, strict=True)]
    minutes, hours, days, months, weekdays, seconds = numbers
    weekdays = tuple(sorted({number % 7 for number in weekdays}))
    is_either = "*" not in {words[2], words[4]}  # as cron has it: two limits on the day, and one will do
    cron = Cron(minutes, hours, days, months, weekdays, seconds, is_either, parsed_zone(timezone))
    if next(cron.after(datetime(2024, 1, 1, tzinfo=UTC)), None) is None:
        raise ValueError(f"'{expression}' never comes: there is no such day in any year")
    return cron


def parsed_zone(name: str) -> ZoneInfo:
    """A time zone by its name in the tz database; a ValueError names the nearest."""
    if name not in available_timezones():
        hint = nearest(name, available_timezones())
        raise ValueError(f"there is no time zone '{name}'.{hint} Write it as in the tz database, such as Europe/Berlin")
    return ZoneInfo(name)


@lru_cache(maxsize=64)
def _of_day(cron: Cron, day: date) -> tuple[datetime, ...]:
    walls = (
        datetime.combine(day, time(*parts), cron.zone) for parts in product(cron.hours, cron.minutes, cron.seconds)
    )
    return tuple(sorted({wall.astimezone(UTC) for wall in walls}))


def _numbers(word: str, field: Field) -> tuple[int, ...]:
    return tuple(sorted({number for part in word.split(",") for number in _range(part, field)}))


def _range(part: str, field: Field) -> range:
    """The numbers of one part, such as 5, 1-5, * or */10."""
    span, has_step, step_text = part.partition("/")
    step = _number(step_text, field, 1) if has_step else 1
    if span == "*":
        return range(field.least, field.most + (field.name != "day of week"), step)
    first, has_last, last = span.partition("-")
    start = _number(first, field, field.least)
    end = _number(last, field, field.least) if has_last else field.most if has_step else start
    if end < start:
        raise ValueError(
            f"'{span}' as {field.name} runs backwards: write it as {last}-{first}, or as two parts with a comma"
        )
    return range(start, end + 1, step)


def _number(text: str, field: Field, least: int) -> int:
    if text in field.words:
        return field.words.index(text) + field.least
    if not text.isdecimal() or not least <= int(text) <= field.most:
        raise ValueError(f"'{text}' is no {field.name}: numbers from {field.least} to {field.most}, with * , - and /")
    return int(text)
