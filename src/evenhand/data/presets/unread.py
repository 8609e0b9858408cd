"""A study that does no more than read data which nobody has looked at yet."""

import os
from typing import Any

from evenhand.data.csv_reader import sampled
from evenhand.data.in_memory import keep
from evenhand.data.sources import find_files, format_of
from evenhand.study.study import Source, Study


def source_of(data: Any) -> dict[str, Any]:
    """The `source` of a study that reads this path or address, with delimiter and encoding as found in a text file.

    A data frame is kept by its content, and the source names its fingerprint.
    """
    if not isinstance(data, str | os.PathLike):
        return {"frame": keep(data).stem}
    data = os.fspath(data)
    if "://" in data:
        return {"url": data}
    file = find_files([data])[0]
    if format_of(file) != "csv":
        return {"path": data}
    found = sampled(file)
    return {"path": data, "delimiter": found.delimiter, "encoding": found.encoding}


def unread(data: Any, target: str) -> Study:
    """A study that does no more than read the source."""
    return Study(name="drafted", source=Source(**source_of(data)), target=target, candidates={"dummy": {}})
