"""How often a program looks for garbage in cycles: what learners import is a million objects that never die."""

import atexit
import gc

ALLOCATIONS = 50_000  # between two looks at young objects, for 700 of Python's own


def seldom() -> None:
    """Look for garbage less often, and at the end not at all: the looks took a quarter of a quick run's time."""
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
