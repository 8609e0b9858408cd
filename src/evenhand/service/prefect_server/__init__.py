"""Prefect's server: the one at hand, a temporary one, its pages, and how long it keeps its records.

Not here: deployments and schedules on it (`service`).
"""

__all__ = [
    "again_when_locked",
    "application",
    "at_hand",
    "batches",
    "cursors",
    "pages",
    "retention",
    "routes",
    "stalls",
    "temporary",
    "writers",
]
