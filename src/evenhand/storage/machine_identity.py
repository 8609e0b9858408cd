"""What a machine runs and where it keeps results, so that machines that work together can be compared."""

import platform
import socket
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from evenhand.errors import EvenhandError
from evenhand.storage.artifact_store import Store
from evenhand.storage.code_digest import versions
from evenhand.storage.digests import file_digest


def identity() -> dict[str, Any]:
    """The versions of what numbers depend on, the store, and why it cannot be used, empty where it can."""
    store, why = Store(), ""
    try:
        store.check()
    except EvenhandError as error:
        why = str(error)
    place = store.shown if store.shared is not None else f"{socket.gethostname()}:{store.shown}"
    code = {"Python": platform.python_version(), "evenhand's code": _own_code()}
    return {"versions": {**versions(), **code}, "store": place, "why": why}


@cache
def _own_code() -> str:
    folder = Path(__file__).parents[1]
    places = [folder, *(other for name in ("flows", "tasks") if (other := folder.parents[1] / name).is_dir())]
    digests = {file.name + file_digest(file) for place in places for file in place.rglob("*.py")}
    return blake2b("".join(sorted(digests)).encode(), digest_size=6).hexdigest()
