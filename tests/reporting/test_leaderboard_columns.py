"""A column that is added once stands in the terminal, for earlier runs and on the page."""

import re
from dataclasses import replace

import pytest
from page_makers import binary
from rich.console import Console

from evenhand.records.leaderboard import Leaderboard, LeaderboardRow
from evenhand.records.verdicts import Expected
from evenhand.reporting import leaderboard_columns
from evenhand.reporting.html.leaderboard import head, leaderboard
from evenhand.reporting.leaderboard_columns import ColumnEntry
from evenhand.reporting.terminal import run

MEMORY = ColumnEntry(
    name="memory",
    value=lambda line: line.measured.get("peak_mb"),
    text=lambda line: f"{line.measured['peak_mb']:.0f} MB",
    heading="memory",
    width=10,
    cell=lambda line: f"{line.measured['peak_mb']:.0f} megabytes",
    title="Memory",
    is_minor=True,
)


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setattr(leaderboard_columns, "ENTRIES", (*leaderboard_columns.ENTRIES, MEMORY))


def test_an_added_column_stands_in_the_terminal_and_is_measured_by_the_name_of_mlflow(added, monkeypatch, capsys):
    standing = LeaderboardRow("svm", 0.9, 0.01, 0.88, 0.95, measured={"fit_seconds": 1.5, "peak_mb": 12.0})
    board = Leaderboard("tiny", "f1", (standing,), "r", 0, 1, 0, "")
    monkeypatch.setattr(run, "_console", lambda: Console(width=120))

    run.show_leaderboard(board)

    shown = capsys.readouterr().out
    assert re.search(r"folds\s+±\s+train\s+holdout\s+95 %\s+fit\s+memory", shown)
    assert "12 MB" in shown


def test_an_added_column_stands_on_the_page_and_rows_are_sorted_by_it(added):
    content = binary()

    page = str(leaderboard(content))

    assert re.search(r'<th[^>]*data-sort="memory"[^>]*>Memory</th>', page)
    assert 'data-memory="' in page
    assert "megabytes" in page


@pytest.mark.parametrize(
    ("whose", "because", "of"),
    [
        ("ensemble", "it is the best ensemble and not shown to be worse", "ensemble"),
        ("", "it is the simplest", "the best"),
    ],
)
def test_why_another_than_the_leader_is_kept_and_whose_figure_is_expected(whose, because, of):
    content = binary()
    first, second, *rest = content.leaderboard
    rows = (first, replace(second, name="ensemble", group=True), *rest)
    expected = Expected("roc_auc", 0.9, 0.85, 0.95, candidate=whose)

    page = str(head(replace(content, leaderboard=rows, served="ensemble", expected=expected)))

    assert f"because {because}" in page
    assert f" of {of} is expected to be " in page
