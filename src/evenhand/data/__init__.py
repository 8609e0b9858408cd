"""Rows in: where they come from, how they are read, what each column is for, and which fold a row belongs to.

Not here: anything that is learned from rows (models), and the files that stages exchange (storage).
"""

from importlib import import_module
from typing import Any

__all__ = [
    "SourceEntry",
    "as_of",
    "casting",
    "column_roles",
    "csv_reader",
    "csv_sniffing",
    "frames",
    "in_memory",
    "limits",
    "readers",
    "remote",
    "row_filter",
    "schema_contract",
    "snapshot",
    "sources",
    "splits",
    "study_proposal",
    "study_template",
    "targets",
    "toy_datasets",
    "type_inference",
]


def __getattr__(name: str) -> Any:
    if name != "SourceEntry":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("evenhand.study.source_entries").SourceEntry
