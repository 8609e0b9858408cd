"""How far a tick is reaches who watches `evenhand up`."""

import os

import pytest

from evenhand.runtime.progress import Passing, report_progress
from evenhand.service.tick_progress import MARK, followed, reported


@pytest.fixture
def under_up(monkeypatch):
    monkeypatch.setenv(MARK, "here")


def test_what_a_tick_is_at_is_read_where_its_output_is_followed(under_up, capsys):
    with reported("churn"):
        report_progress("fit", 3, 40)

    at_work, over = map(followed, capsys.readouterr().out.splitlines())
    assert (at_work, at_work.study, at_work.process) == ("churn: fitting 3 of 40", "churn", os.getpid())
    assert (over, over.study) == ("", "churn")


def test_each_stage_is_reported_when_it_begins_and_its_parts_now_and_then(under_up, capsys, monkeypatch):
    monkeypatch.setattr("evenhand.service.tick_progress.EVERY_SECONDS", 60)

    with reported("churn"):
        for box in ("prepare", "fit"):
            for n_done in range(4):
                report_progress(box, n_done, 40)

    lines = [followed(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["churn: encoding 0 of 40", "churn: fitting 0 of 40", ""]


def test_elsewhere_nothing_is_written(monkeypatch, capsys):
    monkeypatch.delenv(MARK, raising=False)

    with reported("churn"):
        report_progress("fit", 3, 40)

    assert capsys.readouterr().out == ""


def test_other_lines_are_followed_as_they_are():
    assert followed("churn: retrained") == "churn: retrained"
    assert not isinstance(followed("churn: retrained"), Passing)
