"""What a notebook shows: progress in one display, and a run as a table.

Not here: the page of a run (html), which a notebook shows in a frame.
"""

__all__ = [
    "progress",
    "tables",
]
