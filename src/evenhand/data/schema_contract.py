"""The input contract of a study: what its columns held when it was first run, and what differs since."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.errors import ContractError, listed, nearest
from evenhand.records.pipeline import Column, Kind
from evenhand.runtime.text import counted
from evenhand.runtime.whole_files import write_text
from evenhand.storage.artifact_store import home

MOST_CATEGORIES = 1_000
MOST_NOTES = 10


class ColumnSummary:
    """What one column held, gathered batch by batch."""

    def __init__(self, field: pa.Field) -> None:
        self.name, self.kind = field.name, kind_of(field.type)
        self.n_missing = 0
        self.low: float | None = None
        self.high: float | None = None
        self.categories: set[str] | None = set()

    def add(self, array: pa.Array) -> None:
        """Take in one more batch of the column."""
        self.n_missing += array.null_count
        if self.kind == "categorical":
            self._add_categories(array)
        elif array.null_count < len(array):
            self._add_range(array)

    def column(self) -> Column:
        """The column as the contract keeps it."""
        if self.kind != "categorical":
            return Column(self.name, self.kind, self.n_missing, self.low, self.high)
        kind: Kind = "text" if self.categories is None else "categorical"
        values = None if self.categories is None else tuple(sorted(self.categories))
        return Column(self.name, kind, self.n_missing, categories=values)

    def _add_categories(self, array: pa.Array) -> None:
        if self.categories is None:
            return
        found = pc.drop_null(pc.unique(array))
        if len(found) <= MOST_CATEGORIES:
            self.categories |= set(found.cast(pa.string()).to_pylist())
        if len(found) > MOST_CATEGORIES or len(self.categories) > MOST_CATEGORIES:
            self.categories = None

    def _add_range(self, array: pa.Array) -> None:
        if pa.types.is_timestamp(array.type):
            array = pc.divide(array.cast(pa.timestamp("us", array.type.tz), safe=False).view(pa.int64()), 1_000_000)
        found = pc.min_max(array)
        low, high = float(found["min"].as_py()), float(found["max"].as_py())
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)


def kind_of(given: pa.DataType) -> Kind:
    """What a column of this type is taken for before its values were looked at."""
    if pa.types.is_timestamp(given):
        return "date"
    return "categorical" if pa.types.is_string(given) or pa.types.is_boolean(given) else "numeric"


def columns_from(facts: Iterable[dict[str, Any]]) -> tuple[Column, ...]:
    """Columns read back from JSON."""
    return tuple(
        Column(**{**item, "categories": None if item["categories"] is None else tuple(item["categories"])})
        for item in facts
    )


def contract_path(study: str) -> Path:
    """Where the contract of a study is kept."""
    return home() / "contracts" / f"{study}.json"


def hold(study: str, columns: Iterable[Column], accepts: bool = False) -> tuple[str, ...]:
    """Compare columns with the study's contract, or make it; notes on what is new but no hindrance."""
    path, columns = contract_path(study), tuple(columns)
    agreed = None if accepts else _read(path)
    if agreed is None:
        _write(path, columns)
        return ()
    if broken := list(_broken(agreed, columns)):
        raise ContractError(_message(study, broken))
    return tuple(_noted(agreed, columns))


def _broken(agreed: tuple[Column, ...], columns: tuple[Column, ...]) -> Iterator[str]:
    now = {column.name: column for column in columns}
    for before in agreed:
        after = now.get(before.name)
        if after is None:
            yield f"column '{before.name}' is gone.{nearest(before.name, now.keys() - {c.name for c in agreed})}"
        elif _form(before.kind) != _form(after.kind) and not (_is_empty(before) or _is_empty(after)):
            yield f"column '{before.name}' was {before.kind} and is now {after.kind}{_example(after)}"


def _noted(agreed: tuple[Column, ...], columns: tuple[Column, ...]) -> Iterator[str]:
    past = {column.name: column for column in agreed}
    if new := [column.name for column in columns if column.name not in past]:
        yield f"{counted(len(new), 'column')} new since the contract was made: {listed(new)}"
    drifts = [note for after in columns if after.name in past for note in _drifts(past[after.name], after)]
    yield from drifts[:MOST_NOTES]
    if len(drifts) > MOST_NOTES:
        yield f"{counted(len(drifts) - MOST_NOTES, 'more difference')} in what columns hold"


def _drifts(before: Column, after: Column) -> Iterator[str]:
    if after.n_missing and not before.n_missing:
        yield f"column '{after.name}' has {counted(after.n_missing, 'missing value')} and had none"
    if before.categories and after.categories and (new := sorted(set(after.categories) - set(before.categories))):
        yield f"column '{after.name}' has {counted(len(new), 'new category', 'new categories')}: {listed(new, 5)}"
    if None not in (before.low, before.high, after.low, after.high) and (
        after.low < before.low or after.high > before.high  # type: ignore[operator]
    ):
        ends = (_end(each, after.kind) for each in (after.low, after.high, before.low, before.high))
        yield "column '{}' now runs from {} to {}, before from {} to {}".format(after.name, *ends)


def _end(value: float | None, kind: Kind) -> str:
    return str(np.datetime64(int(value or 0), "s")).replace("T", " ") if kind == "date" else f"{value:g}"


def _form(kind: Kind) -> str:
    """Few or many distinct texts are no change of form."""
    return "text" if kind == "categorical" else kind


def _is_empty(column: Column) -> bool:
    return column.low is None if column.kind in {"numeric", "date"} else column.categories == ()


def _example(column: Column) -> str:
    return f" (such as {listed(column.categories, 3)})" if column.categories else ""


def _message(study: str, broken: list[str]) -> str:
    rows = "\n".join(f"  {line}" for line in broken)
    return (
        f"the data of study '{study}' does not have the form that earlier runs were given:\n{rows}\n"
        "Fix the source, or take the new form with --accept-contract."
    )


def _read(path: Path) -> tuple[Column, ...] | None:
    try:
        return columns_from(json.loads(path.read_text(encoding="utf-8"))["columns"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ContractError(
            f"the contract '{path}' cannot be read ({error}). Take the data as it is now with --accept-contract."
        ) from None


def _write(path: Path, columns: tuple[Column, ...]) -> None:
    content = json.dumps({"columns": [vars(column) for column in columns]}, indent=1)
    write_text(path, content, moment="contract")
