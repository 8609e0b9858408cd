"""Probabilities from the out-of-fold scores of one candidate, and how well they hold on rows they were not made of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.evaluation.calibration import calibration_report, choose_calibration, share_offset
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.models.probability_map import ScoreMap, calibrated, normalised

MOST_STEPS, MOST_OFFSET = 500, 30.0


@dataclass(frozen=True)
class Calibrator:
    """The maps from score to probability, one a class, and for each out-of-fold row what maps of other folds say."""

    kind: str
    log_losses: dict[str, float]
    maps: tuple[ScoreMap, ...]
    cross_fitted: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """The probabilities that scores of other rows stand for."""
        return calibrated(scores, self.maps)


def calibrator_of(
    part: CandidatePredictions, codes: np.ndarray, setting: str, *, is_rebalanced: bool
) -> Calibrator | None:
    """The calibration that a study asks for, from out-of-fold rows; None where it gives no probabilities.

    Training rows that were resampled or weighted make odds that are off by a factor, so even `none` corrects the prior.
    """
    kinds = _kinds(setting, part.is_probability, is_rebalanced)
    if part.scores is None or not kinds or len(np.unique(part.truth)) < 2:
        return None
    if part.scores.ndim == 1:
        found = choose_calibration(part.truth == 1, part.scores, folds=codes, kinds=kinds)
        return Calibrator(found.kind, found.log_losses, (found.apply,), found.cross_fitted)
    each = [
        choose_calibration(part.truth == k, column, folds=codes, kinds=kinds) for k, column in enumerate(part.scores.T)
    ]
    losses = {kind: sum(one.log_losses[kind] for one in each if kind in one.log_losses) for kind in kinds}
    chances = normalised(np.column_stack([one.cross_fitted for one in each]))
    return Calibrator(", ".join(one.kind for one in each), losses, tuple(one.apply for one in each), chances)


@dataclass(frozen=True)
class PredictionProfile:
    """Predictions of one fold's model for its training rows before they were balanced, and of the rows held from it.

    `training_shares` and `held_shares` are what those rows truly are: the share of positives, or of each class.
    """

    training: np.ndarray
    held: np.ndarray
    training_shares: np.ndarray
    held_shares: np.ndarray


def shares_of(truth: np.ndarray, n_classes: int) -> np.ndarray:
    """The share of positives where there are two classes, else that of each class."""
    shares = np.bincount(truth.astype(int), minlength=n_classes) / max(1, len(truth))
    return shares[1:] if n_classes == 2 else shares


def fitted_to(
    final: PredictionProfile, folds: Sequence[PredictionProfile], calibrator: Calibrator, *, drifts: bool = False
) -> Calibrator:
    """The calibrator for the model that is served, whose few resampled rows leave an error of its own in its intercept.

    On training rows in their natural balance its mean probability must be their rate, times what a model overstates its
    own training rows by, which the models of the folds show. No row that is held out has a say.
    """
    target = final.training_shares * _overstated(folds, calibrator, drifts)
    if not (np.isfinite(target).all() and (target > 0).all() and (target < 1).all()):
        return calibrator
    offsets = _offsets(final.training, target, calibrator)
    maps = tuple(each.shifted(float(by)) for each, by in zip(calibrator.maps, offsets, strict=True))
    return replace(calibrator, maps=maps)


def _overstated(folds: Sequence[PredictionProfile], calibrator: Calibrator, drifts: bool) -> np.ndarray:
    """By what factor models say more of their own training rows than of held ones; NaN where they say nothing of those.

    Held rows that are later may differ in what models see, which changes this, or in a rate that they do not see, which
    changes the same factor with either side set against its true share. Where rows drift, of the two that nearer to 1.
    """
    totals = [
        np.sum([np.atleast_1d(calibrator(part).mean(axis=0)) for part in parts], axis=0) for parts in _sides(folds)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = totals[0] / totals[1]
        if not drifts:
            return factor
        true = [np.sum([getattr(each, f"{side}_shares") for each in folds], axis=0) for side in ("training", "held")]
        against_truth = factor * true[1] / true[0]
        return np.where(np.abs(np.log(against_truth)) < np.abs(np.log(factor)), against_truth, factor)


def _sides(folds: Sequence[PredictionProfile]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return [each.training for each in folds], [each.held for each in folds]


def _offsets(scores: np.ndarray, target: np.ndarray, calibrator: Calibrator) -> np.ndarray:
    """What to add to the log odds of each map so that mean probabilities are the target, as near as can be."""
    if scores.ndim == 1:
        chances = calibrator(scores)
        return np.array([share_offset(chances, float(target[0])) if np.ptp(chances) > 0 else 0.0])
    target, offsets = target / target.sum(), np.zeros(len(target))
    for _ in range(MOST_STEPS):
        means = calibrated(scores, [m.shifted(by) for m, by in zip(calibrator.maps, offsets, strict=True)]).mean(axis=0)
        steps = np.log(target) - np.log(np.maximum(means, 1e-300))
        offsets = np.clip(offsets + steps, -MOST_OFFSET, MOST_OFFSET)
        if np.abs(steps).max() < 1e-9:
            break
    return offsets


def _kinds(setting: str, is_probability: bool, is_rebalanced: bool) -> tuple[str, ...]:
    usual = ("prior" if is_rebalanced else "none",) if is_probability else ()
    return {"auto": (*usual, "sigmoid", "isotonic"), "none": usual}.get(setting, (setting,))


def row_codes(part: CandidatePredictions) -> np.ndarray:
    """One fold for each row, that in which it was judged first, so that its copies in repeats keep together."""
    _, first, place = np.unique(part.row, return_index=True, return_inverse=True)
    return np.unique(part.fold[first].astype(str), return_inverse=True)[1][place]


def fold_places(part: CandidatePredictions) -> np.ndarray:
    """The number of the fold that each row is judged in, in the order of the folds."""
    order = {name: place for place, name in enumerate(dict.fromkeys(part.fold))}
    return np.array([order[name] for name in part.fold], dtype=np.int64)


def losses_by_row(truth: np.ndarray, chances: np.ndarray) -> dict[str, np.ndarray]:
    """Log loss, and of two classes the Brier score, of every row."""
    of_truth = (
        np.where(truth == 1, chances, 1 - chances) if chances.ndim == 1 else chances[np.arange(len(truth)), truth]
    )
    losses = {"log_loss": -np.log(np.clip(of_truth, np.finfo(float).eps, 1.0))}
    return losses if chances.ndim > 1 else {**losses, "brier_score_loss": (1 - of_truth) ** 2}


def losses_by_fold(truth: np.ndarray, chances: np.ndarray, places: np.ndarray) -> dict[str, np.ndarray]:
    """Log loss, and of two classes the Brier score, in each fold."""
    sizes = np.bincount(places)
    losses = losses_by_row(truth, chances)
    return {name: np.bincount(places, weights=loss) / sizes for name, loss in losses.items()}


def reliability(truth: np.ndarray, chances: np.ndarray) -> dict[str, tuple[float, ...]]:
    """Slope, intercept and expected error as (value, low, high); the first two have no value where classes part."""
    if chances.ndim != 1 or not len(truth):
        return {}
    found: dict[str, tuple[float, ...]] = {"mean_probability": (float(chances.mean()),), "rate": (float(truth.mean()),)}
    up, down = chances[truth == 1], chances[truth == 0]
    if not len(up) or not len(down) or up.min() >= down.max() or np.ptp(chances) == 0:
        return found
    report = calibration_report(truth, chances)
    for name in ("slope", "intercept", "expected_error"):
        figure = getattr(report, name)
        found[name] = (figure.value, figure.low, figure.high)
    return found


def first_of_each(rows: Sequence[int] | np.ndarray) -> np.ndarray:
    """The places of the first mention of each row, so that repeats do not count twice."""
    return np.sort(np.unique(rows, return_index=True)[1])
