"""Named moments at which a test can kill the process: before and after whatever must be whole or not at all.

Nothing happens unless EVENHAND_FAULT names the moment; then the process is gone the first time it gets there, as if by
`kill -9`. test_fault_injection.py finds every name in the source and sees what the next start makes of it.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "EVENHAND_FAULT"


def reached(moment: str) -> None:
    """Go on, unless this moment is to be the last."""
    if os.environ.get(VARIABLE) == moment:
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def around(deed: str) -> Iterator[None]:
    """The moments `DEED.before` and, once it is done, `DEED.after`."""
    reached(f"{deed}.before")
    yield
    reached(f"{deed}.after")
