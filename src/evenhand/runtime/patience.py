"""Patience with servers: on a busy machine one is slow, and only what is dead or stands still is given up."""

import logging
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from threading import Event, Thread

import psutil

FIRST_SECONDS, EVERY_SECONDS, ASKED_SECONDS = 5.0, 30.0, 2.0
STILL_SECONDS, MOST_SECONDS = 90.0, 1800.0
NAMED_SECONDS = 15.0  # of a server that is not ours, of which nothing but its silence is known
WORK_SECONDS = 0.05  # of the processor; one that only waits for events uses less within a span of stillness

SILENT = "it is silent for {:g} seconds"


@contextmanager
def waiting_aloud(what: str) -> Iterator[None]:
    """Log what is waited for if the block takes longer than some seconds, and now and then until its end."""
    is_over, began = Event(), time.monotonic()

    def report() -> None:
        pause = FIRST_SECONDS
        while not is_over.wait(pause):
            waited, pause = time.monotonic() - began, EVERY_SECONDS
            logging.getLogger("evenhand").warning("%s has not answered for %.0f s: it is waited for", what, waited)

    Thread(target=report, name="waiting", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def no_answer(address: str, seconds: float = NAMED_SECONDS) -> str:
    """Why an address gives no answer within so many seconds; empty if it does, also with a refusal."""
    try:
        with urllib.request.urlopen(address, timeout=seconds):
            return ""
    except urllib.error.HTTPError:
        return ""
    except (OSError, ValueError, HTTPException) as error:  # a port that is no number is a ValueError
        if is_late(error):
            return SILENT.format(seconds)
        return " ".join(str(getattr(error, "reason", error)).split()) or type(error).__name__


def is_late(error: BaseException) -> bool:
    """Whether an error of urllib says no more than that the time was up."""
    return isinstance(getattr(error, "reason", error), TimeoutError)


class Progress:
    """Whether a child that is waited for lives and gets on, which on a busy machine may take long."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process, self._began = process, time.monotonic()
        self._moved, self._used = self._began, 0.0

    def goes_on(self) -> bool:
        """False once the process is gone, has used no processor for a while, or has taken far too long."""
        now, used = time.monotonic(), processor_seconds(self._process.pid)
        if used - self._used > WORK_SECONDS:
            self._moved, self._used = now, used
        is_at_work = now - self._moved <= STILL_SECONDS and now - self._began <= MOST_SECONDS
        return is_at_work and self._process.poll() is None


def processor_seconds(process_id: int) -> float:
    """How much of the processor a process has used; 0 for one that is gone."""
    try:
        used = psutil.Process(process_id).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(used.user + used.system)


def answers_in_time(address: str, goes_on: Callable[[], bool], pause: Callable[[float], object] = time.sleep) -> bool:
    """Whether an address answers before whoever is asked stops to go on; each question may take longer than the last.

    A server that is slow works off what it was asked before, so to ask often would only hold it up.
    """
    seconds = ASKED_SECONDS
    while goes_on():
        if not (why := no_answer(address, seconds)):
            return True
        if why == SILENT.format(seconds):
            seconds = min(2 * seconds, EVERY_SECONDS)
        pause(0.1)
    return False
