"""Leakage checks: one entry and one function each, what they are given, and what is done about what they find.

Not here: the proof of parents of made rows (tasks.tracing) and the statistics of plain arrays (statistics).
"""

__all__ = [
    "entries",
    "entry",
    "gate",
    "groups",
    "identifiers",
    "order_of_rows",
    "outcome_columns",
    "permuted_labels",
    "predictive_columns",
    "sides",
    "strength",
    "target_means",
    "unlabelled_rows",
]
