"""Which process works on something, so that it can be known later whether it still runs."""

import json
import os
import socket
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import psutil

OWNER = "EVENHAND_OWNER"
OWNED_BY = "process:"
TEMPORARY_SERVER = "evenhand.service.prefect_server.temporary"
END_SECONDS = 5.0


@cache
def boot_id() -> str:
    """What distinguishes starts of this machine, and a container from its neighbours, whose pids are others."""
    file, pids = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    boot = file.read_text().strip() if file.exists() else f"{psutil.boot_time():.0f}"
    return f"{boot}-{pids.stat().st_ino}" if pids.exists() else boot


def owner() -> dict[str, str]:
    """This process, by what distinguishes it from every other one."""
    place = {"host": socket.gethostname(), "boot_id": boot_id()}
    return {**place, "pid": str(os.getpid()), "started": started()}


def is_of_this_host(process: Mapping[str, str]) -> bool:
    """Whether a run was started on this machine: a process number says nothing about another one."""
    return process.get("boot_id") == boot_id() or process.get("host") == socket.gethostname()


def started() -> str:
    """When this process began, which distinguishes it from another one that gets its number."""
    return f"{psutil.Process().create_time():.2f}"


def is_alive(named: Mapping[str, str]) -> bool:
    """Whether the process that started a run still runs: same boot, same pid, started at the same moment."""
    if named.get("boot_id") != boot_id():
        return False
    try:
        process = psutil.Process(int(named["pid"]))
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
    except (psutil.NoSuchProcess, ValueError):
        return False
    return f"{process.create_time():.2f}" == named.get("started")


def own_children() -> None:
    """Have every process that is started from here on carry the name of this one, and end with it however it ends."""
    os.environ[OWNER] = value = json.dumps(owner())
    _watch_once(os.getpid(), value)


@cache
def _watch_once(pid: int, value: str) -> None:
    from evenhand.runtime.watcher import watched

    watched(OWNER, value)


def end_left_servers() -> list[int]:
    """End the temporary servers of processes that were killed and could not do it themselves; their ids."""
    left = [process for process in psutil.process_iter(["cmdline"]) if _is_left(process)]
    for process in left:
        process.terminate()
    for process in psutil.wait_procs(left, timeout=END_SECONDS)[1]:
        process.kill()
    return [process.pid for process in left]


def _is_left(process: psutil.Process) -> bool:
    if TEMPORARY_SERVER not in (process.info["cmdline"] or ()):
        return False
    try:
        mark = process.environ().get(OWNER)
    except psutil.Error:  # another user's, or gone by now
        return False
    return mark is not None and not is_alive(json.loads(mark))


def owner_tag() -> str:
    """Which process works on a flow run, as a tag of it."""
    return f"{OWNED_BY}{os.getpid()}:{started()}:{boot_id()}"


def has_lost_its_owner(tags: Iterable[str], only_here: bool = False) -> bool:
    """Whether the tags of a flow run name a process that is gone; `only_here`: one of this machine since its start."""
    owners = [tag.removeprefix(OWNED_BY).split(":") for tag in tags if tag.startswith(OWNED_BY)]
    names = ("pid", "started", "boot_id")
    known = [dict(zip(names, owner, strict=True)) for owner in owners if len(owner) == len(names)]
    return any(not is_alive(each) for each in known if not only_here or each["boot_id"] == boot_id())
