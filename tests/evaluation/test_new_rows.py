"""What a figure over folds says of new rows."""

from dataclasses import replace
from math import hypot

import numpy as np
import pytest
from sklearn.metrics import f1_score

from evenhand.evaluation.influence import influence_of
from evenhand.evaluation.metrics import ranking_figures
from evenhand.evaluation.new_row_limits import bounds_of, of_new_rows
from evenhand.evaluation.new_rows import bias_of_folds, error_of_rare_classes
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.verdicts import Expected
from evenhand.reporting.new_row_words import few_rows_words


def judged(draw, n_folds=5, positives=5, negatives=45, apart=1.0, shift=0.0):
    """Scores of rows in folds with the same number of positives, each fold on a scale of its own."""
    parts = []
    for name in range(n_folds):
        truth = np.repeat([1, 0], [positives, negatives])
        scores = draw.normal(size=len(truth)) + apart * truth + shift * draw.normal()
        parts.append((np.full(len(truth), name), truth, scores))
    fold, truth, scores = map(np.concatenate, zip(*parts, strict=True))
    return CandidatePredictions("a", fold.astype(str), np.arange(len(fold)), truth, truth, scores, False)


def mean_of_folds(found):
    parts = [found.only(found.fold == name) for name in np.unique(found.fold)]
    return float(np.mean([ranking_figures(each.truth == 1, each.ranks)[1] for each in parts]))


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_average_precision_without_the_bias_of_small_folds_is_that_of_many_rows(shift):
    draw = np.random.default_rng(0)
    many = judged(draw, n_folds=1, positives=20_000, negatives=180_000)
    true = ranking_figures(many.truth == 1, many.ranks)[1]

    found = [judged(draw, shift=shift) for _ in range(200)]
    means = np.array([mean_of_folds(each) for each in found])
    biases = [bias_of_folds(each, mean, "average_precision") for each, mean in zip(found, means, strict=True)]

    assert np.mean(means) - true > 0.08
    assert np.mean(means - biases) == pytest.approx(true, abs=0.02)


def test_the_bias_does_not_hang_on_the_scale_of_each_fold():
    found = judged(np.random.default_rng(1))
    other = replace(found, scores=found.scores * 3 + 7 * (found.fold == "2"))

    same = [bias_of_folds(each, mean_of_folds(each), "average_precision") for each in (found, other)]

    assert same[0] == pytest.approx(same[1], abs=0.02)


def test_other_metrics_and_folds_with_other_shares_are_left_as_they_are():
    found = judged(np.random.default_rng(1))
    uneven = found.only(~((found.fold == "2") & (found.truth == 1) & (found.row % 50 > 1)))

    assert bias_of_folds(found, 0.5, "roc_auc") == 0
    assert bias_of_folds(uneven, 0.5, "average_precision") == 0


def test_few_new_rows_have_wider_limits_and_the_bias_of_few_rows():
    stated = Expected("average_precision", 0.4, 0.3, 0.5, row_error=1.0, row_bias=5.0)

    middle, low, high = of_new_rows(stated, 100)

    # .4 + 5 / 100, and both errors: .1 of the expected score, 1.96 / sqrt(100) of the rows
    assert middle == pytest.approx(0.45)
    assert high - middle == pytest.approx(np.hypot(0.1, 0.196))
    assert middle - low == pytest.approx(np.hypot(0.1, 0.196))


def test_limits_stay_where_a_metric_can_lie():
    wide = Expected("average_precision", 0.2, 0.0, 0.6, row_error=9.0)

    assert of_new_rows(wide, 10)[1:] == (0.0, 1.0)
    assert of_new_rows(replace(wide, metric="r2"), 10)[1] < 0
    assert bounds_of("log_loss") == (0.0, np.inf)


def test_limits_for_few_rows_are_said_where_the_draw_of_a_row_is_known():
    stated = Expected("roc_auc", 0.8, 0.75, 0.85, row_error=0.5)

    words = few_rows_words(stated, lambda value: f"{value:.2f}")

    # sqrt(.05^2 + (1.96 * .5 / sqrt(200))^2) = .085
    assert words == "; of 200 new rows 0.71 to 0.89"
    assert few_rows_words(Expected("roc_auc", 0.8, 0.75, 0.85), str) == ""


SHARES = np.array([0.4, 0.35, 0.249, 0.001])


def labelled(draw, n_rows, found=(0.97, 0.95, 0.97, 0.1)):
    """Rows of four classes, one of them hardly there, of which so many are found; the rest is said to be the first."""
    truth = draw.choice(4, size=n_rows, p=SHARES)
    said = np.where(draw.random(n_rows) < np.array(found)[truth], truth, (truth + 1) % 3)
    return CandidatePredictions(
        "a", draw.integers(5, size=n_rows).astype(str), np.arange(n_rows), truth, said, None, False
    )


def scored(found):
    return f1_score(found.truth, found.predicted, average="macro")


def test_a_class_of_hardly_any_rows_has_its_say_in_what_new_rows_may_score():
    draw, known, inside = np.random.default_rng(0), [], []
    while len(known) < 120:
        seen = labelled(draw, 2400)
        if (seen.truth == 3).sum() < 2:
            continue
        parts = [scored(seen.only(seen.fold == name)) for name in "01234"]
        new, error = scored(labelled(draw, 600)), np.std(influence_of(seen.prediction_set, "f1_macro", 4))
        rare = error_of_rare_classes(seen, "f1_macro", 4)
        half = 1.96 * np.std(parts, ddof=1) / 5**0.5
        for allowed, noted in ((0.0, known), (rare, inside)):
            wide = hypot(half, 1.96 * allowed / 2400**0.5)
            stated = Expected("f1_macro", np.mean(parts), np.mean(parts) - wide, np.mean(parts) + wide,
                              hypot(error, allowed), 0.0)  # fmt: skip
            noted.append(of_new_rows(stated, 600)[1] <= new <= of_new_rows(stated, 600)[2])
    assert np.mean(known) < 0.8
    assert np.mean(inside) >= 0.93


def test_classes_with_many_rows_and_other_metrics_are_left_to_influences():
    draw = np.random.default_rng(1)
    many = labelled(draw, 2400).only(slice(None))
    often = many.only(many.truth < 3)
    assert error_of_rare_classes(often, "f1_macro", 4) == 0
    assert error_of_rare_classes(labelled(draw, 9000), "accuracy", 4) == 0
    assert error_of_rare_classes(many, "r2", 0) == 0


def test_rows_of_repeats_count_once_for_a_rare_class():
    seen = labelled(np.random.default_rng(3), 3000)
    parts = (np.concatenate([each, each]) for each in (seen.fold, seen.row, seen.truth, seen.predicted))
    twice = CandidatePredictions("a", *parts, None, False)
    assert 0 < error_of_rare_classes(seen, "f1_macro", 4) == error_of_rare_classes(twice, "f1_macro", 4)
