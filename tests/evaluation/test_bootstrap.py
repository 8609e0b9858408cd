import numpy as np
import pytest

from evenhand.evaluation.bootstrap import drawn_pair, figures_of_tables, times_drawn
from evenhand.evaluation.metrics import PredictionSet, confusion, metrics_of


def told_of_two(n: int = 2000, seed: int = 0) -> PredictionSet:
    random = np.random.default_rng(seed)
    truth = (random.random(n) < 0.1).astype(int)
    scores = 1 / (1 + np.exp(2.5 - random.normal(size=n) - 2.5 * truth))
    return PredictionSet(truth, (scores > 0.5).astype(int), scores, is_probability=True)


def test_the_drawn_metrics_of_one_table_are_those_of_its_rows():
    told = told_of_two()
    table = confusion(told.truth, told.predictions, 2)[None].astype(float)

    names = ("accuracy", "balanced_accuracy", "precision", "recall", "f1", "matthews_corrcoef", "minority_accuracy")

    drawn = figures_of_tables(table, 1, names)

    known = metrics_of(told, 2)
    assert tuple(drawn) == names
    for name in names:
        assert drawn[name][0] == pytest.approx(known[name], abs=1e-12)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "f1", "log_loss", "brier_score_loss"])
def test_a_model_set_against_itself_never_differs(metric):
    told = told_of_two()

    drawn = drawn_pair(told, told, metric, 2, minority=1)

    assert np.array_equal(drawn[:, 0], drawn[:, 1])


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "f1", "log_loss", "r2", "median_absolute_error"])
def test_draws_of_a_pair_lie_around_the_metric_of_all_rows(metric):
    if metric in {"r2", "median_absolute_error"}:
        y = np.random.default_rng(0).normal(size=2000)
        told, n_classes = PredictionSet(y, y + np.random.default_rng(1).normal(size=2000) / 2, None), 0
    else:
        told, n_classes = told_of_two(), 2

    drawn = drawn_pair(told, told, metric, n_classes, minority=1)[:, 0]

    known = metrics_of(told, n_classes)[metric]
    assert abs(drawn.mean() - known) < drawn.std()


def test_rows_are_drawn_within_their_class_and_each_as_often_as_any_other():
    strata = np.array([0, 1, 0, 0, 1, 0, 1, 0])

    times = times_drawn(strata, 4000, np.random.default_rng(0))

    assert np.unique(times[:, strata == 1].sum(axis=1)).tolist() == [3]
    assert np.unique(times[:, strata == 0].sum(axis=1)).tolist() == [5]
    np.testing.assert_allclose(times.mean(axis=0), 1, atol=4 * np.sqrt(0.8 / 4000))  # of k rows each varies by 1 - 1/k
