import numpy as np
import pytest
from prediction_makers import of_labels, of_numbers, of_three, of_two
from sklearn.metrics import average_precision_score

from evenhand.evaluation.bootstrap import figures_of_tables
from evenhand.evaluation.influence import (
    Influences,
    influence_of,
    precision_influence,
    weighed_precision,
    weighed_table,
)
from evenhand.evaluation.metrics import PredictionSet, applicable, metrics_of, weighted
from evenhand.statistics import delong

STEP = 1e-5


CASES = [
    *((of_two(), 2, name) for name in applicable(2)),
    *((of_three(), 3, name) for name in applicable(3) if name != "roc_auc_ovr_weighted"),
    *((of_labels(), 3, name) for name in applicable(3, is_multilabel=True)),
    *((of_numbers(), 0, name) for name in applicable(0) if name != "median_absolute_error"),
]


@pytest.mark.parametrize(
    "told, n_classes, metric", CASES, ids=[f"{n}-{told.is_multilabel}-{name}" for told, n, name in CASES]
)
def test_influence_is_the_slope_of_the_metric_by_the_weight_of_each_row(told, n_classes, metric):
    n = len(told.truth)

    found = influence_of(told, metric, n_classes)

    heavier = weighted(told, metric, n_classes, 1, 1 + STEP * np.eye(n))
    plain = weighted(told, metric, n_classes, 1, np.ones((1, n)))[0]
    np.testing.assert_allclose(found, n * (heavier - plain) / STEP, atol=2e-3 * max(1, np.abs(found).max()))


@pytest.mark.parametrize("told, n_classes", [(of_two(), 2), (of_three(), 3), (of_labels(), 3), (of_numbers(), 0)])
def test_influences_add_up_to_nothing(told, n_classes):
    given = metrics_of(told, n_classes)

    assert set(given) == set(applicable(n_classes, is_multilabel=told.is_multilabel))
    for metric in given:
        assert influence_of(told, metric, n_classes).mean() == pytest.approx(0, abs=0.15 / len(told.truth) ** 0.5)


def test_the_variance_of_an_area_is_delongs():
    told = of_two(400)
    _, covariance = delong(told.truth, told.scores)

    found = influence_of(told, "roc_auc", 2)

    # DeLong divides by one row less in each class: 400 rows, some 120 of them positive
    assert found @ found / 400**2 == pytest.approx(covariance[0, 0], rel=0.01)


def test_a_metric_that_the_model_cannot_have_has_no_influence():
    without_scores = PredictionSet(np.array([0, 1, 1]), np.array([0, 1, 0]), None)

    for metric in ("roc_auc", "average_precision", "log_loss", "brier_score_loss"):
        assert influence_of(without_scores, metric, 2) is None


def test_one_class_alone_has_no_area():
    assert influence_of(PredictionSet(np.ones(3, int), np.ones(3, int), np.arange(3.0)), "roc_auc", 2) is None


def test_the_slope_of_average_precision_counts_a_positive_that_ranks_last():
    truth, scores = np.array([True, False, True, False, True]), np.array([0.9, 0.8, 0.6, 0.5, 0.1])
    step = 1e-6

    def weighed(place):
        weights = np.ones(5)
        weights[place] += step
        return average_precision_score(truth, scores, sample_weight=weights)

    slopes = [(weighed(place) - average_precision_score(truth, scores)) / step for place in range(5)]
    found = precision_influence(truth, scores)

    np.testing.assert_allclose(found / found[0], np.array(slopes) / slopes[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("truth", "scores"),
    [([0, 1, 2], None), ([0, 1, 2], np.arange(3.0)), ([0, 1, 1], np.eye(3)), ([1, 1, 1], np.eye(3))],
)
def test_without_scores_of_each_class_or_rows_of_each_no_row_has_an_influence_on_their_mean_ranking(truth, scores):
    told = PredictionSet(np.array(truth), np.array(truth), scores, is_probability=True)

    assert influence_of(told, "roc_auc_ovr", 3) is None
    assert influence_of(told, "average_precision_macro", 3) is None


@pytest.mark.parametrize("metric", ["balanced_accuracy", "precision_macro", "recall_macro", "f1_macro"])
def test_a_class_that_is_nowhere_takes_no_part_in_what_a_row_moves(metric):
    rows = np.random.default_rng(5)
    truth = rows.integers(0, 3, 80)
    predicted = PredictionSet(truth, np.where(rows.random(80) < 0.7, truth, rows.integers(0, 3, 80)), None)
    found, error = influence_of(predicted, metric, 4), Influences(predicted, 4).error(metric)

    assert found == pytest.approx(influence_of(predicted, metric, 3))
    assert error == pytest.approx(np.sqrt(found @ found) / 80)


@pytest.mark.parametrize("of_negative", [0.2, 1.0, 3.0])
def test_weighed_precision_is_that_of_rows_that_count_so_much_and_its_influence_the_slope(of_negative):
    told = of_two(80)
    up, ranks = told.truth == 1, np.round(told.ranks, 1)
    weights = np.where(up, 1.0, of_negative)

    figure, influence = weighed_precision(up, ranks, of_negative)

    assert figure == pytest.approx(average_precision_score(up, ranks, sample_weight=weights))
    heavier = [average_precision_score(up, ranks, sample_weight=weights * (1 + STEP * row)) for row in np.eye(80)]
    assert influence == pytest.approx(80 * (np.array(heavier) - figure) / STEP, abs=2e-3)


@pytest.mark.parametrize("metric", ["precision", "f1"])
def test_weighed_tables_are_those_of_rows_that_count_so_much_and_their_influence_the_slope(metric):
    told = of_two(80)
    weights = np.where(told.truth == 1, 1.0, 0.3)

    figure, influence = weighed_table(
        told.truth, told.predictions, 0.3, lambda many: figures_of_tables(many, 1, [metric])[metric]
    )

    found = weighted(told, metric, 2, 1, weights * (1 + STEP * np.vstack([np.eye(80), np.zeros(80)])))
    assert figure == pytest.approx(found[-1])
    assert influence == pytest.approx(80 * (found[:-1] - figure) / STEP, abs=2e-3)
