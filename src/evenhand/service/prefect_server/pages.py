"""The process that serves Prefect's API and pages to known names and to its own pages alone, for `evenhand up`."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


def count_as_writers() -> None:
    """Have what counts the events of an automation say from its beginning that it will write.

    It begins as a reader otherwise, and SQLite ends a reader that then writes at once ("database is locked"), however
    long it may wait, if another wrote in between: the end of a run is not counted then, and its heartbeat is missed.
    """
    from prefect.server.database import provide_database_interface
    from prefect.server.events import triggers

    @asynccontextmanager
    async def session(begin_transaction: bool = False) -> AsyncIterator[Any]:
        database = provide_database_interface()
        async with database.session_context(begin_transaction, with_for_update=begin_transaction) as found:
            yield found

    triggers.automations_session = session


def main(host: str, port: str) -> None:
    """Serve what Prefect's settings name, as `prefect server start` does, until SIGTERM."""
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.settings import (
        PREFECT_SERVER_API_KEEPALIVE_TIMEOUT,
        PREFECT_SERVER_API_WEBSOCKET_PING_INTERVAL,
        PREFECT_SERVER_API_WEBSOCKET_PING_TIMEOUT,
    )

    from evenhand.service.prefect_server.again_when_locked import AgainWhenLocked
    from evenhand.service.web_guard import NameGuard

    count_as_writers()
    uvicorn.run(
        NameGuard(AgainWhenLocked(create_app(final=True))),
        host=host,
        port=int(port),
        timeout_keep_alive=PREFECT_SERVER_API_KEEPALIVE_TIMEOUT.value(),
        ws_ping_interval=PREFECT_SERVER_API_WEBSOCKET_PING_INTERVAL.value(),
        ws_ping_timeout=PREFECT_SERVER_API_WEBSOCKET_PING_TIMEOUT.value(),
        log_level="warning",
        access_log=False,
        server_header=False,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
