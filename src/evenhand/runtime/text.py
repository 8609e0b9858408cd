"""Counts, sizes and times in words, and back."""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta

from evenhand.errors import ConfError

FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

STEERING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
MOST_DAYS = 3650
SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def parsed_duration(text: str) -> timedelta:
    """The time in text such as 2h, 30m, 1d or 1h30m."""
    parts = re.findall(r"(\d+)([dhms])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise ValueError(f"'{text}' is no length of time: write it as 2h, 30m, 1d or 1h30m")
    seconds = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if seconds > MOST_DAYS * SECONDS["d"]:
        raise ValueError(f"'{text[:40]}' is longer than ten years: write {MOST_DAYS}d at most")
    return timedelta(seconds=seconds)


def parsed_size(text: str) -> int:
    """The bytes in text such as 500MB or 20GB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    if not found:
        raise ConfError(f"'{text}' is no size: write it as 500MB or 20GB")
    return int(float(found[1]) * FACTORS[found[2]])


def size_text(n_bytes: float) -> str:
    """Bytes as text such as 1.5 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TB"


def time_text(seconds: float) -> str:
    """Seconds as text such as 3.1 s, 2 min 05 s or 1 h 10 min."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 0.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def printable(text: str) -> str:
    """Text without the signs that steer a terminal or turn the order of what is read; lines and tabs stay."""
    return STEERING.sub("", text)


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun, as in `1 row` and `1,081 rows`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def alike_but_for_form(texts: Iterable[str]) -> list[str]:
    """The texts that another one differs from in spaces or in case alone, those that are alike side by side."""
    forms: dict[str, list[str]] = {}
    for text in texts:
        forms.setdefault(" ".join(text.split()).casefold(), []).append(text)
    return [text for each in forms.values() if len(each) > 1 for text in each]


def in_short(value: object) -> str:
    """A value as names and tables show it: keys with what belongs to them, as in sum(rbf(age, income), linear)."""
    return _nested(value) if isinstance(value, Mapping) else str(value)


def _nested(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_nested, value))
    if isinstance(value, Mapping) and len(value) == 1:
        return ", ".join(f"{key}({_nested(inner)})" for key, inner in value.items())
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_nested(inner)}" for key, inner in value.items())
    return str(value)
