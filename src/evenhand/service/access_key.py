"""The key that pages and APIs of this machine ask for: made on first use, readable by its owner only."""

import os
import secrets
from pathlib import Path

from evenhand.runtime.io_errors import writing
from evenhand.storage.artifact_store import home

USER = "evenhand"


def key_file() -> Path:
    """Where the key lies."""
    return home() / "up" / "key"


def key() -> str:
    """What Prefect's API and MLflow's pages ask for, as user and password; one that was cut off is made anew."""
    file = key_file()
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _read(file) is None:
            _make(file)
        file.chmod(0o600)
    return _read(file) or ""


def _read(file: Path) -> str | None:
    """The key, if there is a whole one."""
    try:
        found = file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    return found if found.removeprefix(f"{USER}:") not in {"", found} else None


def _make(file: Path) -> None:
    """Write a key under another name and give it its own once it is whole; whoever comes second takes the first's."""
    unfinished = file.with_name(f".{file.name}-{os.getpid()}-{secrets.token_hex(4)}")
    number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(number, f"{USER}:{secrets.token_urlsafe(24)}".encode())
        os.fsync(number)
        os.close(number)
        if file.exists():  # what a crash left of one
            file.unlink()
        os.link(unfinished, file)
    except FileExistsError:
        return
    finally:
        unfinished.unlink(missing_ok=True)
