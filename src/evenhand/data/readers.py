"""Parquet, Arrow and JSON lines as streams of rows; several files of one source are read as one."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.data.csv_reader import check_names, different_columns, open_binary
from evenhand.data.limits.unpacking import check_cells
from evenhand.data.snapshot import Rows, as_kept, as_words, rows_at_once
from evenhand.errors import DataError
from evenhand.runtime.io_errors import reading, writing

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
LINES_AT_ONCE = 20_000


def open_parquet(paths: Sequence[Path]) -> Rows:
    """The rows of Parquet files; the nameless index that pandas writes beside them is left out."""
    return _joined(paths, _parquet_schema, _parquet_batches)


def open_arrow(paths: Sequence[Path]) -> Rows:
    """The rows of Arrow (Feather, IPC) files."""
    return _joined(paths, _arrow_schema, _arrow_batches)


def open_json_lines(paths: Sequence[Path], scratch: Path) -> Rows:
    """The rows of files with one JSON object a line; keys may come and go from line to line."""
    rows = spooled((block for path in paths for block in _json_blocks(path)), scratch)
    if not len(rows.schema):
        raise DataError(f"'{paths[0]}' is empty: check source, or how the file was written.")
    return rows


def spooled(blocks: Iterable[dict[str, list[Any]]], scratch: Path) -> Rows:
    """Rows of Python values put down in parts, so that types are settled over all and none is asked for twice."""
    parts: list[Path] = []
    found: dict[str, set[pa.DataType]] = {}
    for block in blocks:
        table = pa.table({name: _array(values) for name, values in block.items()})
        for field in table.schema:
            found.setdefault(field.name, set()).add(field.type)
        parts.append(scratch / f"{len(parts)}.arrow")
        with writing(parts[-1]), pa.OSFile(str(parts[-1]), "wb") as sink, pa.ipc.new_file(sink, table.schema) as part:
            part.write_table(table)
    schema = pa.schema([(name, _settled(types)) for name, types in found.items()])
    return Rows(schema, partial(_parts, parts, schema))


def by_columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows of names and values as one list a column; what a row lacks is missing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def _joined(
    paths: Sequence[Path],
    schema_of: Callable[[Path], tuple[pa.Schema, int]],
    batches_of: Callable[[Path, list[str]], Iterator[pa.RecordBatch]],
) -> Rows:
    schemas, n_rows = [], 0
    for path in paths:
        with _errors_named(path):
            schema, n_found = schema_of(path)
        check_names(path, schema.names)
        schemas.append(schema)
        n_rows += n_found
    if not n_rows:
        raise DataError(f"'{paths[0]}' has columns but no rows: check source, or how the file was written.")
    schema = _united(paths, schemas)
    return Rows(schema, partial(_read, paths, schema, batches_of))


def _united(paths: Sequence[Path], schemas: Sequence[pa.Schema]) -> pa.Schema:
    first = schemas[0]
    for path, schema in zip(paths, schemas, strict=True):
        missing, extra = sorted(set(first.names) - set(schema.names)), sorted(set(schema.names) - set(first.names))
        if missing or extra:
            raise different_columns(paths[0], path, missing, extra)
    return pa.schema([(name, _settled({schema.field(name).type for schema in schemas})) for name in first.names])


def _read(
    paths: Sequence[Path], schema: pa.Schema, batches_of: Callable[[Path, list[str]], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    for path in paths:
        with _errors_named(path):
            for batch in batches_of(path, schema.names):
                yield _fitted(batch, schema)


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with its columns in the order and types of the schema."""
    if batch.schema.equals(schema):
        return batch
    found = set(batch.schema.names)
    arrays = [
        as_kept(batch.column(field.name), field.type) if field.name in found else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _parquet_schema(path: Path) -> tuple[pa.Schema, int]:
    with pq.ParquetFile(path) as file:
        fields = [field for field in file.schema_arrow if not PANDAS_INDEX.fullmatch(field.name)]
        check_cells(path, file.metadata.num_rows, len(fields))
        return pa.schema(fields), file.metadata.num_rows


def _parquet_batches(path: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        nested = any(pa.types.is_nested(field.type) for field in file.schema_arrow)
        all_of_them = len(names) == len(file.schema_arrow)
        columns = None if nested or all_of_them else names
        yield from file.iter_batches(rows_at_once(len(names)), columns=columns)


def _arrow_schema(path: Path) -> tuple[pa.Schema, int]:
    schema, n_rows = None, 0
    with pa.memory_map(str(path)) as source:
        for batch in _arrow_reader(source):
            schema, n_rows = batch.schema, n_rows + batch.num_rows
    return schema or pa.schema([]), n_rows


def _arrow_batches(path: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as source:
        yield from _arrow_reader(source)


def _arrow_reader(source: Any) -> Iterator[pa.RecordBatch]:
    """Batches of an Arrow file, or of a stream without a footer."""
    if source.read(6) == b"ARROW1":
        file = pa.ipc.open_file(source)
        yield from (file.get_batch(number) for number in range(file.num_record_batches))
    else:
        source.seek(0)
        yield from pa.ipc.open_stream(source)


def _json_blocks(path: Path) -> Iterator[dict[str, list[Any]]]:
    rows: list[dict[str, Any]] = []
    with _errors_named(path), open_binary(path) as stream:
        for number, line in enumerate(_lines(stream), 1):
            if line.strip():
                rows.append(_object(path, number, line))
            if len(rows) == LINES_AT_ONCE:
                yield by_columns(rows)
                rows = []
    if rows:
        yield by_columns(rows)


def _lines(stream: Any) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(1 << 22):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    yield rest


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"'{path}' line {number:,} is not JSON: {error}. Fix it, or set source.format.") from None
    if not isinstance(row, dict):
        raise DataError(
            f"'{path}' line {number:,} is not a JSON object: one object with named values a line is needed."
        )
    return row


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else as_words(value) for value in values], pa.string())


def _settled(types: set[pa.DataType]) -> pa.DataType:
    """The one type that holds all of these."""
    types = types - {pa.null()}
    if len(types) == 1:
        return types.pop()
    if types and all(pa.types.is_integer(kind) for kind in types):
        return pa.int64()
    if types and all(_is_number(kind) for kind in types):
        return pa.float64()
    return pa.string()


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _parts(parts: Sequence[Path], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for part in parts:
        for batch in _arrow_batches(part, schema.names):
            yield _fitted(batch, schema)


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Name a damaged file in the error."""
    try:
        with reading(path):
            yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowSerializationError) as error:
        raise DataError(f"'{path}' cannot be read: {error}. Set source.format, or fix it.") from None
