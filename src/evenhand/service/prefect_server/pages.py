"""The process that serves Prefect's API and pages to known names and to its own pages alone, for `evenhand up`."""

import sys


def main(host: str, port: str) -> None:
    """Serve what Prefect's settings name, as `prefect server start` does, until SIGTERM."""
    import uvicorn
    from prefect.settings import (
        PREFECT_SERVER_API_KEEPALIVE_TIMEOUT,
        PREFECT_SERVER_API_WEBSOCKET_PING_INTERVAL,
        PREFECT_SERVER_API_WEBSOCKET_PING_TIMEOUT,
        get_current_settings,
    )

    from evenhand.service.prefect_server.application import application, log_in
    from evenhand.service.prefect_server.writers import count_as_writers
    from evenhand.service.web_guard import NameGuard

    count_as_writers()
    uvicorn.run(
        NameGuard(application(log_in(get_current_settings().home))),
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
