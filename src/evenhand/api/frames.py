"""Rows as a caller has them, as a data frame of pandas or as a file."""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_file", "as_frame"]


def as_frame(rows: Any) -> "pd.DataFrame":
    """A data frame of any kind, or the rows of a file, as a frame of pandas."""
    from evenhand.data.in_memory import as_pandas

    return _read(os.fspath(rows)) if isinstance(rows, str | os.PathLike) else as_pandas(rows)


def as_file(rows: Any) -> str:
    """The path of a file, or of where the rows of a data frame are kept by their content."""
    from evenhand.data.in_memory import keep

    return os.fspath(rows) if isinstance(rows, str | os.PathLike) else str(keep(rows))


def _read(path: str) -> "pd.DataFrame":
    import pyarrow as pa

    from evenhand.data.sources import opened
    from evenhand.study.study import Study

    study = Study(name="rows", source=path, target="y", candidates={"dummy": {}})
    with opened(study) as found:
        return pa.Table.from_batches(found.read().batches()).to_pandas()
