"""Several labels a row from Python: what a run, its champion, its comparison and its watch say of them."""

import numpy as np
import pandas as pd
import pytest
from makers import room_of_its_own
from sklearn.metrics import roc_auc_score

import evenhand as eh

LABELS = ["rain", "wind", "snow"]


def weather(n, seed=0):
    """Three labels, each hanging on a column of its own; the last is written in words. More rows begin with fewer."""
    draw = np.random.default_rng(seed)
    X, noise = np.split(draw.normal(size=(n, 6)), 2, axis=1)
    Y = X + noise / 2 > [0.0, -0.3, 0.8]
    frame = pd.DataFrame(X, columns=["cloud", "press", "cold"]).assign(
        **dict(zip(LABELS, Y.T.astype(int), strict=True))
    )
    return frame.assign(snow=np.where(Y[:, 2], "yes", "no"), coast=np.where(X[:, 0] * X[:, 1] > 0, "east", "west"))


def study_of(frame):
    """A study of the labels whose gate decides who is champion."""
    return eh.Study(
        name="weather", source=frame, target=LABELS, candidates=["gaussian_nb", "logistic"], metric="roc_auc_macro",
        gate={}, split={"folds": 3},
    )  # fmt: skip


@pytest.fixture(scope="module")
def room(tmp_path_factory, empty_database, prefect_server):
    """Two runs: the second has rows that came since."""
    with room_of_its_own(tmp_path_factory.mktemp("labels"), empty_database) as folder:
        yield folder, *(eh.run(study_of(weather(n))) for n in (240, 720))


@pytest.fixture
def runs(room, monkeypatch):
    monkeypatch.chdir(room[0])
    monkeypatch.setenv("EVENHAND_HOME", str(room[0] / "home"))
    return room[1:]


def test_scores_of_new_rows_are_those_of_the_model_a_label(runs):
    rows = weather(50, seed=1)

    scored = eh.score(runs[0].model(), rows)

    expected = runs[0].model().predict_proba(rows.drop(columns=LABELS))
    assert scored[[f"score:{name}" for name in LABELS]].to_numpy() == pytest.approx(expected)
    assert roc_auc_score(rows[["rain", "wind"]], expected[:, :2], average="macro") > 0.8


def test_the_gate_keeps_the_first_champion_and_says_how_the_next_compares(runs):
    champion = eh.champion("weather")

    assert champion.run_id == runs[0].id
    assert champion.history["run_id"].tolist()[0] == runs[0].id


def test_runs_over_other_rows_are_compared_on_those_that_neither_was_trained_on(runs):
    found = runs[0].compare(runs[1], rescore=True)

    gap = found.table.set_index("metric").loc["roc_auc_macro"]
    assert gap["where"] == "holdout"
    assert gap["low"] <= gap["better_by"] <= gap["high"]


def test_a_shift_of_one_label_is_drift_of_that_label(runs):
    new = weather(2_000, seed=2)

    same, moved = (eh.watch(study_of(weather(240)), rows) for rows in (new, new[new.snow == "yes"]))

    assert same.state != "drift"
    assert {each.column for each in same.shifts if each.measure == "prior"} == {"rain=1", "wind=1", "snow=1"}
    assert {each.column for each in moved.drifted if each.measure == "prior"} == {"snow=1"}
    assert not [words for words in moved.notes if "target" in words]


def test_rows_without_labels_are_watched_and_what_is_unknown_is_named(runs):
    found = eh.watch(study_of(weather(240)), weather(500, seed=3).drop(columns=["wind"]))

    assert [words for words in found.notes if "unknown" in words] == [
        "the new rows have no 'wind', so a shift of the target is unknown"
    ]
