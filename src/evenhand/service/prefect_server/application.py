"""Prefect's application as every server of ours serves it: what holds up its requests is fixed, or written down."""

import logging
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

LOG, LOG_BYTES = "evenhand-server.log", 1_000_000


def application(write: Callable[[str], None]) -> Any:
    """The application; `write` is given what the server does when a request waits too long for its answer."""
    from prefect.server.api.server import API_ROUTERS, create_app

    from evenhand.service.prefect_server.again_when_locked import AgainWhenLocked
    from evenhand.service.prefect_server.batches import write_together
    from evenhand.service.prefect_server.cursors import close_what_failed
    from evenhand.service.prefect_server.routes import ask_for_own_paths
    from evenhand.service.prefect_server.stalls import StallsSeen
    from evenhand.service.prefect_server.writers import begin_as_writers

    begin_as_writers()
    close_what_failed()
    write_together()
    ask_for_own_paths(API_ROUTERS)
    return StallsSeen(AgainWhenLocked(create_app()), write)


def log_in(home: Path) -> Callable[[str], None]:
    """What adds lines to a log of bounded size in Prefect's home; there is none before its first line."""
    handler = RotatingFileHandler(home / LOG, maxBytes=LOG_BYTES, backupCount=1, delay=True, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s process %(process)d: %(message)s"))

    def write(text: str) -> None:
        handler.emit(logging.LogRecord("evenhand", logging.WARNING, __file__, 0, text, (), None))

    return write
