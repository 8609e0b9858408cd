"""How good scores are. From truth and scores to numbers, without a model at hand; names as scikit-learn's."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.study.registry import (
    BINARY_METRICS,
    METRICS,
    MULTICLASS_METRICS,
    MULTILABEL_METRICS,
    REGRESSION_METRICS,
)


@dataclass(frozen=True)
class PredictionSet:
    """Predictions for some rows: `scores` are probabilities or decision values, or None where it has neither.

    Rows are ranked by `decisions` where a model gives them beside its probabilities. Of several labels, truth and
    predictions have a column of 0 and 1 for each.
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

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.truth.ndim == 2

    def only(self, rows: np.ndarray | slice) -> "PredictionSet":
        """What was predicted for some of the rows, in the order asked for."""
        scores, decisions = (None if each is None else each[rows] for each in (self.scores, self.decisions))
        return PredictionSet(self.truth[rows], self.predictions[rows], scores, self.is_probability, decisions)

    def is_of(self, k: int) -> np.ndarray:
        """Which rows are of a class, or have a label."""
        return np.asarray(self.truth[:, k] == 1 if self.is_multilabel else self.truth == k)


@dataclass(frozen=True)
class Judged:
    """Predictions for rows, with what metrics are made of; `n_classes` is 0 where numbers are predicted.

    Labels are counted as classes are; a row may have several of them.
    """

    predicted: PredictionSet
    n_classes: int
    minority: int = 1

    @cached_property
    def table(self) -> np.ndarray:
        """Counts of rows by true class (rows) and predicted class (columns)."""
        return confusion(self.predicted.truth, self.predicted.predictions, self.n_classes)

    @cached_property
    def each(self) -> dict[str, np.ndarray]:
        """Precision, recall, F1 and support of every class or label."""
        return _figures_by_class(*self.counts)

    @cached_property
    def counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of every class that are predicted rightly, those predicted as it, and those of it."""
        if self.predicted.is_multilabel:
            truth, predicted = self.predicted.truth, self.predicted.predictions
            return (truth * predicted).sum(axis=0), predicted.sum(axis=0), truth.sum(axis=0)
        return np.diag(self.table), self.table.sum(axis=0), self.table.sum(axis=1)

    @property
    def support(self) -> np.ndarray:
        """The rows of every class."""
        return self.each["support"]

    @property
    def is_named(self) -> np.ndarray:
        """Which classes occur in truth or predictions."""
        return (self.support > 0) | (self.counts[1] > 0)

    @property
    def matthews(self) -> float:
        """The Matthews correlation of truth and predictions."""
        return _matthews(self.table)

    @cached_property
    def ranking(self) -> tuple[float, float] | None:
        """Area under the ROC curve and average precision; None where there are no ranks or one class only."""
        predicted = self.predicted
        if predicted.ranks is None or not 0 < predicted.truth.sum() < len(predicted.truth):
            return None
        return ranking_figures(predicted.truth == 1, predicted.ranks)

    @cached_property
    def rankings(self) -> list[tuple[float, float]] | None:
        """Area and average precision of each class against the rest; None where one is missing or has no scores."""
        predicted, scores = self.predicted, self.predicted.scores
        if scores is None or scores.ndim != 2 or not ((self.support > 0) & (self.support < len(scores))).all():
            return None
        return [ranking_figures(predicted.is_of(k), scores[:, k]) for k in range(self.n_classes)]

    @cached_property
    def chances(self) -> np.ndarray | None:
        """The probability that each row's true class was given; None where the scores are no probabilities."""
        truth, scores = self.predicted.truth, self.predicted.scores
        if scores is None or not self.predicted.is_probability:
            return None
        if scores.ndim == 1:
            return np.where(truth == 1, scores, 1 - scores)
        return (scores / scores.sum(axis=1, keepdims=True))[np.arange(len(truth)), truth]

    @cached_property
    def errors(self) -> np.ndarray:
        """Truth less prediction."""
        return self.predicted.truth - self.predicted.predictions


@dataclass(frozen=True)
class Tables:
    """Many confusion tables, of shape (n_tables, n_classes, n_classes), with what metrics are made of."""

    tables: np.ndarray
    minority: int

    @classmethod
    def weighted(cls, judged: Judged, times: np.ndarray) -> "Tables":
        """The tables of rows that count as often as each line of `times` says."""
        if judged.predicted.is_multilabel:
            return LabelTables.weighted(judged, times)
        k, predicted = judged.n_classes, judged.predicted
        cells = predicted.truth.astype(int) * k + predicted.predictions.astype(int)
        counted = np.stack([times[:, cells == cell].sum(axis=1) for cell in range(k**2)], axis=1)
        return cls(counted.reshape(-1, k, k), judged.minority)

    @cached_property
    def right(self) -> np.ndarray:
        """Rows of each class that are predicted rightly."""
        return np.einsum("dkk->dk", self.tables)

    @cached_property
    def predicted(self) -> np.ndarray:
        """Rows predicted as each class."""
        return self.tables.sum(axis=1)

    @cached_property
    def true(self) -> np.ndarray:
        """Rows of each class."""
        return self.tables.sum(axis=2)

    @cached_property
    def n(self) -> np.ndarray:
        """Rows of each table."""
        return self.tables.sum(axis=(1, 2))

    @cached_property
    def is_named(self) -> np.ndarray:
        """Which classes occur in truth or predictions of each table."""
        return (self.true > 0) | (self.predicted > 0)

    @cached_property
    def found_share(self) -> np.ndarray:
        """The share of each class that is predicted rightly; NaN where it has no rows."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.right / self.true

    @property
    def recall(self) -> np.ndarray:
        """The same, 0 where a class has no rows."""
        return np.nan_to_num(self.found_share)

    @cached_property
    def precision(self) -> np.ndarray:
        """The share of rows predicted as each class that are of it."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.predicted > 0, self.right / self.predicted, 0.0)

    @cached_property
    def f1(self) -> np.ndarray:
        """The harmonic mean of precision and recall of each class."""
        either = self.predicted + self.true
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(either > 0, 2 * self.right / either, 0.0)

    @property
    def matthews(self) -> np.ndarray:
        """The Matthews correlation of each table."""
        above = self.right.sum(axis=1) * self.n - np.einsum("dk,dk->d", self.predicted, self.true)
        called, true = (np.maximum(self.n**2 - (each**2).sum(axis=1), 0) for each in (self.predicted, self.true))
        below = np.sqrt(called) * np.sqrt(true)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(below > 0, above / below, 0.0)


@dataclass(frozen=True)
class LabelTables(Tables):
    """The same of labels: rows with each rightly predicted, predicted and truly there, (n_tables, 3, n_labels)."""

    @classmethod
    def weighted(cls, judged: Judged, times: np.ndarray) -> "LabelTables":
        """The counts of rows that count as often as each line of `times` says."""
        truth, predicted = judged.predicted.truth, judged.predicted.predictions
        return cls(np.stack([times @ each for each in (truth * predicted, predicted, truth)], axis=1), judged.minority)

    @cached_property
    def right(self) -> np.ndarray:
        """Rows of each label that are predicted rightly."""
        return self.tables[:, 0]

    @cached_property
    def predicted(self) -> np.ndarray:
        """Rows predicted to have each label."""
        return self.tables[:, 1]

    @cached_property
    def true(self) -> np.ndarray:
        """Rows with each label."""
        return self.tables[:, 2]


def metrics_of(predicted: PredictionSet, n_classes: int, minority: int = 1) -> dict[str, float]:
    """Every metric that applies; one that this model or these rows cannot give is left out."""
    judged = Judged(predicted, n_classes, minority)
    found = {name: METRICS[name].formula(judged) for name in applicable(n_classes, predicted.is_multilabel)}
    return {name: float(value) for name, value in found.items() if value is not None and np.isfinite(value)}


def metric_of(predicted: PredictionSet, metric: str, n_classes: int, minority: int = 1) -> float | None:
    """One metric; None where it does not apply, or this model or these rows cannot give it."""
    if metric not in applicable(n_classes, predicted.is_multilabel):
        return None
    value = METRICS[metric].formula(Judged(predicted, n_classes, minority))
    return None if value is None or not np.isfinite(value) else float(value)


def weighted(predicted: PredictionSet, metric: str, n_classes: int, minority: int, times: np.ndarray) -> np.ndarray:
    """A metric of rows that count as often as each line of `times` says; NaN where the model cannot have it."""
    return METRICS[metric].of_weighted(Judged(predicted, n_classes, minority), times)


def applicable(n_classes: int, is_multilabel: bool = False) -> tuple[str, ...]:
    """The metrics of a task with this many classes or labels; 0 stands for numbers."""
    if is_multilabel:
        return tuple(MULTILABEL_METRICS)
    return tuple(REGRESSION_METRICS if n_classes == 0 else BINARY_METRICS if n_classes == 2 else MULTICLASS_METRICS)


def usual_metric(n_classes: int, is_multilabel: bool = False) -> str:
    """What a study ranks by when it names no metric."""
    return "r2" if n_classes == 0 else "average_precision" if n_classes == 2 and not is_multilabel else "f1_macro"


def confusion(truth: np.ndarray, predictions: np.ndarray, n_classes: int) -> np.ndarray:
    """Counts of rows by true class (rows) and predicted class (columns)."""
    pairs = truth.astype(np.int64) * n_classes + predictions.astype(np.int64)
    return np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes)


def by_class(table: np.ndarray) -> dict[str, np.ndarray]:
    """Precision, recall, F1 and support of every class of a confusion table."""
    return _figures_by_class(np.diag(table), table.sum(axis=0), table.sum(axis=1))


def _figures_by_class(right: np.ndarray, flagged: np.ndarray, true: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "precision": _share(right, flagged),
        "recall": _share(right, true),
        "f1": _share(2 * right, flagged + true),
        "support": true,
    }


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """A ratio that is 0 where there is nothing to divide by, as scikit-learn has it."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _matthews(table: np.ndarray) -> float:
    flagged, true = table.sum(axis=0).astype(float), table.sum(axis=1).astype(float)
    n = table.sum()
    above = np.trace(table) * n - flagged @ true
    below = np.sqrt(n**2 - flagged @ flagged) * np.sqrt(n**2 - true @ true)
    return float(above / below) if below > 0 else 0.0


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


def weighted_rankings(judged: Judged, times: np.ndarray, place: int) -> np.ndarray | None:
    """Area (place 0) or average precision (1) of each class against the rest for each line of weights.

    None where there are no scores of each.
    """
    predicted = judged.predicted
    if predicted.scores is None or predicted.scores.ndim != 2:
        return None
    sides = [
        PredictionSet(predicted.is_of(k).astype(int), predicted.predictions, predicted.scores[:, k])
        for k in range(judged.n_classes)
    ]
    return np.stack([weighted_ranking(side, times)[place] for side in sides])


def label_ranking_precisions(judged: Judged) -> np.ndarray | None:
    """Of each row the mean, over its labels, of the share of labels ranked as high or higher that it has.

    1 where a row has all labels or none, as scikit-learn has it; None where there are no scores.
    """
    truth, scores = judged.predicted.truth == 1, judged.predicted.scores
    if scores is None:
        return None
    as_high = scores[:, None, :] >= scores[:, :, None]  # of row, label and other label
    shares = (as_high & truth[:, None, :]).sum(axis=2) / as_high.sum(axis=2)
    n_true = truth.sum(axis=1)
    means = (shares * truth).sum(axis=1) / np.maximum(n_true, 1)
    return np.where((n_true == 0) | (n_true == truth.shape[1]), 1.0, means)


def weighted_ranking(predicted: PredictionSet, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Area under the ROC curve and average precision for each line of weights; NaN where there are no ranks."""
    if predicted.ranks is None:
        return np.full(len(times), np.nan), np.full(len(times), np.nan)
    order = np.argsort(-predicted.ranks, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(predicted.ranks[order])), len(order) - 1)
    times, is_positive = times[:, order], predicted.truth[order] == 1
    seen = times.cumsum(axis=1)[:, ends]
    seen_up = (times * is_positive).cumsum(axis=1)[:, ends]
    ups, seen_down = np.diff(seen_up, prepend=0, axis=1), seen - seen_up
    downs = np.diff(seen_down, prepend=0, axis=1)
    below = seen_down[:, -1:] - seen_down
    with np.errstate(invalid="ignore"):  # NaN where a line leaves no row of a class
        area = (ups * (below + downs / 2)).sum(axis=1) / (seen_up[:, -1] * seen_down[:, -1])
        precision = np.where(seen > 0, seen_up / seen, 0.0)
        return area, (ups * precision).sum(axis=1) / seen_up[:, -1]


def losses_of(predicted: PredictionSet) -> dict[str, np.ndarray]:
    """The loss of every row, where the scores are probabilities of classes."""
    if predicted.scores is None or not predicted.is_probability or predicted.is_multilabel:
        return {}
    tiny = np.finfo(np.float64).eps
    if predicted.scores.ndim == 1:
        chance = np.where(predicted.truth == 1, predicted.scores, 1 - predicted.scores)
        return {"log_loss": -np.log(np.clip(chance, tiny, 1 - tiny)), "brier_score_loss": (1 - chance) ** 2}
    rows = np.arange(len(predicted.truth))
    chance = predicted.scores[rows, predicted.truth.astype(int)] / predicted.scores.sum(axis=1)
    return {"log_loss": -np.log(np.clip(chance, tiny, 1 - tiny))}
