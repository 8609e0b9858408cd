"""Delimited text in any encoding, with any delimiter, read twice as a stream: once to settle types, once for rows."""

import codecs
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv as pacsv

from evenhand.data.csv_sniffing import guessed_delimiter, guessed_encoding, n_columns
from evenhand.data.limits.open_quotes import LastBytes, check_closed
from evenhand.data.limits.unpacking import open_unpacked
from evenhand.data.snapshot import Rows
from evenhand.data.type_inference import Settling, read_settled
from evenhand.errors import DataError, listed
from evenhand.runtime.io_errors import reading

RARE_DELIMITERS = " :~^"
SUGGESTED = {"\t": '"\\t"'}
SAMPLE = 1 << 20
BLOCK = 1 << 24


@dataclass(frozen=True)
class TextFile:
    """One file of delimited text, how it is to be read, and its columns as written and as called."""

    path: Path
    delimiter: str
    encoding: str
    written: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def open_delimited(paths: tuple[Path, ...], delimiter: str | None, encoding: str | None) -> Rows:
    """The rows of delimited files with the types that fit all of their values."""
    files = [_with_names(sampled(path, delimiter, encoding)) for path in paths]
    names = files[0].names
    for file in files[1:]:
        _check_same(files[0], file)
    settling = {name: Settling() for name in names}
    n_rows = 0
    for batch in chain.from_iterable(_texts(file) for file in files):
        n_rows += batch.num_rows
        for name, text in zip(batch.schema.names, batch.columns, strict=True):
            settling[name].add(text)
    if not n_rows:
        raise _no_rows(paths[0])
    schema = pa.schema([(name, settling[name].type) for name in names])
    return Rows(schema, partial(_typed, files, schema))


def open_binary(path: Path) -> IO[bytes]:
    """A file for reading, unpacked on the way if its name says that it is packed."""
    return open_unpacked(path)


def sampled(path: Path, delimiter: str | None = None, encoding: str | None = None) -> TextFile:
    """A file with what its beginning says of delimiter and encoding, where they are not given."""
    with reading(path), open_binary(path) as file:
        sample = file.read(SAMPLE)
    if not sample.strip():
        raise DataError(f"'{path}' is empty: check source, or how the file was written.")
    encoding = _known(encoding) if encoding else guessed_encoding(path, sample)
    text = _decoded(path, sample, encoding)
    whole = text[: text.rfind("\n") + 1] or text
    guess = guessed_delimiter(whole)
    if delimiter is not None and n_columns(whole, delimiter) <= 1 < n_columns(whole, guess):
        raise DataError(
            f"'{path}' read with source.delimiter {delimiter!r} has one column, '{whole.splitlines()[0][:80]}'. "
            f"Say source.delimiter: {SUGGESTED.get(guess, repr(guess))}, or leave it out."
        )
    return TextFile(path, delimiter or guess, encoding)


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise DataError(f"source.encoding '{encoding}' is not known: write it as utf-8, cp1252, utf-16 ...") from None


def _decoded(path: Path, sample: bytes, encoding: str) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeError:
        raise broken_encoding(path, encoding) from None


def broken_encoding(path: Path, encoding: str) -> DataError:
    """The mistake of text that is not in its encoding, with the line where it breaks."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    with open_binary(path) as file:
        while chunk := file.read(BLOCK):
            try:
                line += decoder.decode(chunk).count("\n")
            except UnicodeError as error:
                line += chunk[: getattr(error, "start", 0)].count(b"\n")
                break
    return DataError(
        f"'{path}' is not {encoding} text: it breaks in line {line:,}. Name the right one in source.encoding, such as "
        "cp1252 or latin-1."
    )


def _with_names(file: TextFile) -> TextFile:
    """The file with its column names; a column without a name is called by its number."""
    with _reader(file, pacsv.ConvertOptions(), SAMPLE) as (reader, _):
        written = tuple(reader.schema.names)
    names = tuple(name.strip() or f"unnamed_{number}" for number, name in enumerate(written, 1))
    check_names(file.path, names)
    if len(names) == 1:
        hint = next((f", such as {sign!r}" for sign in RARE_DELIMITERS if sign in names[0]), "")
        raise DataError(
            f"'{file.path}' has one column, '{names[0][:80]}', read with delimiter {file.delimiter!r}: a target and at "
            f"least one other are needed. Name the character between columns in source.delimiter{hint}."
        )
    return replace(file, written=written, names=names)


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse columns that share a name or have none."""
    if not all(map(str.strip, names)):
        raise DataError(f"'{path}' has a column without a name. Give it one in the source.")
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"'{path}' has columns of the same name: {listed(twice)}. Rename them in the source.")


def _check_same(first: TextFile, file: TextFile) -> None:
    missing, extra = sorted(set(first.names) - set(file.names)), sorted(set(file.names) - set(first.names))
    if missing or extra:
        raise different_columns(first.path, file.path, missing, extra)


def different_columns(first: Path, path: Path, missing: Sequence[str], extra: Sequence[str]) -> DataError:
    """The mistake of files of one source that do not have the same columns."""
    parts = [f"lacks {listed(missing)}"] * bool(missing) + [f"has {listed(extra)} in addition"] * bool(extra)
    return DataError(
        f"'{path}' {' and '.join(parts)}, compared with '{first}': all files of source.path need the same columns."
    )


def _no_rows(path: Path) -> DataError:
    return DataError(f"'{path}' has a header but no rows below it: check source, or how the file was written.")


def _typed(files: Sequence[TextFile], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in chain.from_iterable(_texts(file) for file in files):
        arrays = [read_settled(batch.column(field.name), field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _texts(file: TextFile) -> Iterator[pa.RecordBatch]:
    """Batches of a file with every column as text; an empty cell is missing."""
    options = pacsv.ConvertOptions(
        column_types=dict.fromkeys(file.written, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    cell = None
    with _reader(file, options, BLOCK) as (reader, ends):
        for batch in reader:
            cell = batch.columns[-1][-1].as_py() if batch.num_rows else cell
            yield batch.rename_columns(list(file.names))
    check_closed(file.path, file.names[-1], cell, ends.last)


@contextmanager
def _reader(
    file: TextFile, options: pacsv.ConvertOptions, block: int
) -> Iterator[tuple[pacsv.CSVStreamingReader, LastBytes]]:
    wrong: list[pacsv.InvalidRow] = []

    def note(row: pacsv.InvalidRow) -> str:
        wrong.append(row)
        return "error"

    parse = pacsv.ParseOptions(delimiter=file.delimiter, newlines_in_values=True, invalid_row_handler=note)
    encoding = "utf8" if file.encoding in {"utf-8", "utf-8-sig"} else file.encoding
    read = pacsv.ReadOptions(block_size=block, encoding=encoding, use_threads=False)
    try:
        with reading(file.path), open_binary(file.path) as stream:
            ends = LastBytes(stream)
            yield pacsv.open_csv(pa.PythonFile(ends, mode="r"), read, parse, options), ends
    except UnicodeError:
        raise broken_encoding(file.path, file.encoding) from None
    except pa.ArrowInvalid as error:
        raise _unreadable(file, str(error), wrong) from None


def _unreadable(file: TextFile, message: str, wrong: Sequence[pacsv.InvalidRow]) -> DataError:
    if "cannot infer number of columns" in message:
        return _no_rows(file.path)
    if "UTF8" in message or "UTF-8" in message:
        return broken_encoding(file.path, file.encoding)
    if wrong:
        row = wrong[0]
        return DataError(
            f"'{file.path}' has a row of {row.actual_columns} cells where its header has {row.expected_columns} "
            f"columns: '{row.text[:120]}'. Fix or quote that row, or set source.delimiter (read with "
            f"{file.delimiter!r})."
        )
    return DataError(f"'{file.path}' cannot be read as delimited text: {message}. Set source.format or fix the file.")
