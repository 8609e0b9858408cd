"""Which server a flow uses: a temporary one of this process, or the one that is kept up here."""

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import psutil
import pytest
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

from evenhand.errors import PlaceError
from evenhand.service.access_key import key
from evenhand.service.prefect_server import temporary as temporary_server
from evenhand.service.prefect_server.at_hand import is_temporary, kept_up, server_at_hand
from evenhand.service.prefect_server.temporary import TemporaryServer
from evenhand.service.supervisor import place
from evenhand.storage.locks import alone


@pytest.fixture
def server():
    """A server that is ended with the test."""
    found = TemporaryServer()
    yield found
    found.end()


@pytest.fixture
def kept(tmp_path):
    """A server that answers, written down as the one that `evenhand up` keeps up."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            return

    with HTTPServer(("127.0.0.1", 0), Answering) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        place().mkdir(parents=True)
        facts = {"prefect": listening.server_port, "mlflow": 1}
        (place() / "state.json").write_text(json.dumps(facts), encoding="utf-8")
        yield f"http://127.0.0.1:{listening.server_port}/api"
        listening.shutdown()


def test_a_server_has_its_address_at_once_answers_and_ends_with_its_process(server, tmp_path, monkeypatch):
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    with temporary_settings({PREFECT_API_URL: None}):
        server.begin()
        begun = server.api
        (child,) = [each for each in psutil.Process().children() if temporary_server.__name__ in each.cmdline()]

        assert server.answered() == begun

    with urllib.request.urlopen(f"{begun}/health", timeout=10) as answer:
        assert answer.status == 200
    server.end()
    assert not child.is_running()
    assert server.api == ""


def test_a_server_that_ends_by_itself_is_reported(server, monkeypatch):
    monkeypatch.setattr(temporary_server, "TEMPORARY_SERVER", "evenhand.no_such_module")

    with pytest.raises(PlaceError, match=r"temporary server did not start: .*Look at what it wrote"):
        server.answered()


def test_the_server_of_evenhand_up_is_used_with_its_key(kept):
    with temporary_settings({PREFECT_API_URL: None}), alone(place() / "lock", "up"), server_at_hand():
        assert (PREFECT_API_URL.value(), PREFECT_API_AUTH_STRING.value()) == (kept, key())
        assert not is_temporary()


def test_what_an_evenhand_up_that_has_ended_wrote_down_counts_for_nothing(kept):
    assert kept_up() is None
