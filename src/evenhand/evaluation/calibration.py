"""From scores to probabilities that mean what they say: prior correction, choice of calibration, and a report on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq, isotonic_regression
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

from evenhand.models.probability_map import ScoreMap, log_odds
from evenhand.statistics.thresholds import (
    OperatingPoint,
    OperatingPoints,
    best_by_cost,
    best_by_metric,
    decide_by_cost,
    for_capacity,
    operating_points,
    with_false_positive_rate,
    with_precision,
)

__all__ = [
    "Calibration",
    "CalibrationReport",
    "Figure",
    "OperatingPoint",
    "OperatingPoints",
    "best_by_cost",
    "best_by_metric",
    "calibration_report",
    "choose_calibration",
    "decide_by_cost",
    "for_capacity",
    "operating_points",
    "share_offset",
    "with_false_positive_rate",
    "with_precision",
]

KINDS = ("none", "sigmoid", "isotonic")
MOST_GROUPS = 5_000
RISE = 1e-3  # of the probability: what a logistic curve adds to steps, on which rows would tie
READS_PROBABILITIES = frozenset({"none", "prior"})


def share_offset(probabilities: np.ndarray, true: float, *, sample_weight: np.ndarray | None = None) -> float:
    """Return what to add to log odds so that the mean probability of these rows is the true share.

    Given rows in their natural balance, labelled or not, this is surer than to multiply the odds by the ratio of the
    shares: the few rows that a model of resampled rows was fitted on leave an error of their own in its intercept,
    which no formula of shares takes off.
    """
    odds = log_odds(np.asarray(probabilities, dtype=float))
    return float(brentq(lambda offset: np.average(expit(odds + offset), weights=sample_weight) - true, -60, 60))


@dataclass(frozen=True)
class Calibration:
    """The kind of calibration that did best out of fold, the loss of each, and the map from score to probability.

    `cross_fitted` holds for each row the probability by a map of that kind that did not see the row's fold.
    """

    kind: str
    log_losses: dict[str, float]
    apply: ScoreMap
    cross_fitted: np.ndarray


def choose_calibration(
    y: np.ndarray,
    scores: np.ndarray,
    *,
    folds: int | np.ndarray = 5,
    sample_weight: np.ndarray | None = None,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
) -> Calibration:
    """Return the calibration with the least cross-fitted log loss on out-of-fold scores, fitted on all of them.

    Each kind is fitted on all folds but one and judged on that one; "none" and "prior" (`share_offset`) take part only
    if scores lie in [0, 1]. Of equal losses the first kind wins. `folds` is their number or the fold of each row.
    """
    y, scores = np.asarray(y, dtype=int), np.asarray(scores, dtype=float)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    kinds = [kind for kind in kinds if kind not in READS_PROBABILITIES or _are_probabilities(scores)]
    splitter = (
        StratifiedKFold(folds, shuffle=True, random_state=seed) if np.ndim(folds) == 0 else PredefinedSplit(folds)
    )
    splits = list(splitter.split(scores[:, None], y))
    chances = _cross_fitted(kinds, y, scores, weight, splits)
    losses = {kind: _log_loss(y, chance, weight) for kind, chance in chances.items()}
    kind = min(kinds, key=losses.__getitem__)
    return Calibration(kind, losses, _fits([kind], y, scores, weight)[kind], chances[kind])


def _are_probabilities(scores: np.ndarray) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1)


def _cross_fitted(
    kinds: Sequence[str],
    y: np.ndarray,
    scores: np.ndarray,
    weight: np.ndarray,
    splits: list[tuple[np.ndarray, np.ndarray]],
) -> dict[str, np.ndarray]:
    found = {kind: np.empty(len(y)) for kind in kinds}
    for fitted, judged in splits:
        for kind, fit in _fits(kinds, y[fitted], scores[fitted], weight[fitted]).items():
            found[kind][judged] = fit(scores[judged])
    return found


def _log_loss(y: np.ndarray, chance: np.ndarray, weight: np.ndarray) -> float:
    chance = np.clip(chance, 1e-15, 1 - 1e-15)
    return float(-np.average(np.where(y == 1, np.log(chance), np.log1p(-chance)), weights=weight))


def _fits(kinds: Sequence[str], y: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> dict[str, ScoreMap]:
    """The maps of some kinds; steps rise along the logistic curve, which is fitted once for both."""
    found = {"none": ScoreMap("none")}
    if "prior" in kinds:
        found["prior"] = _fit_prior(y, scores, weight)
    if not {"sigmoid", "isotonic"}.isdisjoint(kinds):
        found["sigmoid"] = _fit_sigmoid(y, scores, weight)
    if "isotonic" in kinds:
        found["isotonic"] = _fit_isotonic(y, scores, weight, found["sigmoid"])
    return {kind: found[kind] for kind in kinds}


def _fit_prior(y: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> ScoreMap:
    """Shift log odds so that the mean probability is the share of positives among these rows."""
    least = 0.5 / weight.sum()
    share = float(np.clip(np.average(y, weights=weight), least, 1 - least))
    return ScoreMap("prior", share_offset(scores, share, sample_weight=weight), 1.0, reads_odds=True)


def _fit_sigmoid(y: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> ScoreMap:
    """Fit a logistic curve of the score, or of its log odds if it is a probability, so that it can be the identity."""
    reads_odds = _are_probabilities(scores)
    stretched = log_odds(scores) if reads_odds else scores
    centre, spread = float(stretched.mean()), float(stretched.std()) or 1.0
    x, y, weight = _grouped((stretched - centre) / spread, y, weight)
    coefficients, _ = fit_logistic(x, _platt_targets(y, weight), weight)
    slope = float(coefficients[1]) / spread
    return ScoreMap("sigmoid", float(coefficients[0]) - slope * centre, slope, reads_odds)


def _grouped(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, or where a class has very many, means of neighbours within it: Newton's steps then cost next to nothing."""
    parts = []
    for side in np.unique(y):
        order = np.flatnonzero(y == side)
        order = order[np.argsort(x[order], kind="stable")]
        code = np.arange(len(order)) * min(len(order), MOST_GROUPS) // len(order)
        mass = np.bincount(code, weight[order])
        mean = np.bincount(code, weight[order] * x[order]) / np.where(mass > 0, mass, 1.0)
        parts.append((mean, np.full(len(mass), side), mass))
    means, sides, masses = (np.concatenate(each) for each in zip(*parts, strict=True))
    return means, sides, masses


def _platt_targets(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return Platt's (1999) targets, a little inside 0 and 1, which keep the curve finite where classes part."""
    up, down = weight[y == 1].sum(), weight[y == 0].sum()
    return np.where(y == 1, (up + 1) / (up + 2), 1 / (down + 2))


def _fit_isotonic(y: np.ndarray, scores: np.ndarray, weight: np.ndarray, curve: ScoreMap) -> ScoreMap:
    """Fit steps that rise a little, kept half a row away from 0 and 1 so that no surprise costs an infinite loss."""
    least, counts = 0.5 / len(y), weight > 0
    places, place = np.unique(scores[counts], return_inverse=True)
    mass = np.bincount(place, weight[counts])
    shares = np.bincount(place, (weight * y)[counts]) / mass
    levels = np.clip(isotonic_regression(shares, weights=mass).x, least, 1 - least)
    is_end = np.ones(len(levels), dtype=bool)
    is_end[1:-1] = (levels[1:-1] != levels[:-2]) | (levels[1:-1] != levels[2:])
    rise = RISE if curve.slope > 0 else 0.0
    return replace(curve, kind="isotonic", x=places[is_end], y=levels[is_end], rise=rise)


def fit_logistic(
    x: np.ndarray, targets: np.ndarray, weight: np.ndarray, *, n_steps: int = 100
) -> tuple[np.ndarray, np.ndarray]:
    """Return intercept and slope of a logistic regression on one column, and their covariance that allows for weights.

    Newton's steps are halved while the likelihood falls; the covariance is the sandwich H⁻¹ (Σ w² r² x xᵀ) H⁻¹.
    """
    found = np.array([logit(np.clip(np.average(targets, weights=weight), 1e-9, 1 - 1e-9)), 0.0])
    fit, gradient, bend, rest = _at(found, x, targets, weight)
    for _ in range(n_steps):
        step = np.linalg.solve(bend, gradient)
        tried = _at(found + step, x, targets, weight)
        while tried[0] < fit - 1e-9:
            step = step / 2
            tried = _at(found + step, x, targets, weight)
        found, (fit, gradient, bend, rest) = found + step, tried
        if np.abs(step).max() < 1e-10:
            break
    inverse = np.linalg.inv(bend)
    return found, inverse @ _squares(x, rest**2) @ inverse


def _at(
    found: np.ndarray, x: np.ndarray, targets: np.ndarray, weight: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Log likelihood, its slope and bend, and weighted residuals, all from one exponential per row."""
    line = found[0] + found[1] * x
    tail = np.exp(-np.abs(line))
    chance = np.where(line >= 0, 1.0, tail) / (1 + tail)
    fit = weight @ (targets * line - np.maximum(line, 0) - np.log1p(tail))
    rest = weight * (targets - chance)
    bend = _squares(x, weight * tail / (1 + tail) ** 2)
    return float(fit), np.array([rest.sum(), rest @ x]), bend + 1e-12 * np.trace(bend) * np.eye(2), rest


def _squares(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted sums of squares and products of a constant and x."""
    weighted = weight * x
    cross = weighted.sum()
    return np.array([[weight.sum(), cross], [cross, weighted @ x]])


@dataclass(frozen=True)
class Figure:
    """A value and the interval it lies in with the stated level of confidence."""

    value: float
    low: float
    high: float
    level: float


@dataclass(frozen=True)
class CalibrationReport:
    """Slope (1 is right, below 1 too extreme), intercept (0 is right), expected error, and mean chance against rate."""

    slope: Figure
    intercept: Figure
    expected_error: Figure
    mean_probability: float
    rate: float


def calibration_report(
    y: np.ndarray,
    probabilities: np.ndarray,
    *,
    sample_weight: np.ndarray | None = None,
    n_bins: int = 10,
    level: float = 0.95,
    seed: int = 0,
) -> CalibrationReport:
    """Return how well probabilities agree with what happened, on rows that neither model nor calibration has seen.

    Slope and intercept are those of a logistic regression of y on the log odds: Cox (1958), Biometrika 45.
    """
    y, chance = np.asarray(y, dtype=float), np.asarray(probabilities, dtype=float)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    found, covariance = fit_logistic(log_odds(chance), y, weight)
    reach = norm.ppf(0.5 + level / 2) * np.sqrt(np.diag(covariance))
    intercept, slope = (
        Figure(float(value), float(value - width), float(value + width), level)
        for value, width in zip(found, reach, strict=True)
    )
    error = _expected_error(y, chance, weight, n_bins, level, np.random.default_rng(seed))
    means = (float(np.average(known, weights=weight)) for known in (chance, y))
    return CalibrationReport(slope, intercept, error, *means)


def _expected_error(
    y: np.ndarray, chance: np.ndarray, weight: np.ndarray, n_bins: int, level: float, draw: np.random.Generator
) -> Figure:
    """Return the expected calibration error over bins of equal weight; the interval reflects draws about the value.

    The mean residual of a bin is drawn from the normal that its rows imply; reflecting takes off the bias that absolute
    values of noisy means have.
    """
    order = np.argsort(chance, kind="stable")
    place = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    code = np.empty(len(y), dtype=int)
    code[order] = np.minimum((place * n_bins).astype(int), n_bins - 1)
    mass = np.bincount(code, weight, n_bins)
    sums = np.bincount(code, weight * (y - chance), n_bins)
    centred = y - chance - (sums / np.maximum(mass, 1e-12))[code]
    deviation = np.sqrt(np.bincount(code, (weight * centred) ** 2, n_bins))
    value = float(np.abs(sums).sum() / weight.sum())
    drawn = np.abs(sums + deviation * draw.normal(size=(2000, n_bins))).sum(axis=1) / weight.sum()
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2])
    return Figure(value, max(0.0, float(2 * value - high)), max(0.0, float(2 * value - low)), level)
