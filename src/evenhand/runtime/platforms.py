"""Where the program runs: locks that the kernel lets go of, and signals, are those of POSIX."""

import sys

from evenhand.errors import PlaceError

WINDOWS = (
    "Evenhand runs on Linux and macOS: its locks and signals are those of POSIX, which Windows lacks. "
    "Use it within WSL 2, the Linux that comes with Windows."
)


def unsupported() -> str:
    """Why this system cannot run studies, and what to do; empty where it can."""
    return WINDOWS if sys.platform == "win32" else ""


def check() -> None:
    """Refuse a system that cannot run studies."""
    if why := unsupported():
        raise PlaceError(why)
