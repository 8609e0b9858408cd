"""Events and logs of a run whose Prefect server has gone: given up for a while after one try, not after one try each.

Prefect tries each event for seven seconds, and a process waits at its end until all were tried: minutes upon minutes.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

GONE_SECONDS = 10.0  # before the server is tried again


class Listener:
    """A server that may have gone: what is sent to it meanwhile is dropped."""

    def __init__(self) -> None:
        self._gone_until = 0.0

    async def hear(self, send: Callable[[], Any]) -> None:
        """Send something, unless the server was found gone just before; that it is gone is reported once."""
        from httpx import TransportError
        from websockets.exceptions import WebSocketException

        if time.monotonic() < self._gone_until:
            return
        try:
            await send()
            self._gone_until = 0.0
        except (OSError, TransportError, WebSocketException) as error:
            if not self._gone_until:
                logging.getLogger("evenhand").warning(
                    "Prefect's server has gone (%s): its pages will lack what this run did since", error
                )
            self._gone_until = time.monotonic() + GONE_SECONDS


def give_up_soon() -> None:
    """Have Prefect's workers that send events and logs drop what a server that has gone cannot hear."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    listener, handle = Listener(), EventsWorker._handle
    if handle.__module__ == __name__:
        return

    async def send_event(self: Any, event: Any) -> None:
        await listener.hear(lambda: handle(self, event))
        self._context_cache.pop(event.id, None)

    async def send_lines(self: Any, items: list[dict[str, Any]]) -> None:
        await listener.hear(lambda: self._client.create_logs(items))

    EventsWorker._handle = send_event  # type: ignore[method-assign]
    APILogWorker._handle_batch = send_lines  # type: ignore[method-assign]
