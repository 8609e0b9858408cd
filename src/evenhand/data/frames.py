"""Cleaned rows as frames, and any raw frame brought into exactly that form, so that a served model takes raw rows."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenhand.data.casting import as_kind, as_numbers, as_text, without
from evenhand.data.snapshot import CELLS_AT_ONCE, arrow_column, rows_at_once
from evenhand.errors import DataError, listed, nearest
from evenhand.records.pipeline import Feature, Table
from evenhand.runtime.text import counted
from evenhand.storage.arrays import read_array
from evenhand.storage.artifact_store import local
from evenhand.study.study import Cleaning

AS_IS = Cleaning()
MANY_ROWS, CELLS_AHEAD, MANY_CELLS = 100_000, 4_000_000, 2**25
ROWS, TARGET, ORDER, SLICES, DATES = "rows.parquet", "target.npy", "order.npy", "slices.parquet", "dates.parquet"


class ColumnSource(Protocol):
    """What a data frame and the columns of a table have in common."""

    @property
    def columns(self) -> Any: ...

    @property
    def dtypes(self) -> Any: ...

    def __len__(self) -> int: ...

    def __getitem__(self, name: str) -> pd.Series: ...


class TableColumns:
    """The columns of a table as its frame has them, read when they are asked for.

    Short ones are read with those after them: ten thousand columns of a few rows would feel each opening of the file.
    """

    def __init__(self, table: Table, columns: Iterable[str]) -> None:
        self.table, self.columns = table, list(columns)
        self._places = {name: k for k, name in enumerate(self.columns)}
        self._read = pd.DataFrame()

    def __len__(self) -> int:
        return self.table.n_rows

    def __getitem__(self, name: str) -> pd.Series:
        if name not in self._read:
            self._read = pd.DataFrame()  # before the next are read
            place, n_columns = self._places[name], max(1, CELLS_AHEAD // max(self.table.n_rows, 1))
            self._read = read_rows(self.table, self.columns[place : place + n_columns])
        return self._read[name]

    @cached_property
    def dtypes(self) -> pd.Series:
        """The type of each column."""
        return pq.read_schema(local(self.table.stored) / ROWS).empty_table().to_pandas().dtypes[self.columns]


class SomeRows:
    """Some rows of a table; its columns are read when they are asked for, by one name or by several."""

    def __init__(self, table: Table, rows: np.ndarray, columns: Iterable[str] | None = None) -> None:
        self.table, self.rows = table, rows
        self.columns = [feature.name for feature in table.features] if columns is None else list(columns)
        self._all = TableColumns(table, self.columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, names: Any) -> Any:
        if isinstance(names, str):
            return self._all[names].iloc[self.rows].reset_index(drop=True)
        if self.table.n_rows * len(names) <= CELLS_AHEAD:
            return read_rows(self.table, names).iloc[self.rows].reset_index(drop=True)
        return pd.DataFrame({name: self[name] for name in names})


class TableRows:
    """Columns of a table as a frame gives them, by name or some rows by `iloc`; they are never all held together."""

    def __init__(self, table: Table, columns: list[str]) -> None:
        self.table, self.columns = table, columns

    def __len__(self) -> int:
        return self.table.n_rows

    @property
    def iloc(self) -> "TableRows":
        """What is asked for rows by their places."""
        return self

    def __getitem__(self, asked: Any) -> Any:
        if isinstance(asked, np.ndarray):
            return SomeRows(self.table, asked, self.columns)[self.columns].set_axis(asked)
        return read_rows(self.table, [asked])[asked] if isinstance(asked, str) else read_rows(self.table, asked)


def features_of(table: Table) -> pd.DataFrame:
    """The features of a table as a frame, or where they are many what gives some of its rows by `iloc`."""
    return _by_place(table, [feature.name for feature in table.features])


def kept_columns_of(table: Table) -> pd.DataFrame:
    """The same of all columns that were kept, those too that no model reads."""
    return _by_place(table, pq.read_schema(local(table.stored) / ROWS).names)


def _by_place(table: Table, columns: list[str]) -> pd.DataFrame:
    is_many = table.n_rows * len(columns) >= MANY_CELLS
    return cast("pd.DataFrame", TableRows(table, columns)) if is_many else read_rows(table, columns)


def read_rows(table: Table, columns: Iterable[str] | None = None) -> pd.DataFrame:
    """The cleaned rows, all columns that were kept or those named, in the order asked for."""
    names = None if columns is None else list(columns)
    read = pq.read_table(local(table.stored) / ROWS, columns=names)
    if len(read) < MANY_ROWS:
        return read.to_pandas()
    return read.to_pandas(split_blocks=True, self_destruct=True)  # so that no column is held twice


def row_batches(table: Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The cleaned rows of some columns, in the order asked for, some rows after others."""
    with pq.ParquetFile(local(table.stored) / ROWS) as file:
        for batch in file.iter_batches(rows_at_once(len(columns)), columns=columns):
            yield batch.select(columns)


def read_slices(table: Table) -> pd.DataFrame:
    """The columns that rows are judged by and that the model does not read, in the order of the rows."""
    return pq.read_table(local(table.stored) / SLICES).to_pandas()


def read_dates(table: Table) -> pd.DataFrame:
    """The columns of dates that the model does not read, in the order of the rows."""
    return pq.read_table(local(table.stored) / DATES).to_pandas()


def read_target(table: Table) -> np.ndarray:
    """The target: class codes as int32, or values as float64."""
    return read_array(local(table.stored) / TARGET)


def read_order(table: Table) -> np.ndarray:
    """For each row of the table its place among the rows of the source."""
    return read_array(local(table.stored) / ORDER)


def as_features(frame: pd.DataFrame, features: Sequence[Feature], cleaning: Cleaning = AS_IS) -> pd.DataFrame:
    """The features of a raw frame in the form and order that models were fitted on; other columns are left out.

    `cleaning` is that of the study, so that its `missing_values` and `types` are applied to new rows as to the old.
    """
    places = {str(name): place for place, name in enumerate(frame.columns)}  # names of other kinds are kept as text
    if lacking := [feature.name for feature in features if feature.name not in places]:
        raise DataError(
            f"the rows to score lack {counted(len(lacking), 'column')} that the model needs: {listed(lacking)}."
            f"{nearest(lacking[0], places)}"
        )
    again = {str(name) for place, name in enumerate(frame.columns) if places[str(name)] != place}
    if twice := [each.name for each in features if each.name in again]:
        raise DataError(f"the rows to score have several columns of the same name: {listed(twice)}. Rename them.")
    columns = {each.name: _as_feature(frame.iloc[:, places[each.name]], each, cleaning) for each in features}
    return pa.table(columns).to_pandas().set_index(frame.index)


def _as_feature(column: pd.Series, feature: Feature, cleaning: Cleaning) -> pa.Array:
    name, array = feature.name, arrow_column(column)
    if cleaning.missing_values:
        array = without(array, cleaning.missing_values)
    if (kind := cleaning.types.get(name)) is not None:
        array, _ = as_kind(name, array, kind, cleaning.unreadable == "refuse")
    if feature.kind != "numeric":
        return as_text(array)
    return _numbers(name, array, column)


def _numbers(name: str, array: pa.Array, column: pd.Series) -> pa.Array:
    if pa.types.is_string(array.type) and array.null_count < len(array):
        texts = [value for value in column if isinstance(value, str)] or pc.drop_null(array).to_pylist()
        raise DataError(
            f"column '{name}' of the rows to score should hold numbers, but holds {counted(len(texts), 'text')}, "
            f"such as {listed(texts, 3)}. Send numbers, or say "
            f"cleaning.types: {{{name}: numeric}} in the study."
        )
    if pa.types.is_timestamp(array.type):
        raise DataError(f"column '{name}' of the rows to score should hold numbers, but holds dates.")
    numbers, _ = as_numbers(array)
    if n_infinite := pc.sum(pc.is_inf(numbers)).as_py():
        raise DataError(
            f"column '{name}' of the rows to score has {counted(n_infinite, 'infinite value')}: fix those rows."
        )
    return numbers


def as_array(table: pa.Table, name: str) -> pa.Array:
    """One column of an Arrow table in one piece."""
    return in_one_piece(table.column(name))


def columns_of(file: Path) -> Iterator[tuple[str, pa.Array]]:
    """The columns of a canonical file, some at a time, so that the whole of it is never held as it was read."""
    names, n_rows = pq.read_schema(file).names, max(1, pq.read_metadata(file).num_rows)
    size = max(1, CELLS_AT_ONCE // n_rows)
    for start in range(0, len(names), size):
        group = names[start : start + size]
        columns = pq.read_table(file, columns=group).select(group).columns[::-1]
        for name in group:
            yield name, in_one_piece(columns.pop())


def in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    """A column that is copied only where it comes in several pieces."""
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
