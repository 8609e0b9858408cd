"""What a person sees on a terminal."""

import pytest
from rich.console import Console

from evenhand.screen import following, show_leaderboard
from evenhand.tables import Leaderboard, Standing

STANDING = Standing("linear_svm/standard/class_weight", 0.9, 0.1, 0.8, 0.95, 0.001, holdout_interval=(0.7, 0.9))


def shown(monkeypatch, width):
    console = Console(width=width, record=True)
    monkeypatch.setattr("evenhand.screen._console", lambda: console)
    show_leaderboard(Leaderboard("storm", "roc_auc", (STANDING,), "a" * 32, 0, 6, 0, ""))
    return console.export_text()


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (120, ["candidate", "folds", "±", "train", "holdout", "95", "%", "fit"]),
        (90, ["candidate", "folds", "±", "holdout", "95", "%", "fit"]),
        (80, ["candidate", "folds", "±", "holdout", "fit"]),
        (66, ["candidate", "folds", "holdout", "fit"]),
    ],
)
def test_a_narrow_terminal_shows_fewer_columns_and_whole_names(monkeypatch, width, headings):
    _, head, line, *_ = shown(monkeypatch, width).splitlines()

    assert head.split() == headings
    assert STANDING.name in line


def test_boxes_that_a_study_does_not_have_are_not_told(capsys, monkeypatch):
    from makers import make_study

    from evenhand.progress import tell

    monkeypatch.setattr("evenhand.screen.Console", lambda **_: Console(force_terminal=False))
    with following(make_study(ensemble={"metric": "roc_auc"})):
        for box in ("plan", "split", "select", "gate"):
            tell(box, 0, 1)
            tell(box, 1, 1)

    assert capsys.readouterr().err.split() == ["splitting", "ensemble"]
