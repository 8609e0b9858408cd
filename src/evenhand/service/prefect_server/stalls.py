"""Requests that wait long for their answer: what the server does meanwhile is written down."""

import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from threading import Thread
from typing import Any

LONGEST_SECONDS, LOOK_SECONDS = 10.0, 1.0
App = Callable[[Any, Any, Any], Awaitable[None]]


class StallsSeen:
    """An application; a thread looks after its requests, since the event loop itself may be what stands still."""

    def __init__(self, app: App, write: Callable[[str], None], longest: float = LONGEST_SECONDS) -> None:
        self.app, self.write, self.longest = app, write, longest
        self._numbers, self._under_way = count(), dict[int, tuple[float, str]]()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reported: set[int] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand the request on, and know of it until it is answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            Thread(target=self._watch, name="stalls", daemon=True).start()
        number = next(self._numbers)
        self._under_way[number] = time.monotonic(), f"{scope['method']} {scope['path']}"
        try:
            await self.app(scope, receive, send)
        finally:
            del self._under_way[number]

    def _watch(self) -> None:
        while True:
            time.sleep(min(LOOK_SECONDS, self.longest))
            self.look()

    def look(self) -> None:
        """Write down once of each request that waits for too long what everything does."""
        under_way, now = dict(self._under_way), time.monotonic()
        late = {number for number, (began, _) in under_way.items() if now - began > self.longest}
        if late - self._reported:
            waits = [f"  {words}: {now - began:.1f} s" for began, words in under_way.values()]
            assert self._loop is not None
            self.write("\n".join(["requests without an answer:", *waits, *_tasks(self._loop), *_threads()]))
        self._reported = late


def _tasks(loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    """Each task of the loop by the places where it waits, the outermost first."""
    for task in asyncio.all_tasks(loop):
        yield f"task {task.get_name()}: {' > '.join(_places(task.get_coro()))}"


def _places(waiting: Any) -> Iterator[str]:
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "ag_frame", None)
        if frame is not None:
            yield f"{frame.f_code.co_name} ({frame.f_code.co_filename}:{frame.f_lineno})"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None)


def _threads() -> Iterator[str]:
    """Each thread by its stack; one that stands still at a line of plain Python collects garbage there."""
    for number, frame in sys._current_frames().items():
        yield f"thread {number}:\n{''.join(traceback.format_stack(frame)).rstrip()}"
