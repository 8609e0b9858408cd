"""How good scores are. From truth and scores to numbers, without a model at hand; names as scikit-learn's."""

from dataclasses import dataclass

import numpy as np

from evenhand.study.registry import BINARY_METRICS, MULTICLASS_METRICS, REGRESSION_METRICS


@dataclass(frozen=True)
class PredictionSet:
    """What a model said of some rows: `scores` are probabilities or decision values, or None where it has neither.

    Rows are ranked by `decisions` where a model gives them beside its probabilities.
    """

    truth: np.ndarray
    predictions: np.ndarray
    scores: np.ndarray | None
    is_probability: bool = False
    decisions: np.ndarray | None = None

    @property
    def ranks(self) -> np.ndarray | None:
        """What rows are ranked by."""
        return self.scores if self.decisions is None else self.decisions


def metrics_of(predicted: PredictionSet, n_classes: int, minority: int = 1) -> dict[str, float]:
    """Every metric that applies; one that this model or these rows cannot give is left out."""
    if n_classes == 0:
        return _regression(predicted)
    table = confusion(predicted.truth, predicted.predictions, n_classes)
    found = _from_confusion(table, minority)
    found |= _binary(predicted, table) if n_classes == 2 else _multiclass(predicted, table)
    if predicted.is_probability and predicted.scores is not None:
        found["log_loss"] = _log_loss(predicted.truth, predicted.scores)
    known = BINARY_METRICS if n_classes == 2 else MULTICLASS_METRICS
    return {name: float(found[name]) for name in known if name in found and np.isfinite(found[name])}


def applicable(n_classes: int) -> tuple[str, ...]:
    """The metrics of a task with this many classes; 0 stands for numbers."""
    return REGRESSION_METRICS if n_classes == 0 else BINARY_METRICS if n_classes == 2 else MULTICLASS_METRICS


def usual_metric(n_classes: int) -> str:
    """What a study ranks by when it names no metric."""
    return "r2" if n_classes == 0 else "average_precision" if n_classes == 2 else "f1_macro"


def confusion(truth: np.ndarray, predictions: np.ndarray, n_classes: int) -> np.ndarray:
    """Counts of rows by true class (rows) and predicted class (columns)."""
    pairs = truth.astype(np.int64) * n_classes + predictions.astype(np.int64)
    return np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)


def by_class(table: np.ndarray) -> dict[str, np.ndarray]:
    """Precision, recall, F1 and support of every class of a confusion table."""
    right, flagged, true = np.diag(table), table.sum(axis=0), table.sum(axis=1)
    return {
        "precision": _share(right, flagged),
        "recall": _share(right, true),
        "f1": _share(2 * right, flagged + true),
        "support": true,
    }


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """A ratio that is 0 where there is nothing to divide by, as scikit-learn has it."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _from_confusion(table: np.ndarray, minority: int) -> dict[str, float]:
    each = by_class(table)
    is_there = each["support"] > 0
    found = {
        "accuracy": np.diag(table).sum() / table.sum(),
        "balanced_accuracy": each["recall"][is_there].mean(),
        "matthews_corrcoef": _matthews(table),
    }
    if is_there[minority]:
        found["minority_accuracy"] = each["recall"][minority]
    return found


def _matthews(table: np.ndarray) -> float:
    flagged, true = table.sum(axis=0).astype(float), table.sum(axis=1).astype(float)
    n = table.sum()
    above = np.trace(table) * n - flagged @ true
    below = np.sqrt(n**2 - flagged @ flagged) * np.sqrt(n**2 - true @ true)
    return float(above / below) if below > 0 else 0.0


def _binary(predicted: PredictionSet, table: np.ndarray) -> dict[str, float]:
    each = by_class(table)
    found = {name: float(each[name][1]) for name in ("precision", "recall", "f1")}
    has_both = 0 < predicted.truth.sum() < len(predicted.truth)
    if predicted.ranks is not None and has_both:
        found["roc_auc"], found["average_precision"] = ranking_figures(predicted.truth == 1, predicted.ranks)
    if predicted.scores is not None and predicted.is_probability:
        found["brier_score_loss"] = np.mean((predicted.scores - predicted.truth) ** 2)
    return found


def _multiclass(predicted: PredictionSet, table: np.ndarray) -> dict[str, float]:
    each = by_class(table)
    is_there = (each["support"] > 0) | (table.sum(axis=0) > 0)
    found = {}
    for name in ("precision", "recall", "f1"):
        found[f"{name}_macro"] = each[name][is_there].mean()
        found[f"{name}_weighted"] = np.average(each[name], weights=each["support"])
    if predicted.scores is not None and predicted.scores.ndim == 2 and (each["support"] > 0).all():
        areas = [ranking_figures(predicted.truth == k, predicted.scores[:, k])[0] for k in range(len(table))]
        found["roc_auc_ovr"] = np.mean(areas)
        found["roc_auc_ovr_weighted"] = np.average(areas, weights=each["support"])
    return found


def _log_loss(truth: np.ndarray, scores: np.ndarray) -> float:
    shares = np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores / scores.sum(axis=1, keepdims=True)
    tiny = np.finfo(np.float64).eps
    return float(-np.mean(np.log(np.clip(shares[np.arange(len(truth)), truth], tiny, 1 - tiny))))


def _regression(predicted: PredictionSet) -> dict[str, float]:
    errors = predicted.truth - predicted.predictions
    spread = np.sum((predicted.truth - predicted.truth.mean()) ** 2)
    found = {
        "root_mean_squared_error": np.sqrt(np.mean(errors**2)),
        "mean_absolute_error": np.mean(np.abs(errors)),
        "median_absolute_error": np.median(np.abs(errors)),
    }
    if spread > 0:
        found["r2"] = 1 - np.sum(errors**2) / spread
    return {name: float(found[name]) for name in REGRESSION_METRICS if name in found}


def ranking_figures(is_positive: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """The area under the ROC curve and the average precision, from one sort; rows of equal score count together."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    up = np.cumsum(is_positive[order])[ends].astype(float)
    ups, seen = np.diff(up, prepend=0.0), ends + 1.0
    down = seen - up
    downs = np.diff(down, prepend=0.0)
    area = np.sum(ups * (down[-1] - down + downs / 2)) / (up[-1] * down[-1])
    return float(area), float(np.sum(ups * up / seen) / up[-1])
