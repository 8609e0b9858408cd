"""What a model's training rows looked like, kept small beside it, and new rows counted in the same cells."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.casting import as_numbers, as_text
from evenhand.data.frames import SomeRows, read_target
from evenhand.data.splits import fold_rows
from evenhand.errors import PlaceError
from evenhand.records.pipeline import FINAL, Ledger, Table
from evenhand.statistics import counts_between, quantile_edges
from evenhand.statistics.label_sets import label_columns

PROFILE_FILE = "profile.json"
MOST_NAMED = 20
MOST_KNOWN = 50_000


@dataclass(frozen=True)
class Shape:
    """What one column held: counts between edges (numbers; texts by their words) or of its most common values.

    `counts` has one more cell than `values`, for the other known ones, which `others` names by their hashes; without
    `others` there were too many to know whether a new value is new. `n_once` values were seen once only.
    """

    name: str
    kind: str
    n_rows: int
    n_missing: int
    counts: tuple[int, ...]
    edges: tuple[float, ...] = ()
    values: tuple[str, ...] = ()
    others: tuple[str, ...] | None = ()
    n_once: int = 0

    @property
    def is_named(self) -> bool:
        """Whether its cells are values and not stretches of numbers."""
        return self.kind in {"categorical", "classes"}


@dataclass(frozen=True)
class Profile:
    """The shapes of the columns that a model reads and of its target, or of each of its labels."""

    columns: tuple[Shape, ...]
    targets: tuple[Shape, ...]

    def as_json(self) -> str:
        """The form that is kept with a run."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The profile that `as_json` wrote."""
        try:
            content = json.loads(text)
            return cls(tuple(map(_shape, content["columns"])), tuple(map(_shape, content["targets"])))
        except (ValueError, KeyError, TypeError) as error:
            raise PlaceError(
                f"the {PROFILE_FILE} of the champion cannot be read ({error}): run the study again"
            ) from None


def shapes_in(file: Path | None) -> tuple[Shape, ...]:
    """The columns of the profile in a file; none without a file."""
    return () if file is None else Profile.from_json(file.read_text(encoding="utf-8")).columns


def profile_of(table: Table, ledger: Ledger) -> Profile:
    """The profile of the rows that the final model is trained on, and of no other."""
    rows = fold_rows(ledger, FINAL)[0]
    frame = SomeRows(table, rows)
    truth = read_target(table)[rows]
    columns = (shape_of(each.name, each.kind, pa.Array.from_pandas(frame[each.name])) for each in table.features)
    if not table.classes:
        return Profile(tuple(columns), (shape_of(table.target, "numeric", pa.array(truth)),))
    values = ("0", "1") if table.is_multilabel else class_names(table)
    targets = (_classes_of(name, array, values) for name, array in target_columns(table, truth).items())
    return Profile(tuple(columns), tuple(targets))


def target_columns(table: Table, truth: np.ndarray) -> dict[str, pa.Array]:
    """The target of some rows as its column would hold it: numbers, classes as text, or a column a label."""
    if not table.classes:
        return {table.target: pa.array(truth)}
    if table.is_multilabel:
        has = label_columns(truth, len(table.classes))
        return {str(name): pa.array(has[:, k].astype(int).astype(str)) for k, name in enumerate(table.classes)}
    return {table.target: pa.array(class_names(table)).take(pa.array(truth.astype(int)))}


def class_names(table: Table) -> tuple[str, ...]:
    """The classes as text, in the form that any source gives them."""
    return tuple(as_text(pa.array(list(table.classes))).to_pylist())


def _classes_of(name: str, array: pa.Array, values: tuple[str, ...]) -> Shape:
    counts = Counter(array.to_pylist())
    return Shape(name, "classes", len(array), 0, tuple(counts[value] for value in values), values=values)


def shape_of(name: str, kind: str, array: pa.Array) -> Shape:
    """The shape of a column."""
    if kind != "categorical":
        numbers = measured(kind, array)
        edges = quantile_edges(numbers) if not np.isnan(numbers).all() else np.empty(0)
        *counts, n_missing = counts_between(numbers, edges).tolist()
        return Shape(name, kind, len(array), n_missing, tuple(counts), tuple(edges.tolist()))
    found = Counter(dict(_value_counts(array)))
    named = dict(found.most_common(MOST_NAMED))
    rest = [value for value in found if value not in named]
    return Shape(
        name, kind, len(array), array.null_count,
        (*named.values(), found.total() - sum(named.values())),
        values=tuple(named),
        others=tuple(sorted(map(_hashed, rest))) if len(rest) <= MOST_KNOWN else None,
        n_once=sum(count == 1 for count in found.values()),
    )  # fmt: skip


def measured(kind: str, array: pa.Array) -> np.ndarray:
    """A column as numbers, NaN where missing: its values, or how many words each text has."""
    if kind == "text":
        array = pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(as_text(array))))
    numbers, _ = as_numbers(array)
    return numbers.to_numpy(zero_copy_only=False).astype(float)


class Tally:
    """New values of one column, counted batch by batch in the cells of its shape."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.n_rows, self.n_missing, self.n_unseen = shape, 0, 0, 0
        self.counts = np.zeros(len(shape.counts), dtype=np.int64)
        self._cells = {value: cell for cell, value in enumerate(shape.values)}
        self._others = None if shape.others is None else set(shape.others)

    @property
    def n_known(self) -> int:
        """How many values fall into the cells."""
        return int(self.counts.sum())

    def add(self, array: pa.Array) -> None:
        """Take in one more batch."""
        self.n_rows += len(array)
        if not self.shape.is_named:
            *counts, n_missing = counts_between(measured(self.shape.kind, array), np.array(self.shape.edges)).tolist()
            self.counts += counts
            self.n_missing += n_missing
            return
        self.n_missing += array.null_count
        for value, count in _value_counts(array):
            self._add_value(value, count)

    def _add_value(self, value: str, count: int) -> None:
        cell = self._cells.get(value)
        if cell is not None:
            self.counts[cell] += count
        elif self.shape.kind == "categorical" and (self._others is None or _hashed(value) in self._others):
            self.counts[-1] += count
        else:
            self.n_unseen += count


class Tallies:
    """New rows counted against a profile; the target, or each label, where the rows have it."""

    def __init__(self, profile: Profile) -> None:
        self.columns = {shape.name: Tally(shape) for shape in profile.columns}
        self.targets = {shape.name: Tally(shape) for shape in profile.targets}
        self.n_rows = 0

    def add(self, columns: Mapping[str, Any], targets: Mapping[str, Any]) -> None:
        """Take in one more batch."""
        for name, tally in self.columns.items():
            tally.add(columns[name])
        for name, target in targets.items():
            self.targets[name].add(target)
        self.n_rows += max(map(len, [*columns.values(), *targets.values()]), default=0)


def _value_counts(array: pa.Array) -> list[tuple[str, int]]:
    """The values of a column as text with their counts, in the order they first come."""
    found = pc.value_counts(pc.drop_null(as_text(array)))
    return [(each["values"].as_py(), each["counts"].as_py()) for each in found]


def _hashed(value: str) -> str:
    return blake2b(value.encode(), digest_size=8).hexdigest()


def _shape(facts: dict[str, Any]) -> Shape:
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    return Shape(**plain)
