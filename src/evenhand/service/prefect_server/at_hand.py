"""Which Prefect server a flow uses: the one that is named, that of `evenhand up`, or a temporary one."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evenhand.errors import PlaceError
from evenhand.runtime.progress import report_progress
from evenhand.runtime.redaction import masked_text
from evenhand.service.prefect_server.temporary import TEMPORARY
from evenhand.storage.artifact_store import home
from evenhand.tracking.databases import unanswered

BOX = "server"


def start_server() -> None:
    """Have a temporary server come up while the learners are imported, unless there is one that stays."""
    if not (_named_server() or kept_up()):
        TEMPORARY.begin()


@contextmanager
def server_at_hand() -> Iterator[None]:
    """Prefect's client has a server that answers: the one that is named, that of `evenhand up`, or a temporary one."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    if PREFECT_API_URL.value():
        TEMPORARY.end()  # it was begun before Prefect's profile was read
        check_prefect()
        yield
        return
    report_progress(BOX, 0, 1)
    if found := kept_up():
        settings: dict[Any, Any] = {PREFECT_API_URL: found[0], PREFECT_API_AUTH_STRING: found[1]}
    else:
        settings = {PREFECT_API_URL: TEMPORARY.answered()}
    report_progress(BOX, 1, 1)
    with temporary_settings(settings):
        yield


def kept_up() -> tuple[str, str] | None:
    """The address and the key of Prefect's server that `evenhand up` keeps up here, if it answers."""
    if not (home() / "up" / "state.json").exists():
        return None
    from evenhand.service.access_key import key
    from evenhand.service.supervisor import Ports, is_up, state

    api = Ports(prefect=state().get("prefect", 0)).prefect_api if is_up() else ""
    return (api, key()) if api and not unanswered(api, "Prefect's server of `evenhand up`") else None


def is_temporary() -> bool:
    """Whether the server at hand ends with this process."""
    from prefect.settings import PREFECT_API_URL

    return PREFECT_API_URL.value() in {None, "", TEMPORARY.api}


def page_of_run() -> str:
    """The address of the flow run under way in Prefect's pages; empty where its server ends with this process."""
    from prefect.runtime import flow_run
    from prefect.settings import PREFECT_API_URL

    found = flow_run.get_id()
    if found is None or is_temporary():
        return ""
    return f"{masked_text(PREFECT_API_URL.value().rstrip('/').removesuffix('/api'))}/runs/flow-run/{found}"


def check_prefect() -> None:
    """Refuse a Prefect server that was named but does not answer, before anything is begun on it."""
    if not (address := _named_server()):
        return
    named = re.sub(r"//[^/@]*@", "//", address)
    if words := unanswered(named, f"Prefect's server '{named}'"):
        raise PlaceError(
            f"Prefect's server '{named}', which PREFECT_API_URL names, does not answer: {words}. Start it, with "
            "`evenhand up` or `prefect server start`, or unset PREFECT_API_URL for a temporary one."
        )


def _named_server() -> str:
    """The address of the server that settings name; an environment that does is read before Prefect is imported."""
    if "prefect.settings" not in sys.modules:
        return os.environ.get("PREFECT_API_URL", "")
    from prefect.settings import PREFECT_API_URL

    return PREFECT_API_URL.value() or ""
