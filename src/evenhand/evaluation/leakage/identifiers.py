"""Columns that number or name rows and are learned from."""

import re
from collections.abc import Iterator

import numpy as np

from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding, named
from evenhand.statistics.row_numbers import row_numbers

NAMES_OF_KEYS = re.compile(
    r"(?i:(.*[_\W])?(id|uuid|guid|key|nr|no|number))|(?i:.*(nr|nummer|kennung))|.*[a-z]I[dD]",
)
WORDS = {
    "unique": "another whole number in nearly every row, as numbers of customers are",
    "rising": "rises from row to row, as a time or a running number does",
    "name": "named like a key, with another number in every row",
    "category": "another value in nearly every row",
}
DISTINCT = 0.95
FEWEST_ROWS = 20


def identifiers(rows: CheckedRows) -> CheckFinding:
    """Columns that number or name rows, whatever they are called; nothing that they teach holds for another row."""
    found: dict[str, list[str]] = {}
    for name, why in _identifiers(rows):
        found.setdefault(why, []).append(name)
    if not found:
        return CheckFinding("ok", f"none of {len(rows.features)} columns numbers or names rows")
    words = "; ".join(f"{named(names)}: {WORDS[why]}" for why, names in found.items())
    first = next(iter(found.values()))[0]
    remedy = f"put it in columns.ignore, or say columns.key: {first} if rows are found by it"
    return CheckFinding("warning", words, _remedy_of_time(found) or remedy)


def _remedy_of_time(found: dict[str, list[str]]) -> str:
    if list(found) != ["rising"]:
        return ""
    return f"put it in columns.ignore; if '{found['rising'][0]}' is a time, name it in columns.time instead"


def _identifiers(rows: CheckedRows) -> Iterator[tuple[str, str]]:
    in_source = np.argsort(rows.order)
    for feature in rows.features:
        if feature.kind == "categorical":
            column = rows.frame[feature.name]
            if len(column) >= FEWEST_ROWS and column.nunique() >= DISTINCT * len(column):
                yield feature.name, "category"
            continue
        values = rows.numbers(feature.name)
        if why := row_numbers(values[in_source], level=rows.level):
            yield feature.name, why
        elif NAMES_OF_KEYS.fullmatch(feature.name) and _is_unique(values):
            yield feature.name, "name"


def _is_unique(values: np.ndarray) -> bool:
    """Whether every row has another whole number."""
    is_whole = np.isfinite(values).all() and (values == np.rint(values)).all()
    return bool(is_whole and len(values) >= FEWEST_ROWS and len(np.unique(values)) == len(values))
