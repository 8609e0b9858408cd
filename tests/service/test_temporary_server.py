"""Which server a flow uses: a temporary one of this process, or the one that is kept up here."""

import json
import logging
import shutil
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import nursery
import psutil
import pytest
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_SERVER_DATABASE_CONNECTION_URL,
    temporary_settings,
)
from prefect_asked import posted

from evenhand.errors import ConfError, PlaceError
from evenhand.runtime import patience
from evenhand.service.access_key import key
from evenhand.service.prefect_server import temporary as temporary_server
from evenhand.service.prefect_server.at_hand import is_temporary, kept_up, server_at_hand
from evenhand.service.prefect_server.retention import DAYS
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


@pytest.fixture
def own_home(tmp_path, empty_prefect):
    """A home of Prefect with a database that has no runs."""
    (tmp_path / "prefect").mkdir()
    shutil.copy(empty_prefect, tmp_path / "prefect" / "evenhand.db")
    return tmp_path / "prefect"


def test_a_server_has_its_address_at_once_answers_and_ends_with_its_process(server, tmp_path):
    with temporary_settings({PREFECT_API_URL: None, PREFECT_HOME: tmp_path / "prefect"}):  # with no database yet
        server.begin()
        begun = server.api
        (child,) = [each for each in psutil.Process().children() if temporary_server.__name__ in each.cmdline()]

        assert server.answered() == begun

    with urllib.request.urlopen(f"{begun}/health", timeout=300) as answer:
        assert answer.status == 200
    server.end()
    assert not child.is_running()
    assert server.api == ""


@pytest.mark.slow
def test_what_ended_longer_ago_than_was_asked_for_is_removed_by_the_next_server(own_home, monkeypatch):
    monkeypatch.setenv(DAYS, "30")
    own = {PREFECT_SERVER_DATABASE_CONNECTION_URL}  # else that of a server which other tests share
    with temporary_settings({PREFECT_API_URL: None, PREFECT_HOME: own_home}, restore_defaults=own):
        with ended_after(TemporaryServer()) as api:
            for name in ("old", "recent"):
                posted(f"{api}/flow_runs/", {"name": name, "flow_id": posted(f"{api}/flows/", {"name": "f"})["id"],
                                            "state": {"type": "COMPLETED"}})  # fmt: skip
        with closing(sqlite3.connect(own_home / "evenhand.db")) as database:
            for name, days in (("old", 31), ("recent", 29)):
                ended = f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{days} days')"
                database.execute(f"update flow_run set end_time = {ended} where name = ?", [name])
            database.commit()

        with ended_after(TemporaryServer()) as api:
            left = names_once(lambda names: len(names) < 2, api)

    assert left == ["recent"]


@contextmanager
def ended_after(server):
    """The address of a server that is ended with the block."""
    try:
        yield server.answered()
    finally:
        server.end()


def names_once(is_so, api):
    """The names of the runs that a server knows, once something is so of them, or after a while."""
    for _ in range(1500):
        names = [run["name"] for run in posted(f"{api}/flow_runs/filter", {})]
        if is_so(names):
            break
        time.sleep(0.2)
    return names


def test_records_stay_in_a_database_that_settings_name(monkeypatch):
    named = "sqlite+aiosqlite:///elsewhere.db"
    monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", named)
    program = (
        "from prefect.settings import get_current_settings\n"
        "from evenhand.service.prefect_server.temporary import own_database\n"
        "own_database()\n"
        "server = get_current_settings().server\n"
        "print(server.database.connection_url.get_secret_value(), server.services.db_vacuum.enabled_vacuum_types)\n"
    )

    done = nursery.ran("-c", program)

    assert done.stdout.split() == [named, "{'events'}"], done.stderr


def test_a_number_of_days_that_is_none_is_refused_before_a_server_is_started(server, monkeypatch):
    monkeypatch.setenv(DAYS, "soon")

    with pytest.raises(ConfError, match=f"{DAYS}=soon is no number of days"):
        server.begin()
    assert server.api == ""


@pytest.mark.slow
def test_a_server_that_is_killed_is_started_again_at_its_address(server, own_home, monkeypatch, caplog):
    monkeypatch.setattr(temporary_server, "MOST_RESTARTS", 1)
    with temporary_settings({PREFECT_API_URL: None, PREFECT_HOME: own_home}):
        api = server.answered()
        (child,) = [each for each in psutil.Process().children() if temporary_server.__name__ in each.cmdline()]
        child.kill()

        with urllib.request.urlopen(f"{api}/health", timeout=300) as answer:  # it waits in line for the next one
            assert answer.status == 200
        assert server.api == api
        assert "temporary server ended (code -9): started again" in caplog.text
        (child,) = [each for each in psutil.Process().children() if temporary_server.__name__ in each.cmdline()]
        child.kill()
        with pytest.raises(OSError, match=r"reset|refused"):
            urllib.request.urlopen(f"{api}/health", timeout=300)


@pytest.mark.slow
def test_a_server_that_was_asked_to_end_stays_ended_and_who_needs_one_gets_another(server, own_home):
    with temporary_settings({PREFECT_API_URL: None, PREFECT_HOME: own_home}):
        first = server.answered()
        (child,) = [each for each in psutil.Process().children() if temporary_server.__name__ in each.cmdline()]
        server.leave()
        psutil.wait_procs([child], timeout=300)
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(f"{first}/health", timeout=300)

        second = server.answered()

        with urllib.request.urlopen(f"{second}/health", timeout=300) as answer:
            assert answer.status == 200
        assert [each for each in psutil.Process().children() if temporary_server.__name__ in each.cmdline()] != [child]


def test_a_server_that_ends_by_itself_is_reported(server, monkeypatch):
    monkeypatch.setattr(temporary_server, "TEMPORARY_SERVER", "evenhand.no_such_module")

    with pytest.raises(PlaceError, match=r"temporary server did not start: .*Look at what it wrote"):
        server.answered()


SLOW = """
import socket, sys
listening = socket.socket(fileno=int(sys.argv[1]))
waits = [listening.accept() for _ in range(int({n_silent}))]
met, _ = listening.accept()
met.recv(65536)
met.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\ntrue")
listening.accept()
"""


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """Has a server of ours leave so many requests without an answer, as one does on a busy machine."""

    def leaves(n_silent):
        (tmp_path / "slow_server.py").write_text(SLOW.format(n_silent=n_silent), encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(temporary_server, "TEMPORARY_SERVER", "slow_server")
        monkeypatch.setattr(patience, "ASKED_SECONDS", 0.1)

    return leaves


def test_a_server_that_is_slow_to_answer_is_waited_for(server, slow):
    slow(n_silent=3)

    assert server.answered() == server.api


def test_a_server_that_lives_and_stands_still_is_reported(server, slow, monkeypatch):
    slow(n_silent=1000)
    monkeypatch.setattr(patience, "STILL_SECONDS", 0.5)

    with pytest.raises(PlaceError, match="it lives, but neither answers nor works on it any more"):
        server.answered()


def test_a_failure_that_the_server_reports_is_one_line(caplog):
    log = logging.getLogger("a server")
    log.addFilter(temporary_server.in_one_line)

    try:
        raise OSError("no room\nfor the database")
    except OSError:
        log.exception("Encountered exception in request:")
    log.error("plain %s", "words")

    assert caplog.messages == ["Encountered exception in request: OSError: no room", "plain words"]
    assert [record.exc_info for record in caplog.records] == [None, None]


def test_the_server_of_evenhand_up_is_used_with_its_key(kept):
    with temporary_settings({PREFECT_API_URL: None}), alone(place() / "lock", "up"), server_at_hand():
        assert (PREFECT_API_URL.value(), PREFECT_API_AUTH_STRING.value()) == (kept, key())
        assert not is_temporary()


def test_what_an_evenhand_up_that_has_ended_wrote_down_counts_for_nothing(kept):
    assert kept_up() is None
