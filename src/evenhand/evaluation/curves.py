"""From truth and score to the points of a curve: pure functions that return small frozen records.

`truth` is 1 or True where the row is positive. A row is called positive where its score is at or above the threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics

from evenhand.errors import DataError
from evenhand.evaluation.pictures.curve_outline import outline

Numbers = tuple[float, ...]
MOST_POINTS = 200
PERCENTS = np.arange(101) / 100  # the same doubles as counts / 100, which linspace does not give


@dataclass(frozen=True)
class Roc:
    """True positive rate against false positive rate; the first threshold is above every score."""

    fpr: Numbers
    tpr: Numbers
    thresholds: Numbers
    area: float


@dataclass(frozen=True)
class PrecisionRecall:
    """The steps of precision over recall, corners included; `area` is the average precision of all rows."""

    recall: Numbers
    precision: Numbers
    thresholds: Numbers
    area: float
    share_positive: float


@dataclass(frozen=True)
class Band:
    """A curve averaged over folds at fixed x, with one sample standard deviation to each side inside [0, 1]."""

    x: Numbers
    mean: Numbers
    low: Numbers
    high: Numbers
    areas: Numbers


@dataclass(frozen=True)
class RankingCurves:
    """Both curves of one class against the rest, or their means over the classes."""

    name: str
    roc: Roc
    precision_recall: PrecisionRecall


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with neighbouring scores: what was promised, what came, and its 95 % Wilson interval."""

    mean_score: float
    share: float
    low: float
    high: float
    n_rows: int


@dataclass(frozen=True)
class CalibrationCurve:
    """Bins of about equal size and their mean distance from the diagonal, weighted by size."""

    bins: tuple[CalibrationBin, ...]
    error: float


@dataclass(frozen=True)
class Sweep:
    """Counts of the four outcomes at falling thresholds; the first threshold is above every score."""

    thresholds: Numbers
    tp: Numbers
    fp: Numbers
    fn: Numbers
    tn: Numbers

    def cost(self, false_positive: float, false_negative: float) -> Numbers:
        """The total cost at each threshold where a mistake of each kind costs as given."""
        return tuple(false_positive * fp + false_negative * fn for fp, fn in zip(self.fp, self.fn, strict=True))

    def cheapest(self, false_positive: float, false_negative: float) -> float:
        """The threshold with the least cost; the highest of equals, which flags the fewest rows."""
        cost = self.cost(false_positive, false_negative)
        return self.thresholds[cost.index(min(cost))]


@dataclass(frozen=True)
class Confusion:
    """Counts with one row per true class and one column per predicted class."""

    labels: tuple[str, ...]
    counts: tuple[Numbers, ...]


@dataclass(frozen=True)
class ClassFigures:
    """How one class fared; NaN where a share has nothing to be a share of."""

    label: str
    precision: float
    recall: float
    f1: float
    support: float


@dataclass(frozen=True)
class PredictedActual:
    """Rows to draw as points, thinned evenly along the actual values, with the worst misses kept."""

    actual: Numbers
    predicted: Numbers
    n_rows: int


@dataclass(frozen=True)
class Residuals:
    """A histogram of actual minus predicted over the middle 99 %, with the number of rows beyond either end."""

    edges: Numbers
    counts: tuple[int, ...]
    n_below: int
    n_above: int


@dataclass(frozen=True)
class Decile:
    """A tenth of the rows by predicted value, which is known in service, and how far off they are."""

    low: float
    high: float
    mean_predicted: float
    mean_actual: float
    mean_absolute_error: float
    root_mean_squared_error: float
    n_rows: int


def roc(truth: Any, score: Any, weights: Any = None, most: int = MOST_POINTS) -> Roc:
    """The ROC curve in at most `most` points; its area is that of all points."""
    truth, score, weights = _checked(truth, score, weights, "A ROC curve")
    fp, tp, thresholds = _counted(truth, score, weights)
    is_corner = np.concatenate([[True], (np.diff(fp, 2) != 0) | (np.diff(tp, 2) != 0), [True]])[: len(fp)]
    fpr, tpr, thresholds = (
        np.concatenate([[first], values[is_corner]]) for first, values in ((0.0, fp), (0.0, tp), (np.inf, thresholds))
    )
    fpr, tpr = fpr / fpr[-1], tpr / tpr[-1]
    kept = outline(fpr, tpr, most)
    area = float(np.trapezoid(tpr, fpr))
    return Roc(_numbers(fpr[kept]), _numbers(tpr[kept]), _numbers(thresholds[kept]), area)


def precision_recall(truth: Any, score: Any, weights: Any = None, most: int = MOST_POINTS) -> PrecisionRecall:
    """The precision-recall steps in at most `most` points; its area is that of all points."""
    truth, score, weights = _checked(truth, score, weights, "A precision-recall curve")
    precision, recall, thresholds = _falling(truth, score, weights)
    area = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    x, y = np.concatenate([[0.0], np.repeat(recall, 2)[:-1]]), np.repeat(precision, 2)
    kept = outline(x, y, most)
    at = np.repeat(thresholds, 2)[kept]
    return PrecisionRecall(_numbers(x[kept]), _numbers(y[kept]), _numbers(at), area, float(precision[-1]))


def against_rest(truth: Any, scores: Any, labels: Sequence[str]) -> tuple[RankingCurves, ...]:
    """The curves of each class that some rows are of and others not, against the rest; one column of scores a class.

    Of several labels truth has a column of 0 and 1 for each.
    """
    truth, scores = np.asarray(truth), np.asarray(scores, float)
    sides = [truth[:, k] == 1 if truth.ndim == 2 else truth == k for k in range(len(labels))]
    there = [k for k, side in enumerate(sides) if 0 < np.count_nonzero(side) < len(truth)]
    return tuple(
        RankingCurves(
            labels[k],
            roc(sides[k], scores[:, k], most=MOST_POINTS // 2),
            precision_recall(sides[k], scores[:, k], most=MOST_POINTS // 2),
        )
        for k in there
    )


def macro(each: Sequence[RankingCurves], name: str) -> RankingCurves:
    """The mean of curves, each class alike, at each percent of false positives and of recall."""
    nowhere = (float("nan"),) * len(PERCENTS)
    tpr = np.mean([np.interp(PERCENTS, one.roc.fpr, one.roc.tpr) for one in each], axis=0)
    steps = [one.precision_recall for one in each]
    ends = [np.searchsorted(one.recall, PERCENTS - 1e-12).clip(0, len(one.recall) - 1) for one in steps]
    precision = np.mean([np.asarray(one.precision)[at] for one, at in zip(steps, ends, strict=True)], axis=0)
    area, found = (float(np.mean([curve.area for curve in kind])) for kind in ([one.roc for one in each], steps))
    share = float(np.mean([one.share_positive for one in steps]))
    return RankingCurves(
        name,
        Roc(_numbers(PERCENTS), _numbers(tpr), nowhere, area),
        PrecisionRecall(_numbers(PERCENTS), _numbers(precision), nowhere, found, share),
    )


def tpr_by_fpr_percent(truth: Any, score: Any, weights: Any = None) -> Numbers:
    """The true positive rate at false positive rates of 0, 1, ... 100 percent; the top of a vertical step."""
    truth, score, weights = _checked(truth, score, weights, "A ROC curve")
    fp, tp, _ = _counted(truth, score, weights)
    return _numbers(np.interp(PERCENTS, np.append(0.0, fp / fp[-1]), np.append(0.0, tp / tp[-1])))


def mean_roc(folds: Sequence[tuple[Any, Any]]) -> Band:
    """The ROC curve averaged over folds of (truth, score) at each percent of false positives."""
    curves = [tpr_by_fpr_percent(truth, score) for truth, score in folds]
    areas = [metrics.roc_auc_score(np.asarray(truth, bool), score) for truth, score in folds]
    return _band(curves, areas)


def mean_precision_recall(folds: Sequence[tuple[Any, Any]]) -> Band:
    """The precision-recall steps averaged over folds of (truth, score) at each percent of recall."""
    curves, areas = [], []
    for truth, score in folds:
        checked = _checked(truth, score, None, "A precision-recall curve")
        precision, recall, _ = _falling(*checked)
        curves.append(precision[np.searchsorted(recall, PERCENTS)])
        areas.append(metrics.average_precision_score(*checked[:2]))
    return _band(curves, areas)


def calibration(truth: Any, score: Any, weights: Any = None, n_bins: int = 10) -> CalibrationCurve:
    """How often rows of neighbouring scores were positive, in bins of equally many rows.

    Where positives are rare they all lie in the top bin, so it is halved again and again while it holds enough rows.
    Equal scores are never parted, so there may be fewer bins.
    """
    truth, score, weights = _checked(truth, score, weights, "A calibration curve", needs_both=False)
    weights = np.ones(len(score)) if weights is None else weights
    inner = np.unique(np.quantile(score, _bin_ends(len(score), float(truth.sum()), n_bins)))
    place = np.searchsorted(inner, score, side="left")
    members = [np.flatnonzero(place == bin_) for bin_ in np.unique(place)]
    bins = tuple(_calibration_bin(truth[rows], score[rows], weights[rows]) for rows in members)
    sizes = np.array([weights[rows].sum() for rows in members])
    distances = np.array([abs(one.share - one.mean_score) for one in bins])
    return CalibrationCurve(bins, float(distances @ sizes / sizes.sum()))


def sweep(truth: Any, score: Any, weights: Any = None, most: int = MOST_POINTS, chosen: float | None = None) -> Sweep:
    """The four counts at `most` thresholds, set evenly along the ROC curve so that rare positives count.

    A `chosen` threshold is one of them, with the counts of the rows at it or above.
    """
    truth, score, weights = _checked(truth, score, weights, "A cost curve")
    fp, tp, thresholds = _counted(truth, score, weights)
    tn, fn = fp[-1] - fp, tp[-1] - tp
    if np.isfinite(thresholds[0]):
        tn, fp, fn, tp = (np.concatenate([[first], rest]) for first, rest in _nothing_flagged(tn, fp, fn, tp))
        thresholds = np.concatenate([[np.inf], thresholds])
    way = fp / max(fp[-1], 1) + tp / max(tp[-1], 1)
    kept = np.unique(np.searchsorted(way, np.linspace(0, way[-1], most)).clip(0, len(way) - 1))
    found = [values[kept] for values in (thresholds, tp, fp, fn, tn)]
    if chosen is not None and chosen not in found[0]:
        place, above = np.searchsorted(-found[0], -chosen), int(np.searchsorted(-thresholds, -chosen, side="right")) - 1
        values = (chosen, tp[above], fp[above], fn[above], tn[above])
        found = [np.insert(each, place, value) for each, value in zip(found, values, strict=True)]
    return Sweep(*map(_numbers, found))


def sweep_at(truth: Any, score: Any, thresholds: Sequence[float]) -> Sweep:
    """The four counts of other rows at thresholds that are given, falling."""
    truth, score, _ = _checked(truth, score, None, "A cost curve", needs_both=False)
    negative, positive = (np.sort(score[truth == label]) for label in (0, 1))
    fp, tp = (len(each) - np.searchsorted(each, thresholds, side="left") for each in (negative, positive))
    return Sweep(*map(_numbers, (thresholds, tp, fp, len(positive) - tp, len(negative) - fp)))


def confusion(truth: Any, predicted: Any, labels: Sequence[Any], weights: Any = None) -> Confusion:
    """Counts of each true class predicted as each class, in the order of `labels`."""
    counts = metrics.confusion_matrix(truth, predicted, labels=list(labels), sample_weight=weights)
    return Confusion(tuple(str(label) for label in labels), tuple(_numbers(row) for row in counts))


def per_class(confusion: Confusion) -> tuple[ClassFigures, ...]:
    """Precision, recall, F1 and support of each class of a confusion."""
    counts = np.array(confusion.counts)
    hits, called, support = np.diag(counts), counts.sum(axis=0), counts.sum(axis=1)
    precision, recall, f1 = (_share(hits, called), _share(hits, support), _share(2 * hits, called + support))
    rows = zip(confusion.labels, precision, recall, f1, support, strict=True)
    return tuple(ClassFigures(label, *map(float, figures)) for label, *figures in rows)


def predicted_actual(actual: Any, predicted: Any, most: int = 800, n_worst: int = 20) -> PredictedActual:
    """At most `most` points of predicted against actual values; the `n_worst` largest misses are among them."""
    actual, predicted = _values(actual, predicted)
    order = np.argsort(actual, kind="stable")
    even = order if len(order) <= most else order[np.linspace(0, len(order) - 1, most - n_worst).round().astype(int)]
    worst = np.argsort(-np.abs(actual - predicted), kind="stable")[:n_worst]
    kept = np.unique(np.concatenate([even, worst]))
    return PredictedActual(_numbers(actual[kept]), _numbers(predicted[kept]), len(actual))


def residuals(actual: Any, predicted: Any, most_bins: int = 40) -> Residuals:
    """How the differences actual minus predicted are spread."""
    actual, predicted = _values(actual, predicted)
    left = actual - predicted
    low, high = np.quantile(left, [0.005, 0.995]) if len(left) >= 200 else (left.min(), left.max())
    inside = left[(left >= low) & (left <= high)]
    edges = np.histogram_bin_edges(inside, bins="auto")
    if len(edges) - 1 > most_bins:
        edges = np.linspace(edges[0], edges[-1], most_bins + 1)
    counts, _ = np.histogram(inside, edges)
    return Residuals(_numbers(edges), tuple(map(int, counts)), int((left < low).sum()), int((left > high).sum()))


def deciles(actual: Any, predicted: Any) -> tuple[Decile, ...]:
    """The error in each tenth of the rows by predicted value; fewer than ten where there are fewer rows."""
    actual, predicted = _values(actual, predicted)
    parts = np.array_split(np.argsort(predicted, kind="stable"), min(10, len(predicted)))
    return tuple(_decile(actual[rows], predicted[rows]) for rows in parts)


def wilson(successes: float, trials: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson score interval of a share, 95 % unless given otherwise."""
    share, z2 = successes / trials, z * z
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = z * np.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    low, high = (0.0 if share <= 0 else float(middle - half)), (1.0 if share >= 1 else float(middle + half))
    return max(0.0, low), min(1.0, high)


def _falling(truth: Any, score: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Precision, recall and threshold from the highest score down, without the made-up first point."""
    fp, tp, thresholds = _counted(truth, score, weights)
    return tp / (tp + fp), tp / tp[-1], thresholds


def _counted(truth: Any, score: Any, weights: Any) -> tuple[Any, Any, Any]:
    """False and true positives at each score from the highest down; scikit-learn's numbers without its checks."""
    if weights is not None:
        _, fp, _, tp, thresholds = metrics.confusion_matrix_at_thresholds(truth, score, sample_weight=weights)
        return fp, tp, thresholds
    order = np.argsort(-score)
    falling = score[order]
    last = np.append(np.flatnonzero(np.diff(falling)), len(falling) - 1)  # of rows with the same score
    tp = np.cumsum(truth[order])[last]
    return 1.0 + last - tp, tp, falling[last]


def _nothing_flagged(tn: Any, fp: Any, fn: Any, tp: Any) -> tuple[tuple[float, Any], ...]:
    return (tn[0] + fp[0], tn), (0.0, fp), (fn[0] + tp[0], fn), (0.0, tp)


def _bin_ends(n_rows: int, n_positive: float, n_bins: int, fewest: int = 25) -> list[float]:
    ends, top = [place / n_bins for place in range(1, n_bins)], 1 / n_bins
    while n_rows * top / 2 >= max(fewest, n_positive / 4) and n_positive / n_rows < top:
        top /= 2
        ends.append(1 - top)
    return ends


def _calibration_bin(truth: Any, score: Any, weights: Any) -> CalibrationBin:
    total = weights.sum()
    share = float(weights @ truth / total)
    n_worth = total**2 / (weights @ weights)  # Kish: so many unweighted rows would count as much
    low, high = wilson(share * n_worth, n_worth)
    return CalibrationBin(float(weights @ score / total), share, low, high, len(score))


def _decile(actual: Any, predicted: Any) -> Decile:
    misses = actual - predicted
    spread, size = float(np.sqrt(np.mean(misses**2))), float(np.abs(misses).mean())
    low, high = float(predicted.min()), float(predicted.max())
    return Decile(low, high, float(predicted.mean()), float(actual.mean()), size, spread, len(actual))


def _band(curves: Sequence[Any], areas: Sequence[float]) -> Band:
    values = np.array(curves)
    mean = values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(mean)
    low, high = np.clip(mean - spread, 0, 1), np.clip(mean + spread, 0, 1)
    return Band(_numbers(PERCENTS), _numbers(mean), _numbers(low), _numbers(high), _numbers(areas))


def _share(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def _numbers(values: Any) -> Numbers:
    return tuple(float(value) for value in values)


def _checked(truth: Any, score: Any, weights: Any, what: str, needs_both: bool = True) -> tuple[Any, Any, Any]:
    truth, score = np.asarray(truth), np.asarray(score, float)
    if len(truth) != len(score) or len(truth) == 0:
        raise DataError(
            f"{what} needs as many truths as scores, and some, but there are {len(truth)} and {len(score)}."
        )
    if not np.isin(truth, (0, 1)).all():
        raise DataError(f"{what} needs truth as 0 and 1, but found {np.unique(truth)[:3].tolist()}. Compare it first.")
    if not np.isfinite(score).all():
        raise DataError(f"{what} needs finite scores, but {int((~np.isfinite(score)).sum())} of {len(score)} are not.")
    truth = truth.astype(float)
    if needs_both and truth.min() == truth.max():
        found = "positive" if truth[0] else "negative"
        raise DataError(
            f"{what} needs rows of both classes, but all {len(truth)} are {found}. Judge more rows at once."
        )
    return truth, score, None if weights is None else np.asarray(weights, float)


def _values(actual: Any, predicted: Any) -> tuple[Any, Any]:
    actual, predicted = np.asarray(actual, float), np.asarray(predicted, float)
    if len(actual) != len(predicted) or len(actual) == 0:
        found = f"{len(predicted)} and {len(actual)}"
        raise DataError(f"Errors need as many predicted as actual values, and some, but there are {found}.")
    if not (np.isfinite(actual).all() and np.isfinite(predicted).all()):
        raise DataError("Errors need finite values, but some are missing or infinite. Leave those rows out first.")
    return actual, predicted
