"""Rows in the one form that is kept: plain Arrow types in Parquet, and a fingerprint of what they hold.

The fingerprint depends on names, types and values in their order, and on nothing else: each column feeds its values and
its gaps to running hashes, so batch boundaries, compression and the place of the file leave no trace.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenhand.data.schema_contract import ColumnSummary
from evenhand.records.pipeline import Column
from evenhand.runtime.engines.ahead import ahead
from evenhand.storage.digests import digest

CELLS_AT_ONCE = 16_000_000
ROWS_AT_ONCE = 131_072
WORDLESS = (
    pa.types.is_nested,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_time,
    pa.types.is_interval,
    lambda given: isinstance(given, pa.BaseExtensionType),  # as of UUIDs
)


@dataclass(frozen=True)
class Rows:
    """A stream of rows that can be read from its beginning as often as needed."""

    schema: pa.Schema
    batches: Callable[[], Iterable[pa.RecordBatch]]


def write_rows(path: Path, rows: Rows, look: Callable[[pa.Table], pa.Table] = lambda table: table) -> int:
    """Write rows as canonical Parquet, each piece after a look at it; how many there were."""
    schema = kept_schema(rows)
    n_rows = 0
    with canonical_writer(path, schema) as writer:
        for table in ahead(look(_kept(piece, schema)) for piece in _pieces(rows, rows_at_once(len(schema)))):
            writer.write_table(table)
            n_rows += table.num_rows
    return n_rows


def canonical_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Writes canonical Parquet: texts by their different values, fractions byte by byte, which compresses faster."""
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    fractions = [field.name for field in schema if pa.types.is_floating(field.type)]
    how = {"use_dictionary": texts, "use_byte_stream_split": fractions}
    return pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, **how)


def kept_schema(rows: Rows) -> pa.Schema:
    """The columns of canonical rows."""
    return pa.schema([(field.name, kept_type(field.type)) for field in rows.schema])


def write_examined(path: Path, rows: Rows) -> tuple[int, str, tuple[Column, ...]]:
    """Write rows as canonical Parquet; how many there were, their fingerprint, what was seen in each column."""
    schema = kept_schema(rows)
    content, seen = Fingerprint(schema), [ColumnSummary(field) for field in schema]

    def look(table: pa.Table) -> pa.Table:
        for facts, column in zip(seen, table.columns, strict=True):
            facts.add(column.chunk(0))
        return content.add(table)

    n_rows = write_rows(path, rows, look)
    return n_rows, content.digest(), tuple(facts.column() for facts in seen)


class Fingerprint:
    """The same fingerprint for rows that come in pieces."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema, self.contents = schema, [_Content() for _ in schema]

    def add(self, rows: pa.Table) -> pa.Table:
        """Take in the next rows, and give them back."""
        for batch in rows.to_batches():
            for content, array in zip(self.contents, batch.columns, strict=True):
                content.add(array)
        return rows

    def digest(self) -> str:
        """The fingerprint of all rows so far."""
        found = zip(self.schema, self.contents, strict=True)
        return digest([(field.name, str(field.type), content.digest()) for field, content in found])


def fingerprint(table: pa.Table) -> str:
    """The same fingerprint for rows in memory."""
    content = Fingerprint(table.schema)
    content.add(table)
    return content.digest()


def rows_at_once(n_columns: int) -> int:
    """How many rows make a piece of bounded size."""
    return max(1, min(ROWS_AT_ONCE, CELLS_AT_ONCE // max(1, n_columns)))


def kept_type(given: pa.DataType) -> pa.DataType:
    """The type a column is kept as: numbers, booleans and times as they are, durations in seconds, all else as text."""
    if pa.types.is_dictionary(given) or pa.types.is_run_end_encoded(given):
        return kept_type(given.value_type)
    if pa.types.is_boolean(given) or pa.types.is_integer(given) or given in {pa.float32(), pa.float64()}:
        return given
    if pa.types.is_floating(given) or pa.types.is_decimal(given) or pa.types.is_duration(given):
        return pa.float64()
    if pa.types.is_timestamp(given):
        return given if given.unit in {"us", "ns"} else pa.timestamp("us", given.tz)
    return pa.timestamp("us") if pa.types.is_date(given) else pa.string()


def arrow_column(column: pd.Series) -> pa.Array:
    """A column of a frame as a canonical array; mixed values, periods and intervals become text, as in a CSV file."""
    column = column.sparse.to_dense() if isinstance(column.dtype, pd.SparseDtype) else column
    if isinstance(getattr(column.dtype, "categories", column).dtype, pd.PeriodDtype | pd.IntervalDtype):
        column = column.astype("string")
    try:
        array = pa.Array.from_pandas(column)
        return as_kept(array, kept_type(array.type))
    except (pa.ArrowException, OverflowError):
        missing = column.isna().to_numpy()
        words = [None if gone else as_words(value) for value, gone in zip(column, missing, strict=True)]
        return pa.array(words, pa.string())


class _Content:
    """Running hashes of one column."""

    def __init__(self) -> None:
        self.values, self.gaps = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)

    def add(self, array: pa.Array) -> None:
        if pa.types.is_string(array.type):
            lengths = pc.fill_null(pc.binary_length(array), -1)
            self.gaps.update(_bytes(lengths))
            self.values.update(_text_bytes(array))
            return
        if array.null_count:
            self.gaps.update(_bytes(array.is_null()))
            array = array.fill_null(False if pa.types.is_boolean(array.type) else pa.scalar(0).cast(array.type))
        else:
            self.gaps.update(bytes(len(array)))
        if pa.types.is_timestamp(array.type):
            array = array.view(pa.int64())
        self.values.update(_bytes(array))

    def digest(self) -> str:
        return self.values.hexdigest() + self.gaps.hexdigest()


def _bytes(array: pa.Array) -> memoryview:
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False)).data


def _text_bytes(array: pa.StringArray) -> Any:
    """The text of a column without what lies behind nulls or outside its slice."""
    array = array.fill_null("") if array.null_count else array
    _, offsets, content = array.buffers()
    if content is None or not len(array):
        return b""
    places = np.frombuffer(offsets, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    return memoryview(content)[places[0] : places[-1]]


def _pieces(rows: Rows, size: int) -> Iterator[pa.Table]:
    """The stream cut anew into tables of `size` rows."""
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for batch in chain.from_iterable(_cut(batch, size) for batch in rows.batches()):
        waiting.append(batch)
        n_waiting += batch.num_rows
        if n_waiting >= size:
            whole = pa.Table.from_batches(waiting)
            yield whole.slice(0, size)
            waiting, n_waiting = whole.slice(size).to_batches(), n_waiting - size
    if n_waiting:
        yield pa.Table.from_batches(waiting)


def _cut(batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
    return (batch.slice(start, size) for start in range(0, batch.num_rows, size))


def _kept(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        as_kept(column.combine_chunks(), field.type) for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def as_kept(array: pa.Array, kept: pa.DataType) -> pa.Array:
    """A column as the type it is kept as; not-a-number is missing."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        return as_kept(array.dictionary, kept).take(array.indices)
    if pa.types.is_run_end_encoded(array.type):
        return as_kept(pc.run_end_decode(array), kept)
    if pa.types.is_duration(array.type):
        array = pc.divide(array.cast(pa.int64()), np.timedelta64(1, "s") / np.timedelta64(1, array.type.unit))
    if pa.types.is_string(kept) and any(check(array.type) for check in WORDLESS):
        return pa.array([None if value is None else as_words(value) for value in array.to_pylist()], pa.string())
    array = array if array.type == kept else array.cast(kept)
    if pa.types.is_floating(kept) and pc.any(pc.is_nan(array)).as_py():
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, kept), array)
    return array


def as_words(value: Any) -> str:
    """A value as text that says all of it."""
    words = json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)
    return value.hex() if isinstance(value, bytes) else words
