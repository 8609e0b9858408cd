"""The metric of one fit on encoded and balanced rows, on others."""

from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.models.fitting import check_finite, failing_alone, fitted_model
from evenhand.models.halving.share import Encoded
from evenhand.models.packing.forms import decisions_in_blocks, fit_form, scores_in_blocks
from evenhand.records.pipeline import Plan, Table
from evenhand.runtime.time_limit import within
from evenhand.statistics.label_sets import label_columns


def score_of(plan: Plan, given: Encoded, table: Table, metric: str, seed: int, limit: float | None = None) -> float:
    """The metric on the judged rows; NaN where it cannot be had."""
    predicted, n_classes = predicted_by(plan, given, table, seed, limit), len(table.classes)
    return metrics_of(predicted, n_classes, minority_of(predicted, n_classes)).get(metric, float("nan"))


def predicted_by(plan: Plan, given: Encoded, table: Table, seed: int, limit: float | None = None) -> PredictionSet:
    """What the candidate predicts for the judged rows, fitted on the others in at most so many seconds."""
    (X, y, balanced), (judged, truth) = given
    n_classes = len(table.classes)
    form, unlabelled = fit_form(plan, X), fit_form(plan, judged) if plan.sees_unlabelled else None
    estimator = within(limit, lambda: fitted_model(plan, balanced, form, y, n_classes, seed, unlabelled=unlabelled))
    with failing_alone(plan):
        scale, scores, predictions = scores_in_blocks(plan, estimator, judged)
        check_finite(plan, scores, predictions)
    truth = label_columns(truth, n_classes) if plan.n_labels else truth
    return PredictionSet(
        truth, predictions, scores, scale == "probability", decisions_in_blocks(plan, estimator, judged)
    )
