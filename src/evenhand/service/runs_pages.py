"""The process that serves MLflow's pages behind the key, for `evenhand ui` and `evenhand up`."""

import os
import sys
from typing import Any

from evenhand.service.servers import LINK, STORE


def serve_guarded(app: Any, host: str, port: int) -> None:
    """Serve a web application behind the key until SIGTERM."""
    import uvicorn

    from evenhand.service.access_key import key
    from evenhand.service.web_guard import Guard

    guard = Guard(app, key(), port, link=os.environ.pop(LINK, ""))
    uvicorn.run(guard, host=host, port=port, log_level="warning", access_log=False, server_header=False)


def main(host: str, port: str) -> None:
    """Serve the pages of the store that the environment names."""
    import uvicorn  # noqa: F401  # MLflow looks whether a server is there

    from evenhand.tracking.mlflow_pages import pages_app

    serve_guarded(pages_app(os.environ[STORE]), host, int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
