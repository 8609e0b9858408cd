"""A server on a busy machine is waited for aloud; one that is dead, stands still or is no web server is not."""

import logging
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from evenhand.runtime import patience
from evenhand.runtime.patience import Progress, answers_in_time, no_answer, processor_seconds, waiting_aloud
from evenhand.tracking.databases import unanswered


@contextmanager
def served(before_answer, status=200):
    """The address of a server that does something before each of its answers."""

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self):
            before_answer()
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()


@pytest.fixture
def impatient(monkeypatch):
    """What is waited for is reported after a moment, and asked again after a moment, then after longer ones."""
    for name in ("FIRST_SECONDS", "ASKED_SECONDS"):
        monkeypatch.setattr(patience, name, 0.05)


@pytest.fixture
def reported():
    """The lines that are logged, and an event that is set by the first."""
    lines, some = [], threading.Event()

    class Kept(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())
            some.set()

    handler = Kept()
    logging.getLogger("evenhand").addHandler(handler)
    yield lines, some
    logging.getLogger("evenhand").removeHandler(handler)


def test_a_slow_server_is_waited_for_aloud(impatient, reported):
    lines, some = reported

    with served(some.wait) as address:  # it answers once the user has read that it is waited for
        why = unanswered(address, "the slow server")

    assert why == ""
    assert lines[0] == "the slow server has not answered for 0 s: it is waited for"


def test_a_server_that_answers_at_once_is_not_talked_about(reported):
    with served(lambda: None) as address:
        assert unanswered(address, "the server") == ""

    assert reported[0] == []


def test_a_refusal_is_an_answer():
    with served(lambda: None, status=401) as address:
        assert no_answer(address) == ""


def test_a_server_that_stays_silent_is_given_up_after_its_time():
    answers = threading.Event()
    try:
        with served(answers.wait) as address:
            assert no_answer(address, 0.05) == "it is silent for 0.05 seconds"
            answers.set()
    finally:
        answers.set()


def test_a_port_of_another_protocol_is_words_and_no_traceback():
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet():
            met, _ = other.accept()
            with met:
                met.recv(4096)
                met.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")

        threading.Thread(target=greet, daemon=True).start()

        assert "SSH-2.0" in no_answer(f"http://127.0.0.1:{other.getsockname()[1]}/health", 60)


def test_a_server_is_asked_again_until_it_answers_in_time(impatient):
    n_asked, answers = [], threading.Event()

    def third_answers():
        n_asked.append(1)
        if len(n_asked) < 3:
            answers.wait()

    try:
        with served(third_answers) as address:
            assert answers_in_time(address, lambda: True)
            answers.set()
    finally:
        answers.set()
    assert len(n_asked) >= 3


def test_nothing_is_asked_of_a_server_that_does_not_go_on():
    assert not answers_in_time("http://127.0.0.1:9", lambda: False)


@pytest.fixture
def process(monkeypatch):
    """A process and a clock that the test moves."""
    found = SimpleNamespace(now=0.0, used=0.0, pid=1, poll=lambda: None)
    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: found.now))
    monkeypatch.setattr(patience, "processor_seconds", lambda _: found.used)
    return found


def test_a_process_that_uses_the_processor_goes_on_however_slowly(process):
    progress = Progress(process)

    seen = []
    for _ in range(10):  # 90 seconds each in which it came to a second of work
        process.now, process.used = process.now + patience.STILL_SECONDS, process.used + 1
        seen.append(progress.goes_on())

    assert seen == [True] * 10


def test_a_process_that_stands_still_is_given_up(process):
    progress = Progress(process)
    process.used = 3.0
    assert progress.goes_on()

    process.now = patience.STILL_SECONDS
    at_its_end = progress.goes_on()
    process.now += 1

    assert (at_its_end, progress.goes_on()) == (True, False)


def test_a_process_that_works_without_end_is_given_up_too(process):
    progress = Progress(process)

    process.now, process.used = patience.MOST_SECONDS + 1, 500.0

    assert not progress.goes_on()


def test_a_process_that_has_ended_does_not_go_on():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    progress = Progress(child)
    before = progress.goes_on()

    child.stdin.close()
    child.wait()

    assert (before, progress.goes_on(), processor_seconds(child.pid)) == (True, False, 0.0)


def test_what_is_waited_for_is_not_reported_after_its_end(impatient, reported):
    with waiting_aloud("it"):
        pass

    assert reported[0] == []
