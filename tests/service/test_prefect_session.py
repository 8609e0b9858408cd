"""A Prefect server that was named but is not there is one message, before anything is begun."""

import logging
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import nursery
import pytest
from prefect.events.worker import EventsWorker
from prefect.logging import configuration
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL, temporary_settings

from evenhand.errors import PlaceError
from evenhand.runtime import patience
from evenhand.service import prefect_session
from evenhand.service.prefect_server.at_hand import check_prefect
from evenhand.service.prefect_session import result_of


@pytest.fixture
def dead_port():
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_server_that_does_not_answer_is_named_without_its_password(dead_port):
    address = f"http://ada:secret@127.0.0.1:{dead_port}/api"

    with temporary_settings({PREFECT_API_URL: address}), pytest.raises(PlaceError) as caught:
        check_prefect()

    assert f"'http://127.0.0.1:{dead_port}/api', which PREFECT_API_URL names, does not answer" in str(caught.value)
    assert "unset PREFECT_API_URL" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_no_flow_begins_on_a_server_that_does_not_answer(dead_port):
    begun = []

    with (
        temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{dead_port}/api"}),
        pytest.raises(PlaceError, match="does not answer"),
    ):
        result_of(begun.append, 1)

    assert begun == []


def test_a_named_server_that_is_slow_is_waited_for(monkeypatch, caplog):
    monkeypatch.setattr(patience, "FIRST_SECONDS", 0.01)

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self):
            while "it is waited for" not in caplog.text:  # it answers once that was said
                time.sleep(0.01)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{listening.server_port}/api"
        with temporary_settings({PREFECT_API_URL: address}):
            check_prefect()
        listening.shutdown()

    assert f"Prefect's server '{address}' has not answered for" in caplog.text


def test_without_a_named_server_nothing_is_asked():
    with temporary_settings({PREFECT_API_URL: None}):
        check_prefect()


def test_a_server_that_is_found_after_prefect_was_imported_is_the_one_that_is_asked():
    code = """
from prefect.settings import PREFECT_API_URL
from evenhand.service.prefect_session import heed

PREFECT_API_URL.value()
heed({"PREFECT_API_URL": "http://127.0.0.1:9/api"})
print(PREFECT_API_URL.value())
"""

    done = nursery.ran("-c", code, PREFECT_API_URL="http://127.0.0.1:8/api")

    assert done.stdout == "http://127.0.0.1:9/api\n", done.stderr


def test_what_is_left_is_heard_before_the_server_is_asked_to_end(monkeypatch):
    order = []

    class Server:
        api = "http://127.0.0.1:9/api"

        def leave(self):
            order.append("leave")

    monkeypatch.setattr(prefect_session, "TEMPORARY", Server())
    for worker in (APILogWorker, EventsWorker):
        monkeypatch.setattr(worker, "drain_all", lambda timeout, name=worker.__name__: order.append(name))

    prefect_session.leave()

    assert order == ["APILogWorker", "EventsWorker", "leave"]


def test_a_server_that_stays_is_not_left(monkeypatch):
    monkeypatch.setattr(APILogWorker, "drain_all", lambda timeout: pytest.fail("its log goes on"))
    monkeypatch.setattr(prefect_session, "TEMPORARY", SimpleNamespace(api=""))

    prefect_session.leave()


def test_what_is_asked_of_prefects_logs_after_its_import_is_heeded_and_read_once(monkeypatch):
    n_read = []
    setup = configuration.setup_logging
    monkeypatch.setattr(configuration, "setup_logging", lambda: (n_read.append(1), setup()))
    levels = []

    for level in ("CRITICAL", "CRITICAL", "ERROR"):
        monkeypatch.setenv("PREFECT_LOGGING_LOGGERS_PREFECT_LEVEL", level)
        prefect_session.leave_failures_to_the_caller()
        levels.append(logging.getLevelName(logging.getLogger("prefect").level))

    assert levels == ["CRITICAL", "CRITICAL", "ERROR"]
    assert len(n_read) == 2
    monkeypatch.undo()
    prefect_session.leave_failures_to_the_caller()
