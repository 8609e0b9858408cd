"""Requests that SQLite ended because another wrote in between: asked again in the server, at once.

Most of what Prefect's API does begins as a reader and then writes. SQLite ends such a transaction at once, whatever its
timeout, if another wrote since it began; the server then answers 503, and Prefect's client waits for two seconds, then
for four, eight, sixteen and thirty-two. Asked again as it was, a request under load can meet another writer each time.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from evenhand.service.prefect_server.writers import is_writer

UNAVAILABLE = 503
PAUSE_SECONDS, LONGEST_SECONDS = 0.02, 5.0
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
App = Callable[[Any, Any, Any], Awaitable[None]]


class AgainWhenLocked:
    """An application whose writing requests are asked again, for a while, as long as they are answered with 503.

    Nothing of a request that ended so was kept: the transaction was rolled back. It begins as a writer from then on.
    """

    def __init__(self, app: App, longest: float = LONGEST_SECONDS) -> None:
        self.app, self.longest = app, longest

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand the request on; a writing one until it is answered, or the time is up."""
        if scope["type"] != "http" or scope["method"] not in WRITES:
            await self.app(scope, receive, send)
            return
        request, end = Body(receive), time.monotonic() + self.longest
        while True:
            answer = Answer(send, may_hold=time.monotonic() < end)
            try:
                await self.app(dict(scope), request.again(), answer)
            except Exception:  # the server raises the error after it has answered
                if not answer.is_held:
                    raise
            if not answer.is_held:
                return
            is_writer.set(True)
            await asyncio.sleep(PAUSE_SECONDS)


class Body:
    """The parts of a request as they came, which can be read from the beginning again."""

    def __init__(self, receive: Callable[[], Awaitable[Any]]) -> None:
        self._receive, self._parts = receive, list[Any]()

    def again(self) -> Callable[[], Awaitable[Any]]:
        """What an application is handed to read the request with."""
        n_read = 0

        async def receive() -> Any:
            nonlocal n_read
            if n_read == len(self._parts):
                part = await self._receive()
                if part["type"] != "http.request":
                    return part
                self._parts.append(part)
            n_read += 1
            return self._parts[n_read - 1]

        return receive


class Answer:
    """What an application sends: handed on, but for a 503 that is held back while the request may be asked again."""

    def __init__(self, send: Callable[[Any], Awaitable[None]], may_hold: bool) -> None:
        self._send, self._may_hold = send, may_hold
        self.is_held = False

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.is_held = self._may_hold and message["status"] == UNAVAILABLE
        if not self.is_held:
            await self._send(message)
