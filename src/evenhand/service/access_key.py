"""The key that pages and APIs of this machine ask for: made on first use, readable by its owner only."""

import secrets
from pathlib import Path

from evenhand.runtime.io_errors import writing
from evenhand.runtime.private_files import private_folder
from evenhand.runtime.whole_files import whole
from evenhand.storage.artifact_store import home
from evenhand.storage.locks import waiting

USER = "evenhand"


def key_file() -> Path:
    """Where the key lies."""
    return home() / "up" / "key"


def key() -> str:
    """What Prefect's API and MLflow's pages ask for, as user and password; one that was cut off is made anew."""
    file = key_file()
    with writing(file):
        private_folder(file.parent)
        with waiting(file.with_suffix(".lock")):  # whoever comes second takes the first's
            if (found := _read(file)) is None:
                found = _make(file)
        file.chmod(0o600)
    return found


def _read(file: Path) -> str | None:
    """The key, if there is a whole one."""
    try:
        found = file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    return found if found.removeprefix(f"{USER}:") not in {"", found} else None


def _make(file: Path) -> str:
    made = f"{USER}:{secrets.token_urlsafe(24)}"
    with whole(file) as unfinished:
        unfinished.touch(mode=0o600)
        unfinished.write_text(made, encoding="utf-8")
    return made
