"""A folder that is seen whole or not at all: brought to the disk, and then renamed."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from evenhand.runtime import whole_files


def to_disk(folder: Path) -> None:
    """Have the kernel write all files below a folder, and the folders, before the entry gets its name."""
    for path in (*files_in(folder), *_folders(folder)):
        whole_files.to_disk(path)


def _folders(folder: Path) -> Iterator[Path]:
    yield from (Path(place) for place, _, _ in os.walk(folder, topdown=False))


def rename_whole(unfinished: Path, path: Path) -> bool:
    """Give a whole entry its name; false where another process gave it to the same entry meanwhile."""
    try:
        unfinished.rename(path)
        return True
    except FileNotFoundError:
        if not unfinished.exists():
            raise
        path.parent.mkdir(parents=True, exist_ok=True)
        return rename_whole(unfinished, path)
    except OSError as error:
        if error.errno not in {errno.EEXIST, errno.ENOTEMPTY} or not path.exists():
            raise
        return False


def files_in(folder: Path) -> list[Path]:
    """All files below a folder, by name."""
    return sorted(Path(place, name) for place, _, names in os.walk(folder) for name in names)
