"""The metric of one fit on encoded and balanced rows, on others."""

from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.models.fitting import check_finite, decisions_of, failing_alone, fitted_model, scores_of
from evenhand.models.halving.share import Encoded
from evenhand.records.pipeline import Plan, Table
from evenhand.runtime.time_limit import within
from evenhand.statistics.label_sets import label_columns


def score_of(plan: Plan, given: Encoded, table: Table, metric: str, seed: int, limit: float | None = None) -> float:
    """The metric on the judged rows; NaN where it cannot be had."""
    (X, y, balanced), (judged, truth) = given
    n_classes = len(table.classes)
    estimator = within(limit, lambda: fitted_model(plan, balanced, X, y, n_classes, seed, unlabelled=judged))
    with failing_alone(plan):
        scale, scores, predictions = scores_of(estimator, judged)
        check_finite(plan, scores, predictions)
    truth = label_columns(truth, n_classes) if plan.n_labels else truth
    decisions = decisions_of(estimator, judged)
    predicted = PredictionSet(truth, predictions, scores, scale == "probability", decisions)
    return metrics_of(predicted, n_classes, minority_of(predicted, n_classes)).get(metric, float("nan"))
