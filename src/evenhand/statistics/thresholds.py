"""Where to draw the line: every distinct threshold of out-of-fold scores at once, and rules that pick one."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OperatingPoint:
    """What comes of flagging every row that scores at least the threshold."""

    threshold: float
    recall: float
    precision: float
    false_positive_rate: float
    flagged_share: float
    figure: float


@dataclass(frozen=True)
class OperatingPoints:
    """Weights of rows flagged at each distinct threshold, from flagging nothing (infinity) down to everything."""

    thresholds: np.ndarray
    true_positives: np.ndarray
    false_positives: np.ndarray

    @property
    def positives(self) -> float:
        return float(self.true_positives[-1])

    @property
    def negatives(self) -> float:
        return float(self.false_positives[-1])

    @property
    def recall(self) -> np.ndarray:
        return self.true_positives / self.positives

    @property
    def false_positive_rate(self) -> np.ndarray:
        return self.false_positives / self.negatives

    @property
    def precision(self) -> np.ndarray:
        """Share of flagged rows that are positive, 0 where none is flagged."""
        flagged = self.true_positives + self.false_positives
        return self.true_positives / np.where(flagged > 0, flagged, 1.0)

    def at(self, place: int, figure: float) -> OperatingPoint:
        """Return one point with the figure it was chosen for."""
        flagged = self.true_positives[place] + self.false_positives[place]
        return OperatingPoint(
            float(self.thresholds[place]),
            float(self.recall[place]),
            float(self.precision[place]),
            float(self.false_positive_rate[place]),
            float(flagged / (self.positives + self.negatives)),
            float(figure),
        )


def operating_points(y: np.ndarray, scores: np.ndarray, sample_weight: np.ndarray | None = None) -> OperatingPoints:
    """Return all thresholds that part the rows differently; y is 1 for the rows to be flagged, else 0."""
    y, scores = np.asarray(y), np.asarray(scores, dtype=float)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    found = np.unique(y[weight > 0]).tolist()
    if found != [0, 1]:
        raise ValueError(f"A threshold needs rows of class 0 and class 1, but the rows hold {found}.")
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])
    ups, downs = (np.cumsum((weight * (y == side))[order])[last] for side in (1, 0))
    return OperatingPoints(np.r_[np.inf, ordered[last]], np.r_[0.0, ups], np.r_[0.0, downs])


def best_by_cost(points: OperatingPoints, cost: np.ndarray) -> OperatingPoint:
    """Return the point of least mean cost; `cost[true, predicted]` is what a row of that kind costs."""
    cost = np.asarray(cost, dtype=float)
    right, wrong = points.true_positives, points.false_positives
    total = cost[1, 1] * right + cost[1, 0] * (points.positives - right)
    total = total + cost[0, 1] * wrong + cost[0, 0] * (points.negatives - wrong)
    place = int(np.argmin(total))
    return points.at(place, total[place] / (points.positives + points.negatives))


def best_by_metric(points: OperatingPoints, metric: str, *, beta: float = 1.0) -> OperatingPoint:
    """Return the point of greatest "f_beta", "matthews_corrcoef" or "balanced_accuracy"."""
    known = {"f_beta": _f_beta, "matthews_corrcoef": _matthews, "balanced_accuracy": _balanced}
    if metric not in known:
        raise ValueError(f"No threshold can be chosen by {metric!r}. Choose one of {', '.join(known)}.")
    figures = known[metric](points, beta)
    place = int(np.argmax(figures))
    return points.at(place, figures[place])


def _f_beta(points: OperatingPoints, beta: float) -> np.ndarray:
    flagged = points.true_positives + points.false_positives
    return (1 + beta**2) * points.true_positives / (beta**2 * points.positives + flagged)


def _matthews(points: OperatingPoints, beta: float) -> np.ndarray:
    flagged = points.true_positives + points.false_positives
    rest = points.positives + points.negatives - flagged
    above = points.true_positives * points.negatives - points.false_positives * points.positives
    below = np.sqrt(points.positives * points.negatives * flagged * rest)
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), 0.0)


def _balanced(points: OperatingPoints, beta: float) -> np.ndarray:
    return (points.recall + 1 - points.false_positive_rate) / 2


def with_precision(points: OperatingPoints, least: float) -> OperatingPoint:
    """Return the point that finds most positives while at least this share of flagged rows is positive."""
    allowed = np.flatnonzero(points.precision >= least)
    if allowed.size == 0:
        best = float(points.precision.max())
        raise ValueError(f"A precision of {least} was asked, but the best on these rows is {best:.4f}. Ask for less.")
    place = int(allowed[-1])
    return points.at(place, points.precision[place])


def with_false_positive_rate(points: OperatingPoints, most: float) -> OperatingPoint:
    """Return the point that finds most positives while at most this share of negatives is flagged."""
    place = int(np.flatnonzero(points.false_positive_rate <= most)[-1])
    return points.at(place, points.recall[place])


def for_capacity(points: OperatingPoints, n_rows: float) -> OperatingPoint:
    """Return the point that flags as many rows as can be looked at, and never more: equal scores stay together."""
    flagged = points.true_positives + points.false_positives
    place = int(np.flatnonzero(flagged <= n_rows)[-1])
    return points.at(place, flagged[place])


def decide_by_cost(probabilities: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return for each row the class of least expected cost, given probabilities of shape (n_rows, n_classes)."""
    probabilities, cost = np.asarray(probabilities, dtype=float), np.asarray(cost, dtype=float)
    if probabilities.shape[1] != cost.shape[0]:
        raise ValueError(f"The cost matrix has {cost.shape[0]} rows, but there are {probabilities.shape[1]} classes.")
    return (probabilities @ cost).argmin(axis=1)
