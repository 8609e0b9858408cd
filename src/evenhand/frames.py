"""Cleaned rows as frames, and any raw frame brought into exactly that form, so that a served model takes raw rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenhand.canonical import arrow_column
from evenhand.coercion import as_numbers, as_text, unreadable
from evenhand.errors import DataError, listed, nearest
from evenhand.tables import Feature, Table

ROWS, TARGET = "rows.parquet", "target.npy"


def read_rows(table: Table, columns: Iterable[str] | None = None) -> pd.DataFrame:
    """The cleaned rows, all columns that were kept or those named, in the order asked for."""
    names = None if columns is None else list(columns)
    return pq.read_table(table.path / ROWS, columns=names).to_pandas()


def read_target(table: Table) -> np.ndarray:
    """The target: class codes as int32, or values as float64."""
    return np.load(table.path / TARGET)


def as_features(frame: pd.DataFrame, features: Sequence[Feature]) -> pd.DataFrame:
    """The features of a raw frame in the form and order that models were fitted on; other columns are left out."""
    lacking = [feature.name for feature in features if feature.name not in frame.columns]
    if lacking:
        raise DataError(
            f"the rows to score lack {len(lacking)} columns that the model needs: {listed(lacking)}."
            f"{nearest(lacking[0], map(str, frame.columns))}"
        )
    columns = {feature.name: _as_feature(arrow_column(frame[feature.name]), feature) for feature in features}
    return pa.table(columns).to_pandas().set_index(frame.index)


def _as_feature(array: pa.Array, feature: Feature) -> pa.Array:
    if feature.kind != "numeric":
        return as_text(array)
    numbers, wrong = as_numbers(array)
    if wrong is not None and len(wrong):
        raise unreadable(feature.name, wrong, "Mend the rows to score.")
    _check_finite(feature.name, numbers)
    return numbers


def _check_finite(name: str, numbers: pa.Array) -> None:
    n_infinite = pc.sum(pc.is_inf(numbers)).as_py() or 0
    if n_infinite:
        raise DataError(
            f"column '{name}' of the rows to score has {n_infinite:,} infinite values: mend or remove them."
        )


def as_array(table: Any, name: str) -> pa.Array:
    """One column of an Arrow table in one piece."""
    column = table.column(name)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
