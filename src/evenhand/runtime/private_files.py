"""Files of ours are for their owner alone; files that a person names are as their shell makes them."""

import os
from pathlib import Path

_usual: list[int] = []


def keep_private() -> None:
    """From here on this process and its children make files and folders that nobody else can read."""
    before = os.umask(0o077)
    if not _usual:
        _usual.append(before)


def as_usual(file: Path) -> None:
    """Give a file that a person named the mode that files of theirs have."""
    if _usual and file.exists():
        file.chmod(0o666 & ~_usual[0])


def private_folder(folder: Path) -> None:
    """Make a folder for its owner alone, if there is none; one that there is stays as it was made."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
