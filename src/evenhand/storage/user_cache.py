"""Files that take long to make and are the same in every folder of a user: made again where one is not as it was."""

import errno
import hashlib
import os
from pathlib import Path

from evenhand.runtime.private_files import private_folder
from evenhand.runtime.whole_files import whole

OTHERS_MAY_WRITE = 0o022


def kept(name: str) -> bytes | None:
    """What was kept under a name; None where nothing was, where it is another by now, or where others may write."""
    try:
        folder = _folder()
        facts = folder.stat()
        if facts.st_uid != os.getuid() or facts.st_mode & OTHERS_MAY_WRITE:
            return None
        for file in folder.glob(f"{name}.*"):
            content = file.read_bytes()
            if file.name == f"{name}.{_digest(content)}":
                return content
    except OSError:  # made anew, which only takes longer
        return None
    return None


def keep(name: str, content: bytes) -> None:
    """Keep bytes under a name, with their digest in the name of the file; what was kept under it before goes."""
    folder = _folder()
    private_folder(folder)
    for file in folder.glob(f"{name}.*"):
        file.unlink(missing_ok=True)
    with whole(folder / f"{name}.{_digest(content)}") as unfinished:
        unfinished.write_bytes(content)


def _folder() -> Path:
    """A folder of the user's own, as programs of this system keep what can be made again."""
    given = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not Path(given).is_absolute():
        raise OSError(errno.ENOENT, "this user has no home folder")
    return Path(given) / "evenhand"


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
