"""Pictures of candidates as files: whole SVG, whatever names stand in them, and the same curves as the metrics."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from makers import make_table
from sklearn.metrics import average_precision_score, roc_auc_score

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.reporting.figures.run_figures import overlay
from evenhand.reporting.html import overview_pictures
from evenhand.reporting.html.pictures import pictures_of

HOSTILE = "<b>&'\"]]>"


def candidate(n_classes=2, name="knn", n=60, scores=None, truth=None):
    draw = np.random.default_rng(0)
    truth = np.arange(n) % max(n_classes, 2) if truth is None else truth
    if n_classes == 2 and scores is None:
        scores = np.clip(draw.normal(0.3 + 0.3 * truth, 0.2), 0, 1)
    elif n_classes > 2 and scores is None:
        scores = draw.dirichlet(np.ones(n_classes), n) + 0.4 * np.eye(n_classes)[truth]
    predicted = truth[::-1] if scores is None or scores.ndim == 1 else scores.argmax(axis=1)
    fold = np.array([f"fold_{k % 3}" for k in range(n)], dtype=object)
    return CandidatePredictions(name, fold, np.arange(n), truth, predicted, scores, n_classes == 2)


def table_of(tmp_path, n_classes):
    y = np.arange(60) % n_classes if n_classes else np.linspace(0, 1, 60)
    return make_table(tmp_path, {"x": np.arange(60.0)}, y)


def words_in(picture):
    return [each.text for each in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("n_classes", [2, 3, 25])
def test_every_picture_is_whole_xml_whatever_a_candidate_is_called(tmp_path, n_classes):
    found = dict(pictures_of(candidate(n_classes, HOSTILE), table_of(tmp_path, n_classes)))

    assert {"roc.svg", "precision_recall.svg", "confusion.svg"} <= set(found)
    for picture in found.values():
        assert any(HOSTILE in words for words in words_in(picture))
        assert len(picture) < 80_000


def test_the_areas_shown_are_those_of_scikit_learn(tmp_path):
    each = candidate(3)
    found = dict(pictures_of(each, table_of(tmp_path, 3)))

    roc = words_in(found["roc.svg"])
    steps = words_in(found["precision_recall.svg"])

    areas = [roc_auc_score(each.truth == k, each.scores[:, k]) for k in range(3)]
    averages = [average_precision_score(each.truth == k, each.scores[:, k]) for k in range(3)]
    for shown, expected in ((roc, areas), (steps, averages)):
        keys = [words.rpartition(" ") for words in shown if re.match(r"mean over|[012] ", words)]
        assert [name for name, _, _ in keys] == ["mean over classes", "0", "1", "2"]
        assert [float(area) for _, _, area in keys] == pytest.approx([np.mean(expected), *expected], abs=6e-4)


def test_the_confusion_holds_the_counts(tmp_path):
    truth = np.array([0, 0, 0, 1] * 15)

    shown = words_in(dict(pictures_of(candidate(truth=truth), table_of(tmp_path, 2)))["confusion.svg"])

    # predicted is truth turned round, 0 0 0 1 against 1 0 0 0 in each four: 2 of 0 as 0, 1 of 0 as 1, 1 of 1 as 0
    assert [words for words in shown if words in {"30", "15", "0"}][:4] == ["30", "15", "15", "0"]


def test_a_candidate_without_scores_has_its_confusion_alone(tmp_path):
    votes = candidate(3)
    votes = CandidatePredictions(votes.name, votes.fold, votes.row, votes.truth, votes.predicted, None, False)

    assert set(dict(pictures_of(votes, table_of(tmp_path, 3)))) == {"confusion.svg"}


def test_a_class_that_no_judged_row_is_of_is_left_out_of_the_mean():
    each = candidate(3)
    missing = candidate(3, truth=np.where(each.truth == 2, 1, each.truth), scores=each.scores)

    assert [one.name for one in missing.by_class(["a", "b", "c"])] == ["a", "b"]


def test_numbers_have_their_pictures(tmp_path):
    numbers = candidate(0, truth=np.linspace(0, 1, 60))

    assert {"predicted_against_actual.svg", "residuals.svg"} <= set(dict(pictures_of(numbers, table_of(tmp_path, 0))))


def test_the_overlay_is_there_for_several_classes_and_not_for_numbers():
    assert overlay([candidate(3)], ["a", "b", "c"]) is not None
    assert overlay([candidate(0, truth=np.linspace(0, 1, 60))], []) is None
    assert overview_pictures.overlay([candidate(0, truth=np.linspace(0, 1, 60))], []) is None


def test_the_curves_of_all_name_each_candidate_with_its_two_areas():
    each = candidate(2, HOSTILE)

    shown = words_in(overview_pictures.overlay([each, candidate(2, "knn")], ["a", "b"]))

    areas = roc_auc_score(each.truth, each.scores), average_precision_score(each.truth, each.scores)
    assert f"{HOSTILE}   {areas[0]:.3f}, {areas[1]:.3f}" in shown
    assert {"False positive rate", "Recall"} <= set(shown)


def test_of_more_candidates_than_colours_the_others_are_counted():
    many = [candidate(2, f"knn {place}") for place in range(30)]

    shown = words_in(overview_pictures.overlay(many, ["a", "b"]))

    assert "21 more candidates" in shown  # 8 colours and the grey of the rest


def board(n, metric="f1"):
    """A judgement of candidates, each worse than the one before by a hundredth; the second has no holdout."""
    figures = [
        SimpleNamespace(
            plan=SimpleNamespace(name=HOSTILE if place == 0 else f"knn {place}"),
            folds={metric: (0.9 - place / 100, 0.92 - place / 100)},
            holdout={} if place == 1 else {metric: 0.9},
            mean=lambda _, place=place: 0.91 - place / 100,
        )
        for place in range(n)
    ]
    return SimpleNamespace(metric=metric, figures=figures, group=(HOSTILE, "knn 1"))


def test_the_leaderboard_shows_thirty_candidates_with_mean_and_folds_and_counts_the_rest():
    picture = overview_pictures.leaderboard(board(42))

    shown, marks = words_in(picture), ElementTree.fromstring(picture)
    assert {HOSTILE, "knn 29", "0.910", "0.620"} <= set(shown)  # .91 less 29 hundredths
    assert "knn 30" not in shown
    assert any("12 more not shown" in words for words in shown)
    assert picture.count('class="held"') == 29
    assert len(list(marks.iter("{http://www.w3.org/2000/svg}circle"))) == 60


def test_the_leaderboard_has_the_colour_of_the_best_on_all_that_are_not_worse():
    rows = ElementTree.fromstring(overview_pictures.leaderboard(board(3))).findall("{http://www.w3.org/2000/svg}g")

    assert [row.get("class") for row in rows] == ["s1", "s1", "s0"]
