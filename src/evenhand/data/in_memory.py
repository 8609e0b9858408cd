"""Data frames that a program holds: kept once by their content, and from then on a file like any other."""

import os
import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.data.snapshot import Rows, arrow_column, fingerprint, write_rows
from evenhand.errors import DataError, listed
from evenhand.runtime.io_errors import writing
from evenhand.runtime.whole_files import put_in_place
from evenhand.storage.artifact_store import home
from evenhand.study.data import InMemory, is_tabular
from evenhand.study.study import Study

EMPTY = "the data frame (source) has {} rows and {} columns: give one with rows. A stream can be read only once."


def frame_rows(frame: pd.DataFrame) -> Rows:
    """The rows of a frame without its index; columns of mixed values become text."""
    table = pa.table({str(name): arrow_column(frame[name]) for name in frame.columns})
    return Rows(table.schema, table.to_batches)


def with_kept_rows(study: Study) -> Study:
    """The study with the fingerprint of its rows in place of a data frame that it was given."""
    if not isinstance(study.source.frame, InMemory):
        return study
    found = keep(study.source.frame.frame)
    source = study.source.model_copy(update={"frame": found.stem})
    return study.model_copy(update={"source": source})


def keep(frame: Any) -> Path:
    """The file with the rows of a data frame, written where the same rows were not kept before."""
    rows = _rows(frame)
    scratch = home() / "frames" / f"unfinished-{os.getpid()}-{uuid.uuid4().hex}"
    with writing(scratch):
        scratch.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_rows(scratch, rows)
            file = kept_file(fingerprint(pq.read_table(scratch)))
            if not file.exists() or _fingerprint_of(file) != file.stem:
                put_in_place(scratch, file)
        finally:
            scratch.unlink(missing_ok=True)
    return file


def kept_file(digest: str) -> Path:
    """Where the rows with this fingerprint are kept."""
    return home() / "frames" / f"{digest}.parquet"


def found_file(digest: str) -> Path:
    """The same, if they are still there, and still the same."""
    if not (file := kept_file(digest)).is_file():
        raise DataError(
            f"source.frame names rows with the fingerprint '{digest}', but '{file}' is not there: give the data frame "
            "again, or set EVENHAND_HOME to where it was kept."
        )
    if _fingerprint_of(file) != digest:
        raise DataError(f"'{file}' (source.frame) is not what was kept, or is damaged: give the data frame again.")
    return file


def _fingerprint_of(file: Path) -> str:
    """The fingerprint of kept rows; empty for a file that cannot be read."""
    try:
        return fingerprint(pq.read_table(file))
    except (OSError, pa.ArrowException):
        return ""


def as_pandas(frame: Any) -> pd.DataFrame:
    """The same rows as a frame of pandas."""
    return frame if isinstance(frame, pd.DataFrame) else _arrow_table(frame).to_pandas()


def _rows(frame: Any) -> Rows:
    table = frame if isinstance(frame, pd.DataFrame) else _arrow_table(frame)
    _check_shape(table)
    return frame_rows(table) if isinstance(table, pd.DataFrame) else Rows(table.schema, table.to_batches)


def _arrow_table(frame: Any) -> pa.Table:
    """Any data frame as an Arrow table; by Arrow's own exchange, which shares memory, where it has that."""
    if isinstance(frame, pa.Table):
        return frame
    if not is_tabular(frame):
        raise DataError(
            f"rows are needed as a data frame of pandas, polars or Arrow, but a {type(frame).__name__} was given."
        )
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    if hasattr(frame, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(frame)])
    if hasattr(frame, "to_pandas"):
        return pa.Table.from_pandas(frame.to_pandas(), preserve_index=False)
    from pyarrow.interchange import from_dataframe

    return from_dataframe(frame)


def _check_shape(table: pd.DataFrame | pa.Table) -> None:
    """Refuse columns that share a name, and rows or columns that are not there."""
    names = [str(name) for name in (table.columns if isinstance(table, pd.DataFrame) else table.column_names)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"the data frame (source) has columns of the same name: {listed(twice)}. Rename them.")
    if 0 in table.shape:
        raise DataError(EMPTY.format(*table.shape))
