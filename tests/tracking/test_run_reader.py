"""Files of runs: read where they lie, or from a copy that does not outlive the process."""

import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded.run_reader import artifact

PATH = "/api/2.0/mlflow-artifacts/artifacts"


class Keeper(BaseHTTPRequestHandler):
    """Keeps one file of any run, as MLflow's server does."""

    def do_GET(self):
        told = b'{"files": []}' if "?" in self.path or self.path == PATH else b"told"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_):
        """No line for each request."""


@pytest.fixture
def elsewhere():
    """The address of a server that keeps files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Keeper)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{PATH}/1"
    server.shutdown()
    server.server_close()


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Where this test's temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    run_reader._room_for_copies.cache_clear()
    yield tmp_path / "own"
    run_reader._room_for_copies.cache_clear()


def test_a_file_on_this_machine_is_read_where_it_lies(mlruns, own_folder):
    place = mlflow_client.open_experiment("tiny")
    run_id = mlflow_client.start_run(place, "a", {})
    mlflow_client.log_text(place, run_id, "told", "told.txt")

    file = artifact(place, run_id, "told.txt")

    assert file.read_text(encoding="utf-8") == "told"
    assert file.is_relative_to(Path(place.artifacts.removeprefix("file://")))
    assert list(own_folder.iterdir()) == []


def test_a_file_from_elsewhere_is_a_copy_that_goes_with_the_process(mlruns, own_folder, elsewhere):
    place = mlflow_client.open_store()
    here = mlflow_client.Place(place.uri, place.client().create_experiment("far", elsewhere))
    run_id = mlflow_client.start_run(here, "a", {})

    file = artifact(here, run_id, "told.txt")

    assert file.read_text(encoding="utf-8") == "told"
    (room,) = own_folder.iterdir()
    assert file.is_relative_to(room)
    run_reader._room_for_copies().cleanup()
    assert list(own_folder.iterdir()) == []
