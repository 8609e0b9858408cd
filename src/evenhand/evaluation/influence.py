"""How much every judged row moves a metric: influence values, whose covariance is that of the metrics themselves.

The influence of a row is n times the derivative of the metric by the row's weight, so that the metric of other rows
from the same population differs by about the mean of the influences, and the variance of the metric is the sum of
squared influences over n². For areas under the ROC curve these are DeLong's components; metrics of the confusion table
are differentiated cell by cell.
"""

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from evenhand.evaluation.bootstrap import figures_of_tables
from evenhand.evaluation.metrics import Judged, PredictionSet, confusion, losses_of
from evenhand.study.registry import METRICS

STEP = 1e-4
EACH_AGAINST_REST = frozenset({"roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_macro", "average_precision_macro"})
RATIOS: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "precision_macro": lambda truth, predicted: (truth * predicted, predicted),
    "recall_macro": lambda truth, predicted: (truth * predicted, truth),
    "f1_macro": lambda truth, predicted: (2 * truth * predicted, truth + predicted),
    "f1_micro": lambda truth, predicted: (2 * truth * predicted, truth + predicted),
}


class Influences:
    """The influence of every row on metrics of one model, found once, and the standard errors they give."""

    def __init__(
        self, predicted: PredictionSet, n_classes: int, minority: int = 1, metrics: Iterable[str] = METRICS
    ) -> None:
        self.predicted, self.n_classes, self.minority = predicted, n_classes, minority
        self._metrics = metrics
        self._known: dict[str, np.ndarray | None] = {}

    def of(self, metric: str) -> np.ndarray | None:
        """The influence of every row on a metric; None where the model cannot have the metric on these rows."""
        if metric not in self._known:
            self._known[metric] = influence_of(self.predicted, metric, self.n_classes, self.minority)
        return self._known[metric]

    def error(self, metric: str) -> float:
        """The standard error of a metric from drawing the judged rows anew; 0 where it cannot be had."""
        if metric in self._errors_by_table:
            return self._errors_by_table[metric]
        influence = self.of(metric)
        return float(np.sqrt(influence @ influence)) / len(self.predicted.truth) if influence is not None else 0.0

    @cached_property
    def _errors_by_table(self) -> dict[str, float]:
        """Those of the metrics of the confusion table: rows of a cell are alike, so that cells are enough."""
        if not self.n_classes or self.predicted.is_multilabel:
            return {}
        table = confusion(self.predicted.truth, self.predicted.predictions, self.n_classes)
        counts, n = table.ravel(), table.sum()
        found = {}
        figures = figures_of_tables(_nudged(table / n), self.minority, self._metrics)
        for metric, slopes in zip(figures, map(_slopes, figures.values()), strict=True):
            there, times = slopes[counts > 0], counts[counts > 0]
            moved = there - there @ times / n
            found[metric] = float(np.sqrt(times @ moved**2)) / n if np.isfinite(moved).all() else 0.0
        return found


def influence_of(predicted: PredictionSet, metric: str, n_classes: int, minority: int = 1) -> np.ndarray | None:
    """The influence of every row on a metric; None where the model cannot have the metric on these rows."""
    if n_classes == 0:
        return _of_regression(predicted, metric)
    if metric in EACH_AGAINST_REST:
        of = precision_influence if metric.startswith("average_precision") else area_influence
        return _against_rest(predicted, n_classes, of, is_weighted=metric.endswith("_weighted"))
    if predicted.is_multilabel:
        return _of_labels(Judged(predicted, n_classes), metric)
    if metric in {"log_loss", "brier_score_loss"}:
        return _of_losses(predicted, metric)
    if metric in {"roc_auc", "average_precision"}:
        of = area_influence if metric == "roc_auc" else precision_influence
        return _of_ranking(predicted.truth == 1, predicted.ranks, of)
    return _of_table(predicted, metric, n_classes, minority)


def _of_ranking(
    is_positive: np.ndarray, ranks: np.ndarray | None, of: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray | None:
    if ranks is None or ranks.ndim != 1 or not 0 < is_positive.sum() < len(is_positive):
        return None
    return of(is_positive, ranks)


def area_influence(is_positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The influence of every row on the area under the ROC curve: the components of DeLong (1988) by class.

    A positive row counts the share of the others below it, a negative one that of the positive rows above it, equal
    ones half; both come from one sort.
    """
    order = np.argsort(scores, kind="stable")
    ordered, y = scores[order], is_positive[order].astype(float)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    ups, n_rows = np.add.reduceat(y, starts), np.diff(starts, append=len(order))
    downs, n, n_up = n_rows - ups, len(order), y.sum()
    below = (np.cumsum(downs) - downs / 2) / (n - n_up)
    above = 1 - (np.cumsum(ups) - ups / 2) / n_up
    area = float(ups @ below) / n_up
    of_levels = np.array([(above - area) * n / (n - n_up), (below - area) * n / n_up])
    found = np.empty(n)
    found[order] = of_levels[y.astype(int), np.repeat(np.arange(len(starts)), n_rows)]
    return found


def precision_influence(is_positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The influence of every row on the average precision, by its derivative in closed form; O(n log n)."""
    return weighed_precision(is_positive, scores, 1.0)[1]


def weighed_precision(is_positive: np.ndarray, scores: np.ndarray, of_negative: float) -> tuple[float, np.ndarray]:
    """The average precision where each negative row counts so much, and the influence of every row on it.

    With weights w it is sum_i w_i y_i U_i / R_i / sum_i w_i y_i, where R_i and U_i weigh the rows and the positive rows
    that rank as high as i or higher.
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    level = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=-1))
    y = is_positive[order].astype(float)
    weights = y + of_negative * (1 - y)
    up, seen = np.cumsum(y)[ends], np.cumsum(weights)[ends]
    ups = np.diff(up, prepend=0.0)
    gained = np.cumsum((ups / seen)[::-1])[::-1]
    lost = np.cumsum((ups * up / seen**2)[::-1])[::-1]
    n_up, precision = up[-1], float(np.sum(ups * up / seen) / up[-1])
    slope = y * ((up / seen)[level] + gained[level] - precision) - weights * lost[level]
    found = np.empty(len(order))
    found[order] = slope * len(order) / n_up
    return precision, found


def _against_rest(
    predicted: PredictionSet, n_classes: int, of: Callable[[np.ndarray, np.ndarray], np.ndarray], *, is_weighted: bool
) -> np.ndarray | None:
    """The mean of the influences on the figure of each class or label against the rest."""
    sides = [predicted.is_of(k) for k in range(n_classes)]
    counts = np.array([side.sum() for side in sides])
    if predicted.scores is None or predicted.scores.ndim != 2 or not ((counts > 0) & (counts < len(sides[0]))).all():
        return None
    parts = [of(side, predicted.scores[:, k]) for k, side in enumerate(sides)]
    return np.asarray(np.average(parts, axis=0, weights=counts if is_weighted else None))


def _of_labels(judged: Judged, metric: str) -> np.ndarray | None:
    """Of a mean over rows what each adds to it; of precision, recall and F1 the slope of a ratio of two sums."""
    if (of_rows := METRICS[metric].of_rows) is not None:
        values = of_rows(judged)
        return None if values is None else np.asarray(values - values.mean())
    if metric not in RATIOS:
        return None
    truth, predicted = (each.astype(float) for each in (judged.predicted.truth, judged.predicted.predictions))
    above, below = RATIOS[metric](truth, predicted)
    if metric == "f1_micro":
        above, below = above.sum(axis=1, keepdims=True), below.sum(axis=1, keepdims=True)
    size = np.maximum(below.mean(axis=0), np.finfo(float).tiny)
    each = (above - above.mean(axis=0) / size * below) / size
    is_named = judged.is_named if metric != "f1_micro" else np.ones(1, dtype=bool)
    return np.asarray(each[:, is_named].mean(axis=1)) if is_named.any() else None


def _of_losses(predicted: PredictionSet, metric: str) -> np.ndarray | None:
    loss = losses_of(predicted).get(metric)
    return None if loss is None else np.asarray(loss - loss.mean())


def _of_table(predicted: PredictionSet, metric: str, n_classes: int, minority: int) -> np.ndarray | None:
    return table_influence(
        predicted.truth,
        predicted.predictions,
        n_classes,
        lambda tables: figures_of_tables(tables, minority, [metric]).get(metric),
    )


def table_influence(
    truth: np.ndarray, predictions: np.ndarray, n_classes: int, figures_of: Callable[[np.ndarray], np.ndarray | None]
) -> np.ndarray | None:
    """The slope of a figure of the confusion table towards each cell, given to the rows of that cell."""
    cells = truth.astype(int) * n_classes + predictions.astype(int)
    figures = figures_of(_nudged(confusion(truth, predictions, n_classes) / len(truth)))
    if figures is None or not np.isfinite(slopes := _slopes(figures))[np.unique(cells)].all():
        return None
    values = slopes[cells]
    return np.asarray(values - values.mean())


def weighed_table(
    truth: np.ndarray, predictions: np.ndarray, of_negative: float, figures_of: Callable[[np.ndarray], np.ndarray]
) -> tuple[float, np.ndarray]:
    """A figure of the table of two classes where each negative row counts so much, and the influence of every row."""
    weights = np.array([of_negative, 1.0])
    table = confusion(truth, predictions, 2) * weights[:, None]
    figures = figures_of(_nudged(table / table.sum()))
    slopes = _slopes(figures).reshape(2, 2) * weights[:, None] * len(truth) / table.sum()
    return float(figures[-1]), slopes[truth.astype(int), predictions.astype(int)]


def _nudged(table: np.ndarray) -> np.ndarray:
    """A table of shares with some more in each of its cells, and as it is."""
    aimed = np.eye(table.size).reshape(-1, *table.shape)
    return np.concatenate([table + STEP * (aimed - table), table[None]])


def _slopes(figures: np.ndarray) -> np.ndarray:
    """How fast a figure moves where rows are added to each cell."""
    return np.asarray((figures[:-1] - figures[-1]) / STEP)


def _of_regression(predicted: PredictionSet, metric: str) -> np.ndarray | None:
    errors, spread = predicted.truth - predicted.predictions, predicted.truth - predicted.truth.mean()
    squared, variance = errors**2 - np.mean(errors**2), float(np.mean(spread**2))
    if metric == "mean_absolute_error":
        return np.asarray(np.abs(errors) - np.abs(errors).mean())
    if metric == "median_absolute_error":
        return _of_median(np.abs(errors))
    if metric == "mean_squared_error":
        return np.asarray(squared)
    if metric == "root_mean_squared_error":
        root = float(np.sqrt(np.mean(errors**2)))
        return np.asarray(squared / (2 * root)) if root else np.zeros(len(errors))
    if variance == 0:
        return None
    share = float(np.mean(errors**2)) / variance
    return np.asarray((share * (spread**2 - variance) - squared) / variance)


def _of_median(values: np.ndarray) -> np.ndarray:
    """Rows above and below the median, over the density at it; the density is that of the middle of the values."""
    n = len(values)
    reach = min(0.25, n**-0.3)
    low, middle, high = np.quantile(values, [0.5 - reach, 0.5, 0.5 + reach])
    density = 2 * reach / (high - low) if high > low else np.inf
    return np.asarray(np.sign(values - middle) / (2 * density))
