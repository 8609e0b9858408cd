"""Which process works on something, told so that it can be known later whether it still runs."""

from collections.abc import Mapping

import psutil

from evenhand.locks import boot_id


def started() -> str:
    """When this process began, which tells it from another one that gets its number."""
    return f"{psutil.Process().create_time():.2f}"


def is_alive(tags: Mapping[str, str]) -> bool:
    """Whether the process that started a run still runs: same boot, same pid, started at the same moment."""
    if tags.get("evenhand.boot_id") != boot_id():
        return False
    try:
        process = psutil.Process(int(tags["evenhand.pid"]))
    except (psutil.NoSuchProcess, ValueError):
        return False
    return f"{process.create_time():.2f}" == tags.get("evenhand.started")
