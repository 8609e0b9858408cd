"""How far a tick is, on its way from the process of its run to whoever watches `evenhand up`.

The process of a run writes to the output that `evenhand up` follows; a line begins with a sign that no text has.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from evenhand.runtime.progress import Passing, StepProgress, listening

MARK = "EVENHAND_UP"  # in the environment of all that `evenhand up` starts
SIGN, EVERY_SECONDS = "\x02", 0.5


@contextmanager
def reported(study: str) -> Iterator[None]:
    """Have `evenhand up` show how far the block is; elsewhere nothing is written."""
    if MARK not in os.environ:
        yield
        return
    from evenhand.reporting.terminal.progress import WORDS, Pace, step_words

    pace, last = Pace(), ("", 0.0)

    def on_step(step: StepProgress) -> None:
        nonlocal last
        if step.box not in WORDS or step.remark:
            return
        left, now = pace.left(step), time.monotonic()
        if step.box != last[0] or now - last[1] >= EVERY_SECONDS:
            last = step.box, now
            _write(study, step_words(step, left))

    try:
        with listening(on_step):
            yield
    finally:
        _write(study, "")


def followed(line: str) -> str:
    """A line of the output that is followed: how far a tick is, where it says so, else as it is."""
    if not line.startswith(SIGN):
        return line
    process, study, words = line.removeprefix(SIGN).split("\t", 2)
    return Passing(study, int(process), words)


def _write(study: str, words: str) -> None:
    sys.stdout.write(f"{SIGN}{os.getpid()}\t{study}\t{words}\n")
    sys.stdout.flush()
