"""The line that moves while a command has nothing to say yet."""

import io
import os
import re
import subprocess
import time
from types import SimpleNamespace

import pytest

from evenhand.reporting.terminal import waiting as module
from evenhand.reporting.terminal.waiting import waiting, waiting_reports
from evenhand.runtime.progress import Passing


class Terminal(io.StringIO):
    """What is written to a terminal, which answers that it is one."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.01)
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=Terminal()))
    monkeypatch.setenv("TERM", "xterm")
    return module.sys.stderr


def until(is_true):
    end = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_it_moves_and_leaves_the_line_empty(terminal):
    with waiting("comparing"):
        until(lambda: len(set(re.findall(r"(.) comparing \d s\r", terminal.getvalue()))) > 2)

    assert terminal.getvalue().endswith("\r" + " " * len("- comparing 0 s") + "\r")


def test_it_goes_when_the_work_fails(terminal):
    def fail():
        with waiting("comparing"):
            until(lambda: "comparing" in terminal.getvalue())
            raise ValueError("no such run")

    with pytest.raises(ValueError, match="no such run"):
        fail()

    shown = terminal.getvalue()
    assert shown.endswith(" \r")
    time.sleep(0.05)
    assert terminal.getvalue() == shown


def test_what_is_done_at_once_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(module, "FIRST_SECONDS", 60)

    with waiting("comparing"):
        pass

    assert terminal.getvalue() == ""


def test_in_memory_nothing_is_shown(terminal, monkeypatch):
    monkeypatch.setattr(module, "FIRST_LOG_SECONDS", 0.01)
    module.sys.stderr = io.StringIO()

    with waiting("comparing"):
        time.sleep(0.05)

    assert module.sys.stderr.getvalue() == ""


@pytest.mark.parametrize("kind", ["file", "dumb"])
def test_in_a_log_it_is_a_line_now_and_then(terminal, monkeypatch, tmp_path, kind):
    monkeypatch.setattr(module, "FIRST_LOG_SECONDS", 0.01)
    monkeypatch.setattr(module, "LOG_SECONDS", 0.01)
    with (tmp_path / "log").open("w+") as log:
        if kind == "file":
            module.sys.stderr = log
        else:
            monkeypatch.setenv("TERM", "dumb")
            monkeypatch.setattr(terminal, "fileno", log.fileno, raising=False)

        def shown():
            return (tmp_path / "log").read_text() if kind == "file" else terminal.getvalue()

        with waiting("comparing"):
            until(lambda: shown().count("\n") > 1)

    assert set(re.sub(r"\d+ s", "n s", shown()).splitlines()) == {"comparing, n s ..."}


def test_what_serves_logs_nothing_while_it_is_idle(terminal, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "FIRST_LOG_SECONDS", 0.01)
    with (tmp_path / "log").open("w+") as log:
        module.sys.stderr = log
        with waiting_reports(lambda line: None, idle="up") as report:
            report("all is up")
            shown = (tmp_path / "log").read_text()
            time.sleep(0.05)

    assert (tmp_path / "log").read_text() == shown


def test_between_lines_it_moves_after_one_that_ends_in_dots_and_before_the_first(terminal):
    lines = []

    with waiting_reports(lines.append) as report:
        until(lambda: "loading 0 s" in terminal.getvalue())
        report("starting Prefect ...")
        until(lambda: "starting Prefect 0 s" in terminal.getvalue())
        report("prefect up")
        shown = terminal.getvalue()
        time.sleep(0.05)
        assert terminal.getvalue() == shown

    assert lines == ["starting Prefect ...", "prefect up"]
    assert shown.endswith(" \r")


def test_what_a_study_is_at_moves_until_it_has_ended_and_no_line_of_it_stays(terminal):
    lines = []

    with waiting_reports(lines.append, idle="up") as report:
        report("all is up")
        until(lambda: " up 0 s\r" in terminal.getvalue())
        report(Passing("churn", os.getpid(), "fitting 3 of 40"))
        until(lambda: " churn: fitting 3 of 40 0 s\r" in terminal.getvalue())
        report(Passing("churn", os.getpid(), ""))
        terminal.truncate(0)
        until(lambda: re.search(r" up \d s +\r", terminal.getvalue()))

    assert lines == ["all is up"]


def test_a_study_whose_process_was_killed_is_not_shown_as_under_way(terminal):
    gone = subprocess.Popen(["true"])
    gone.wait()

    with waiting_reports(lambda line: None, idle="up") as report:
        report(Passing("churn", gone.pid, "fitting 3 of 40"))
        report("all is up")
        until(lambda: " up 0 s\r" in terminal.getvalue())

    assert "churn" not in terminal.getvalue()


@pytest.mark.parametrize(("every", "shown"), [(0.0, ["churn: fitting 0 of 40", "churn: fitting 1 of 40"]), (60.0, [])])
def test_off_a_terminal_what_a_study_is_at_is_a_line_now_and_then_if_it_takes_long(terminal, monkeypatch, every, shown):
    monkeypatch.setattr(module, "LOG_SECONDS", every)
    module.sys.stderr = io.StringIO()
    lines = []

    with waiting_reports(lines.append, idle="up") as report:
        for words in ("fitting 0 of 40", "fitting 1 of 40", ""):
            report(Passing("churn", os.getpid(), words))

    assert lines == shown
