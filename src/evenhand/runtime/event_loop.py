"""Work that must not be done inside a running event loop, as that of a notebook: it moves to a thread of its own."""

import asyncio
import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import TypeVar

Result = TypeVar("Result")
LEAVE_SECONDS = 20.0  # a fit in compiled code ends on its own; whoever interrupts need not wait for it


def away_from_loop(work: Callable[[], Result]) -> Result:
    """What a call comes to, made in a thread of its own where an event loop runs in this one.

    A flow that is called inside a running loop gives back a coroutine and swallows every error. The thread has a copy
    of the context, so that whoever listens to progress here hears of it there; Ctrl-C here ends the work there.
    """
    return work() if not _is_in_loop() else _beside(work)


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _beside(work: Callable[[], Result]) -> Result:
    thread, outcome = in_thread(work, "evenhand")
    try:
        return outcome.result()
    except KeyboardInterrupt:
        if not outcome.done():
            raise_in(thread, KeyboardInterrupt)
            wait([outcome], LEAVE_SECONDS)
        raise


def in_thread(work: Callable[[], Result], name: str) -> tuple[threading.Thread, Future[Result]]:
    """A thread that was started with a call in this context, and what the call will come to."""
    outcome: Future[Result] = Future()
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread, outcome


def raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    """Raise an error in another thread at its next step of Python code."""
    assert thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(error))
