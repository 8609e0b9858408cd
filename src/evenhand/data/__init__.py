"""Rows in: where they come from, how they are read, what each column is for, and which fold a row belongs to.

Not here: anything that is learned from rows (models), and the files that stages exchange (storage).
"""

__all__ = [
    "as_of",
    "casting",
    "column_roles",
    "csv_reader",
    "csv_sniffing",
    "frames",
    "in_memory",
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
