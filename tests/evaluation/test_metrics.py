import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as known

from evenhand.errors import ConfError
from evenhand.evaluation.intervals import error_of
from evenhand.evaluation.metric_entries import MetricEntry
from evenhand.evaluation.metrics import (
    Judged,
    PredictionSet,
    Tables,
    applicable,
    by_class,
    confusion,
    metric_of,
    metrics_of,
    usual_metric,
    weighted,
)
from evenhand.study.registry import BINARY_METRICS, METRICS, MULTICLASS_METRICS, REGRESSION_METRICS

CLOSE = {"rel": 1e-12, "abs": 1e-12}


def binary(truth, scores):
    """What scikit-learn says of probabilities of the second class."""
    told = (scores > 0.5).astype(int)
    return {
        "accuracy": known.accuracy_score(truth, told),
        "balanced_accuracy": known.recall_score(truth, told, average="macro", labels=np.unique(truth), zero_division=0),
        "precision": known.precision_score(truth, told, zero_division=0),
        "recall": known.recall_score(truth, told, zero_division=0),
        "f1": known.f1_score(truth, told, zero_division=0),
        "matthews_corrcoef": known.matthews_corrcoef(truth, told),
        "brier_score_loss": np.mean((scores - truth) ** 2),
        "log_loss": known.log_loss(truth, scores, labels=[0, 1]),
    }


def multiclass(truth, scores, n_classes):
    """What scikit-learn says of probabilities of several classes."""
    told = scores.argmax(axis=1)
    found = {
        "accuracy": known.accuracy_score(truth, told),
        "matthews_corrcoef": known.matthews_corrcoef(truth, told),
        "log_loss": known.log_loss(truth, scores, labels=range(n_classes)),
        "balanced_accuracy": known.recall_score(truth, told, average="macro", labels=np.unique(truth), zero_division=0),
    }
    for name in ("precision", "recall", "f1"):
        score = getattr(known, f"{name}_score")
        found |= {f"{name}_{a}": score(truth, told, average=a, zero_division=0) for a in ("macro", "weighted")}
    return found


truths = st.lists(st.integers(0, 1), min_size=2, max_size=30)


@given(truths, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_two_classes_are_measured_as_scikit_learn_does(truth, random):
    truth, scores = np.array(truth), np.array([random.choice([0.1, 0.4, 0.6, random.random()]) for _ in truth])

    found = metrics_of(PredictionSet(truth, (scores > 0.5).astype(int), scores, True), 2)

    expected = binary(truth, scores)
    assert {name: found[name] for name in expected} == pytest.approx(expected, **CLOSE)


@given(truths.filter(lambda truth: 0 < sum(truth) < len(truth)), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_ranking_measures_are_scikit_learns_where_both_classes_are_there(truth, random):
    truth, scores = np.array(truth), np.array([random.choice([-1.0, 0.0, random.gauss(0, 1)]) for _ in truth])

    found = metrics_of(PredictionSet(truth, (scores > 0).astype(int), scores), 2)

    assert found["roc_auc"] == pytest.approx(known.roc_auc_score(truth, scores), **CLOSE)
    assert found["average_precision"] == pytest.approx(known.average_precision_score(truth, scores), **CLOSE)
    assert not {"log_loss", "brier_score_loss"} & set(found)


def test_rows_are_ranked_by_decision_values_where_a_model_gives_both():
    truth, coarse, fine = np.array([0, 1, 0, 1]), np.array([0.5, 0.5, 0.5, 0.9]), np.array([-2.0, 0.1, 0.3, 4.0])

    found = metrics_of(PredictionSet(truth, (coarse > 0.5).astype(int), coarse, True, decisions=fine), 2)

    # by decisions the positives stand first and third of four: 3 of 4 pairs in order, precision 1 and 2/3
    assert found["roc_auc"] == pytest.approx(3 / 4)
    assert found["average_precision"] == pytest.approx((1 + 2 / 3) / 2)
    # by chances: .5 .5 .1 of the right class are given, squared errors .25 .25 .25 .01
    assert found["brier_score_loss"] == pytest.approx(0.76 / 4)


@given(st.lists(st.integers(0, 2), min_size=2, max_size=30), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_several_classes_are_measured_as_scikit_learn_does(truth, seed):
    truth = np.array(truth)
    scores = np.random.default_rng(seed).dirichlet([0.5, 0.5, 0.5], size=len(truth))

    found = metrics_of(PredictionSet(truth, scores.argmax(axis=1), scores, True), 3)

    expected = multiclass(truth, scores, 3)
    assert {name: found[name] for name in expected} == pytest.approx(expected, **CLOSE)


def test_areas_of_several_classes_are_one_against_the_rest():
    truth = np.array([0, 0, 1, 1, 2, 2, 2])
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], size=7)

    found = metrics_of(PredictionSet(truth, scores.argmax(axis=1), scores, True), 3)

    for name, average in (("roc_auc_ovr", "macro"), ("roc_auc_ovr_weighted", "weighted")):
        expected = known.roc_auc_score(truth, scores, multi_class="ovr", average=average)
        assert found[name] == pytest.approx(expected, **CLOSE)


def test_macro_average_precision_of_several_classes_is_that_of_scikit_learn():
    truth = np.array([0, 0, 1, 1, 2, 2, 2])
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], size=7)

    found = metrics_of(PredictionSet(truth, scores.argmax(axis=1), scores, True), 3)

    expected = known.average_precision_score(np.eye(3)[truth], scores, average="macro")
    assert found["average_precision_macro"] == pytest.approx(expected, **CLOSE)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_labels_are_measured_as_scikit_learn_does(seed, n_labels):
    draw = np.random.default_rng(seed)
    truth, predicted = draw.integers(0, 2, (2, 20, n_labels))
    scores = np.round(draw.random((20, n_labels)), 1)  # with ties
    truth[0], truth[1] = 0, 1  # so that every label is there, and some row without it

    found = metrics_of(PredictionSet(truth, predicted, scores, True), n_labels)

    each = {kind: {"average": kind, "zero_division": 0} for kind in ("macro", "micro")}
    assert found == pytest.approx(
        {
            "subset_accuracy": known.accuracy_score(truth, predicted),
            "hamming_loss": known.hamming_loss(truth, predicted),
            "precision_macro": known.precision_score(truth, predicted, **each["macro"]),
            "recall_macro": known.recall_score(truth, predicted, **each["macro"]),
            "f1_macro": known.f1_score(truth, predicted, **each["macro"]),
            "f1_micro": known.f1_score(truth, predicted, **each["micro"]),
            "label_ranking_average_precision": known.label_ranking_average_precision_score(truth, scores),
            "average_precision_macro": known.average_precision_score(truth, scores, average="macro"),
            "roc_auc_macro": known.roc_auc_score(truth, scores, average="macro"),
        },
        **CLOSE,
    )


def test_areas_are_left_out_where_a_class_is_not_among_the_rows():
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], size=4)

    found = metrics_of(PredictionSet(np.array([0, 1, 1, 0]), scores.argmax(axis=1), scores, True), 3)

    assert not any(name.startswith("roc_auc") for name in found)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=3, max_size=30))
@settings(max_examples=60, deadline=None)
def test_numbers_are_measured_as_scikit_learn_does(pairs):
    truth, told = np.array(pairs).T
    if np.ptp(truth) < 1e-3:
        truth = truth + np.arange(len(truth))

    found = metrics_of(PredictionSet(truth, told, None), 0)

    assert found == pytest.approx(
        {
            "r2": known.r2_score(truth, told),
            "mean_squared_error": known.mean_squared_error(truth, told),
            "root_mean_squared_error": known.root_mean_squared_error(truth, told),
            "mean_absolute_error": known.mean_absolute_error(truth, told),
            "median_absolute_error": known.median_absolute_error(truth, told),
        },
        rel=1e-9,
    )


def test_r2_is_left_out_where_all_true_values_are_equal():
    found = metrics_of(PredictionSet(np.array([3.0, 3.0]), np.array([3.0, 4.0]), None), 0)

    assert "r2" not in found
    assert found["mean_absolute_error"] == 0.5


def test_a_class_that_is_never_reported_has_precision_0():
    truth = np.array([0, 0, 1])

    found = metrics_of(PredictionSet(truth, np.zeros(3, dtype=int), None), 2)

    assert (found["precision"], found["recall"], found["f1"], found["matthews_corrcoef"]) == (0, 0, 0, 0)
    assert found["balanced_accuracy"] == 0.5
    assert found["accuracy"] == pytest.approx(2 / 3)


def test_one_class_in_truth_leaves_out_what_needs_two():
    scores = np.array([0.2, 0.7])

    found = metrics_of(PredictionSet(np.array([0, 0]), (scores > 0.5).astype(int), scores, True), 2)

    assert not {"roc_auc", "average_precision", "minority_accuracy"} & set(found)
    assert found["accuracy"] == found["balanced_accuracy"] == 0.5


@pytest.mark.parametrize(("minority", "expected"), [(0, 2 / 3), (1, 1 / 2)])
def test_minority_accuracy_is_the_recall_of_the_class_that_is_rare_in_training(minority, expected):
    truth, told = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 0])

    found = metrics_of(PredictionSet(truth, told, None), 2, minority)

    assert found["minority_accuracy"] == pytest.approx(expected)


def test_sure_and_wrong_gives_a_finite_log_loss():
    found = metrics_of(PredictionSet(np.array([0, 1]), np.array([1, 1]), np.array([1.0, 1.0]), True), 2)

    assert found["log_loss"] == pytest.approx(known.log_loss([0, 1], [1.0, 1.0], labels=[0, 1]))


def test_confusion_counts_pairs_of_true_and_reported():
    table = confusion(np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 2, 0]), 3)

    assert table.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]
    assert table.tolist() == known.confusion_matrix([0, 0, 1, 2, 2], [0, 1, 1, 2, 0]).tolist()


def test_by_class_is_worked_out_from_rows_and_columns():
    each = by_class(np.array([[3, 1], [2, 4]]))

    assert each["precision"].tolist() == [3 / 5, 4 / 5]
    assert each["recall"].tolist() == [3 / 4, 4 / 6]
    assert each["f1"].tolist() == [6 / 9, 8 / 11]
    assert each["support"].tolist() == [4, 6]


@pytest.mark.parametrize(
    ("n_classes", "names", "usual"),
    [(0, REGRESSION_METRICS, "r2"), (2, BINARY_METRICS, "average_precision"), (5, MULTICLASS_METRICS, "f1_macro")],
)
def test_every_task_has_its_metrics_and_a_usual_one(n_classes, names, usual):
    assert applicable(n_classes) == tuple(names)
    assert usual_metric(n_classes) == usual
    assert usual in names


def test_every_metric_named_for_two_classes_is_found_for_a_full_case():
    truth, scores = np.array([0, 1, 0, 1, 1]), np.array([0.2, 0.6, 0.7, 0.9, 0.3])

    assert set(metrics_of(PredictionSet(truth, (scores > 0.5).astype(int), scores, True), 2)) == set(BINARY_METRICS)


def test_every_metric_named_for_several_classes_is_found_for_a_full_case():
    truth, scores = np.array([0, 1, 2, 0, 1, 2]), np.random.default_rng(1).dirichlet([1, 1, 1], size=6)

    assert set(metrics_of(PredictionSet(truth, scores.argmax(axis=1), scores, True), 3)) == set(MULTICLASS_METRICS)


def judged_rows(n_classes):
    """Predictions for thirty rows, some of equal score."""
    draw = np.random.default_rng(n_classes)
    if n_classes == 0:
        truth = draw.normal(size=30)
        return PredictionSet(truth, np.round(truth + draw.normal(size=30)), None)
    truth = np.arange(30) % n_classes
    if n_classes == 2:
        scores = np.round(draw.beta(2, 2, size=30) / 2 + truth / 3, 1)
        return PredictionSet(truth, (scores > 0.5).astype(int), scores, True)
    scores = draw.dirichlet([1.0] * n_classes, size=30) + 0.4 * np.eye(n_classes)[truth]
    return PredictionSet(truth, scores.argmax(axis=1), scores / scores.sum(axis=1, keepdims=True), True)


WEIGHED = [(n, name) for n in (0, 2, 3) for name in applicable(n) if name != "roc_auc_ovr_weighted"]  # by all rows


@pytest.mark.parametrize(("n_classes", "name"), WEIGHED)
def test_a_row_that_counts_twice_is_the_row_twice(n_classes, name):
    told = judged_rows(n_classes)
    times = np.random.default_rng(7).integers(0, 4, size=(4, 30))
    times[:, :6] += 1  # so that each class stays

    found = weighted(told, name, n_classes, 0, times)

    for value, line in zip(found, times, strict=True):
        scores = None if told.scores is None else told.scores.repeat(line, axis=0)
        again = PredictionSet(told.truth.repeat(line), told.predictions.repeat(line), scores, told.is_probability)
        assert value == pytest.approx(metrics_of(again, n_classes, 0)[name])


@pytest.mark.parametrize("name", applicable(3, is_multilabel=True))
def test_a_row_of_labels_that_counts_twice_is_the_row_twice(name):
    draw = np.random.default_rng(5)
    truth, predicted = draw.integers(0, 2, (2, 30, 3))
    told = PredictionSet(truth, predicted, np.round(draw.random((30, 3)), 1), True)
    times = draw.integers(0, 4, size=(4, 30))
    times[:, :9] += 1  # so that each label stays, and rows without it

    found = weighted(told, name, 3, 0, times)

    for value, line in zip(found, times, strict=True):
        again = told.only(np.repeat(np.arange(30), line))
        assert value == pytest.approx(metrics_of(again, 3, 0)[name])


def test_labels_that_no_row_has_and_none_is_given_are_measured_by_0():
    nothing = PredictionSet(np.zeros((4, 2), dtype=int), np.zeros((4, 2), dtype=int), None)

    assert weighted(nothing, "f1_micro", 2, 0, np.ones((3, 4))).tolist() == [0, 0, 0]
    assert metric_of(nothing, "f1_micro", 2) == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["precision_macro", "recall_macro", "f1_macro"])
def test_a_mean_over_labels_is_missing_where_no_row_has_or_is_given_one(name):
    nothing = PredictionSet(np.zeros((4, 2), dtype=int), np.zeros((4, 2), dtype=int), None)

    assert np.isnan(weighted(nothing, name, 2, 0, np.ones((3, 4)))).tolist() == [True, True, True]
    assert name not in metrics_of(nothing, 2)
    assert error_of(nothing, name, 2) == 0


def test_areas_weighted_by_rows_are_weighted_by_all_of_them():
    told = judged_rows(3)
    few = np.flatnonzero(told.truth == 2)[1:]  # one row is left of the last class
    rows = np.delete(np.arange(30), few)
    fewer = PredictionSet(told.truth[rows], told.predictions[rows], told.scores[rows], True)

    found = weighted(fewer, "roc_auc_ovr_weighted", 3, 0, np.ones((1, len(rows))))

    assert found[0] == pytest.approx(metrics_of(fewer, 3)["roc_auc_ovr_weighted"])


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "log_loss", "brier_score_loss"])
def test_what_a_model_without_scores_cannot_have_is_missing_for_any_weights(name):
    told = PredictionSet(np.array([0, 1, 1]), np.array([0, 1, 0]), None)

    assert np.isnan(weighted(told, name, 2, 1, np.ones((2, 3)))).tolist() == [True, True]
    assert name not in metrics_of(told, 2)


@pytest.mark.parametrize("name", ["roc_auc_ovr", "log_loss"])
def test_of_several_classes_too(name):
    told = PredictionSet(np.array([0, 1, 2]), np.array([0, 1, 0]), None)

    assert np.isnan(weighted(told, name, 3, 1, np.ones((2, 3)))).tolist() == [True, True]
    assert name not in metrics_of(told, 3)


@pytest.mark.parametrize("name", applicable(2))
def test_ensembles_are_selected_by_what_is_greater_if_better(name):
    told = judged_rows(2)

    found = METRICS[name].of_scores(told.truth, told.scores, 2, 0)

    sign = -1 if METRICS[name].lower_is_better else 1
    assert found == pytest.approx(sign * metrics_of(told, 2, 0)[name])
    assert METRICS[name].of_scores(told.truth, np.full(30, np.nan), 2, 0) <= found


def test_of_several_classes_and_of_numbers_the_same():
    classes, numbers = judged_rows(3), judged_rows(0)

    of_classes = METRICS["f1_macro"].of_scores(classes.truth, classes.scores, 3, 0)
    of_numbers = METRICS["mean_absolute_error"].of_scores(numbers.truth, numbers.predictions, 0, 0)

    assert of_classes == pytest.approx(metrics_of(classes, 3)["f1_macro"])
    assert of_numbers == pytest.approx(-metrics_of(numbers, 0)["mean_absolute_error"])
    assert METRICS["r2"].of_scores(np.ones(3), np.ones(3), 0, 0) == -np.inf


def test_counts_give_metrics_that_are_greater_if_better():
    tables = np.array([[[6.0, 2.0], [1.0, 3.0]]])

    assert METRICS["recall"].of_counts(tables, 1) == pytest.approx([3 / 4])
    assert METRICS["minority_accuracy"].of_counts(tables, 0) == pytest.approx([6 / 8])


@pytest.mark.parametrize(
    ("name", "title", "scorer"),
    [
        ("roc_auc", "ROC AUC", "roc_auc"),
        ("r2", "R²", "r2"),
        ("log_loss", "log loss", "neg_log_loss"),
        ("brier_score_loss", "Brier score", "neg_brier_score"),
        ("median_absolute_error", "median absolute error", "neg_median_absolute_error"),
    ],
)
def test_a_metric_has_a_title_and_a_scorer_of_scikit_learn(name, title, scorer):
    assert METRICS[name].title == title
    assert METRICS[name].by_scikit_learn == scorer
    assert known.get_scorer(scorer)


def test_tables_without_rows_of_a_class_give_nothing_for_it():
    tables = Tables(np.array([[[4.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]), 1)

    assert tables.recall.tolist() == [[1, 0], [0, 0]]
    assert tables.precision.tolist() == [[1, 0], [0, 0]]
    assert tables.f1.tolist() == [[1, 0], [0, 0]]
    assert tables.matthews.tolist() == [0, 0]


def test_the_balanced_accuracy_of_each_of_many_tables_is_a_mean_over_the_classes_that_it_has():
    tables = Tables(np.array([[[4.0, 0.0], [0.0, 0.0]], [[3.0, 1.0], [1.0, 1.0]]]), 1)

    # the first has one class, all of which is found; the second (3/4 + 1/2) / 2
    assert METRICS["balanced_accuracy"].of_tables(tables).tolist() == [1.0, 0.625]


@pytest.mark.filterwarnings("error")
def test_rounding_gives_no_root_of_less_than_nothing():
    tables = np.zeros((2, 4, 4))
    tables[:, :, 0] = [3.5, 3.4, 9.2, 8.7]  # whose sum squared comes out below the square of their sum

    assert Tables(tables, 1).matthews.tolist() == [0, 0]


def test_a_class_that_is_predicted_once_and_rightly_has_full_precision():
    tables = Tables(np.array([[[3.0, 0.0], [1.0, 1.0]]]), 1)

    assert tables.precision.tolist() == [[3 / 4, 1]]
    assert tables.recall.tolist() == [[1, 1 / 2]]
    assert tables.f1.tolist() == [[6 / 7, 2 / 3]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "'mine' has no vectorised form, so it would have no interval"),
        ({"of_rows": len, "weighted": len}, "'mine' has of_rows and weighted, so it would have no interval"),
        ({"of_rows": len, "needs": "nothing"}, "'mine' needs 'nothing'. Give one of predictions, ranks"),
        ({"of_rows": len, "tasks": ()}, r"'mine' has tasks \(\). Give some of binary"),
        ({"of_rows": len, "tasks": ("binary", "ternary")}, r"'mine' has tasks \['ternary'\]. Give some of binary"),
    ],
)
def test_an_entry_that_lacks_a_part_is_refused(given, words):
    whole = {"name": "mine", "tasks": ("binary",), "lower_is_better": False, "needs": "ranks", "formula": len}

    with pytest.raises(ConfError, match=words):
        MetricEntry(**{**whole, **given})


def test_no_ranking_where_one_of_several_classes_is_missing_or_the_only_one():
    scores = np.random.default_rng(0).dirichlet(np.ones(3), size=4)

    def judged(truth):
        return Judged(PredictionSet(np.array(truth), np.array(truth), scores, is_probability=True), 3, 0)

    assert judged([0, 1, 1, 0]).rankings is None
    assert judged([1, 1, 1, 1]).rankings is None
    assert len(judged([0, 1, 2, 0]).rankings) == 3


def test_some_rows_keep_what_was_predicted_for_them():
    told = PredictionSet(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([0.1, 0.4, 0.8]), True, np.arange(3.0))

    found = told.only(np.array([2, 0]))

    assert [each.tolist() for each in (found.truth, found.predictions, found.scores)] == [[1, 0], [1, 0], [0.8, 0.1]]
    assert found.ranks.tolist() == [2, 0]
    assert found.is_probability


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
def test_a_mean_over_classes_counts_those_that_are_only_predicted_and_none_that_is_nowhere(name):
    rows = np.random.default_rng(3)
    truth, predictions = rows.integers(0, 2, 60), rows.integers(0, 3, 60)
    predicted = PredictionSet(truth, predictions, None)
    expected = getattr(known, f"{name}_score")(truth, predictions, average="macro", zero_division=0)

    assert metrics_of(predicted, 4)[f"{name}_macro"] == pytest.approx(expected)
    assert weighted(predicted, f"{name}_macro", 4, 0, np.ones((1, 60)))[0] == pytest.approx(expected)
