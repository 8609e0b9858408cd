"""MLflow's pages come up where they are said to, and nothing is left running; pages of runs are found."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from makers import started_long_ago

from evenhand.cli.main import main
from evenhand.errors import PlaceError
from evenhand.runtime import patience
from evenhand.service.servers import answers, check_free, free_port, has_display, serve_child
from evenhand.tracking import mlflow_client
from evenhand.tracking.locations import find_page, find_view
from evenhand.tracking.ui.addresses import runs_table


@pytest.fixture
def storm(mlruns):
    """A finished run of the study `storm` with one candidate and a page."""
    place = mlflow_client.open_experiment("storm")
    run_id = mlflow_client.start_run(place, "storm", {"evenhand.kind": "run"})
    child = mlflow_client.start_run(place, "knn", {"evenhand.kind": "candidate"}, parent=run_id)
    mlflow_client.log_text(place, run_id, "<html>the page</html>", "report.html")
    for each in (child, run_id):
        mlflow_client.end_run(place, each)
    return place, run_id, child


@pytest.fixture
def taken_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def opened_by(address):
    """The status of a page that a browser without a session gets by a link."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    try:
        with browser.open(address, timeout=3000) as page:
            return page.status
    except urllib.error.HTTPError as refused:
        return refused.code


def test_a_free_port_is_taken_without_a_word():
    assert check_free(free_port()) is None


def test_a_taken_port_is_reported_with_another(taken_port):
    with pytest.raises(PlaceError, match=rf"port {taken_port} is taken .* say --port \d+"):
        check_free(taken_port)


def test_the_command_ends_with_2_where_the_port_is_taken(taken_port):
    done = CliRunner().invoke(main, ["ui", "--port", str(taken_port)])

    assert done.exit_code == 2
    assert f"port {taken_port} is taken" in done.output


def test_pages_kept_by_a_server_are_its_own(storm, monkeypatch):
    monkeypatch.setattr(mlflow_client, "tracking_uri", lambda: "http://runs.example/")
    monkeypatch.setattr(
        mlflow_client, "open_store", lambda: mlflow_client.Place(f"sqlite:///{Path('mlruns/mlflow.db').absolute()}")
    )

    done = CliRunner().invoke(main, ["ui", "--port", str(free_port())])

    assert done.exit_code == 0
    assert "http://runs.example/#/experiments/1/runs?workflowType=machine_learning" in done.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_pages_answer_at_the_address_reported_and_all_processes_end_with_the_command(storm, number):
    port = free_port()
    command = [sys.executable, "-m", "evenhand", "ui", "--port", str(port)]
    served = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ)
    )

    try:
        line = next((line for line in served.stdout if line.startswith("open ")), "")
        address = re.search(r"http\S+", line)[0]
        status = opened_by(address.partition("#")[0])
        again = opened_by(address.partition("#")[0])
        family = psutil.Process(served.pid).children(recursive=True)
        served.send_signal(number)
        code = served.wait(timeout=300)
    finally:
        served.kill()

    view = f"#/experiments/{storm[0].experiment_id}/runs?workflowType=machine_learning"
    assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/enter\?once=[\w-]{{22}}{re.escape(view)}", address)
    assert (status, again) == (200, 401)
    assert code == 0
    assert len(family) > 0
    assert [process for process in family if process.is_running() and process.status() != psutil.STATUS_ZOMBIE] == []


def test_a_server_that_cannot_start_is_reported_by_its_last_words(monkeypatch):
    from evenhand.service.servers import serve_runs

    with pytest.raises(PlaceError, match="ended by itself"):
        serve_runs("nonsense://", free_port(), lambda address, link: None)


SLOW = """
import socket, sys
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
waits = [listening.accept() for _ in range(3)]  # as on a busy machine, where they are given up
met, _ = listening.accept()
met.recv(65536)
met.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\ntrue")
sys.stdin.read()
"""


def test_pages_that_are_slow_to_answer_are_waited_for(monkeypatch):
    monkeypatch.setattr(patience, "ASKED_SECONDS", 0.1)
    port, ends, opened = free_port(), threading.Event(), []

    def ready(address, link):
        opened.append(address)
        ends.set()

    serve_child([sys.executable, "-c", SLOW, str(port)], {}, port, ready, ends, name="MLflow")

    assert opened == [f"http://127.0.0.1:{port}"]


def test_pages_that_stand_still_are_reported(monkeypatch):
    monkeypatch.setattr(patience, "STILL_SECONDS", 0.2)
    command = [sys.executable, "-c", "input()"]

    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as still,
        pytest.raises(PlaceError, match=r"MLflow's server at http://127\.0\.0\.1:9/health neither answers nor works"),
    ):
        answers("http://127.0.0.1:9/health", still, threading.Event())


def test_the_view_of_no_study_is_the_list_of_all(mlruns):
    view = find_view()
    uri, path, study = view.uri, view.runs, view.study

    assert uri.endswith("mlruns/mlflow.db")
    assert (path, study) == ("/#/experiments?workflowType=machine_learning", "")


def test_the_view_is_of_the_study_that_ran_last(storm):
    started_long_ago(storm[1])
    later = mlflow_client.open_experiment("calm")
    mlflow_client.end_run(later, mlflow_client.start_run(later, "calm", {"evenhand.kind": "run"}))

    assert (find_view().runs, find_view().study) == (runs_table(later), "calm")


@pytest.mark.parametrize("asked", ["nothing", "study", "run", "candidate"])
def test_a_page_is_found_by_study_run_or_candidate(storm, asked):
    _, run_id, child = storm

    page = find_page({"nothing": None, "study": "storm", "run": run_id, "candidate": child}[asked])

    assert page == Path(os.environ["EVENHAND_HOME"]) / "reports" / "storm" / run_id / "report.html"
    assert page.read_text() == "<html>the page</html>"


def test_the_page_that_was_kept_goes_before_the_artifact(storm):
    kept = Path(os.environ["EVENHAND_HOME"]) / "reports" / "storm" / storm[1] / "report.html"
    kept.parent.mkdir(parents=True)
    kept.write_text("kept")

    assert find_page("storm").read_text() == "kept"


def test_a_run_without_a_page_is_reported_and_leaves_no_folder(mlruns):
    place = mlflow_client.open_experiment("bare")
    run_id = mlflow_client.start_run(place, "bare", {"evenhand.kind": "run"})
    mlflow_client.end_run(place, run_id)

    with pytest.raises(PlaceError, match=f"run {run_id} of 'bare' has no page"):
        find_page("bare")
    assert not (Path(os.environ["EVENHAND_HOME"]) / "reports" / "bare" / run_id).exists()


@pytest.mark.parametrize(
    "name, words", [("strom", "Did you mean 'storm'"), ("zzz", "There are 'storm'"), ("0" * 32, "there is no run")]
)
def test_a_name_that_is_not_there_is_reported_with_what_is(storm, name, words):
    with pytest.raises(PlaceError, match=words):
        find_page(name)


def test_without_any_run_the_first_command_is_named(mlruns):
    with pytest.raises(PlaceError, match=r"evenhand demo"):
        find_page(None)


def test_the_command_prints_the_path_and_opens_nothing_where_nothing_is_seen(storm, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    done = CliRunner().invoke(main, ["report", "storm"])

    assert done.output.strip().endswith(f"{storm[1]}/report.html")
    assert opened == []


def test_the_page_opens_in_a_browser_unless_only_its_path_is_asked_for(storm, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")

    CliRunner().invoke(main, ["report", "storm", "--print-path"])
    silent = list(opened)
    CliRunner().invoke(main, ["report", "storm"])

    assert has_display()
    assert silent == []
    assert [address.endswith("report.html") for address in opened] == [True]
