import numpy as np
import pytest

from evenhand.evaluation.bootstrap import _counts_drawn, drawn_pair, figures_of_tables, spreads_of
from evenhand.evaluation.metrics import PredictionSet, confusion, metrics_of
from evenhand.statistics import auc_interval


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


def test_every_metric_of_two_classes_lies_inside_its_interval():
    told = told_of_two()

    spreads = spreads_of(told, 2)

    known = metrics_of(told, 2)
    assert set(spreads) == set(known)
    for name, spread in spreads.items():
        assert spread.low < known[name] < spread.high


def test_the_interval_of_the_area_agrees_with_delong():
    told = told_of_two()

    spread = spreads_of(told, 2, n_draws=1000)["roc_auc"]

    expected = auc_interval(told.truth, told.scores)
    assert spread.low == pytest.approx(expected.low, abs=0.006)
    assert spread.high == pytest.approx(expected.high, abs=0.006)


def test_the_error_of_accuracy_is_that_of_shares_drawn_within_class():
    truth = np.repeat([0, 1], [800, 200])
    predictions = truth.copy()
    predictions[:80], predictions[800:900] = 1, 0  # 10 % wrong of one class, half wrong of the other

    spread = spreads_of(PredictionSet(truth, predictions, None), 2, n_draws=4000)["accuracy"]

    # variance of the count of right rows: 800 * .9 * .1 + 200 * .5 * .5 = 122, so the error is sqrt(122) / 1000
    assert spread.error == pytest.approx(122**0.5 / 1000, rel=0.05)


def test_more_than_two_classes_and_numbers_have_intervals_too():
    random = np.random.default_rng(1)
    truth = random.integers(0, 3, 600)
    shares = random.dirichlet(np.ones(3), 600) + 0.6 * np.eye(3)[truth]
    classes = PredictionSet(
        truth, shares.argmax(axis=1), shares / shares.sum(axis=1, keepdims=True), is_probability=True
    )
    y = random.normal(size=600)
    numbers = PredictionSet(y, y + random.normal(size=600) / 2, None)

    for told, n_classes in ((classes, 3), (numbers, 0)):
        known = metrics_of(told, n_classes)
        for name, spread in spreads_of(told, n_classes).items():
            assert spread.low <= known[name] <= spread.high


def test_one_row_has_no_interval():
    assert spreads_of(PredictionSet(np.array([1]), np.array([1]), np.array([0.7]), True), 2) == {}


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


@pytest.mark.parametrize("n_rows", [30, 30_000])
def test_rows_of_a_group_are_drawn_as_often_as_it_has_rows_both_ways(n_rows):
    shares = np.array([0.0, 0.1, 0.3, 0.6])

    drawn = _counts_drawn((shares * n_rows).astype(int), np.random.default_rng(0), 4000)

    # a count of n draws with chance p has mean n p and variance n p (1 - p)
    assert set(drawn.sum(axis=1)) == {n_rows}
    np.testing.assert_allclose(drawn.mean(axis=0), n_rows * shares, rtol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), n_rows * shares * (1 - shares), rtol=0.15)
