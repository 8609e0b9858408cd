import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as known

from evenhand.evaluation.metrics import PredictionSet, applicable, by_class, confusion, metrics_of, usual_metric
from evenhand.study.registry import BINARY_METRICS, MULTICLASS_METRICS, REGRESSION_METRICS

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
