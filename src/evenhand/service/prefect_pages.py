"""The process that serves Prefect's API and pages to known names and to its own pages alone, for `evenhand up`."""

import sys
from typing import Any


def wait_for_writers() -> None:
    """Have every transaction on SQLite say from its beginning that it will write.

    Prefect begins most as readers: one that reads and then writes fails at once, however long it may wait, if another
    wrote in between. What it had to note is lost then, such as that a run has ended.
    """
    from prefect.server.database.configurations import AioSqliteConfiguration

    begun = AioSqliteConfiguration.begin_transaction

    def begin_transaction(self: Any, session: Any, with_for_update: bool = False) -> Any:
        return begun(self, session, with_for_update=True)

    AioSqliteConfiguration.begin_transaction = begin_transaction  # type: ignore[method-assign]


def main(host: str, port: str) -> None:
    """Serve what Prefect's settings name, as `prefect server start` does, until SIGTERM."""
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.settings import (
        PREFECT_SERVER_API_KEEPALIVE_TIMEOUT,
        PREFECT_SERVER_API_WEBSOCKET_PING_INTERVAL,
        PREFECT_SERVER_API_WEBSOCKET_PING_TIMEOUT,
    )

    from evenhand.service.web_guard import NameGuard

    wait_for_writers()
    uvicorn.run(
        NameGuard(create_app(final=True)),
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
