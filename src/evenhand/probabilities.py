"""Probabilities from the out-of-fold scores of one candidate, and how well they hold on rows they were not made of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.calibration import calibration_report, choose_calibration, share_offset
from evenhand.said import Said
from evenhand.score_map import ScoreMap, calibrated, normalised


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


def calibrator_of(part: Said, codes: np.ndarray, setting: str, *, is_rebalanced: bool) -> Calibrator | None:
    """The calibration that a study asks for, told from out-of-fold rows; None where it gives no probabilities.

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
class Asked:
    """What the model of one fold said of its training rows before they were balanced, and of the rows held from it."""

    training: np.ndarray
    held: np.ndarray


def fitted_to(final: Asked, folds: Sequence[Asked], calibrator: Calibrator, rate: float) -> Calibrator:
    """The calibrator for the model that is served, whose few resampled rows leave an error of its own in its intercept.

    On training rows in their natural balance its mean probability must be their rate, times what a model overstates its
    own training rows by, which the models of the folds tell. No row that is held out has a say.
    """
    training, held = (
        sum(float(calibrator(getattr(each, side)).mean()) for each in folds) for side in ("training", "held")
    )
    target = rate * training / held if held > 0 else rate
    chances = calibrator(final.training)
    if not 0 < target < 1 or np.ptp(chances) == 0:
        return calibrator
    offset = share_offset(chances, target)
    return replace(calibrator, maps=tuple(each.shifted(offset) for each in calibrator.maps))


def _kinds(setting: str, is_probability: bool, is_rebalanced: bool) -> tuple[str, ...]:
    usual = ("prior" if is_rebalanced else "none",) if is_probability else ()
    return {"auto": (*usual, "sigmoid", "isotonic"), "none": usual}.get(setting, (setting,))


def row_codes(part: Said) -> np.ndarray:
    """One fold for each row, that in which it was judged first, so that its copies in repeats keep together."""
    _, first, place = np.unique(part.row, return_index=True, return_inverse=True)
    return np.unique(part.fold[first].astype(str), return_inverse=True)[1][place]


def fold_places(part: Said) -> np.ndarray:
    """The number of the fold that each row is judged in, in the order of the folds."""
    order = {name: place for place, name in enumerate(dict.fromkeys(part.fold))}
    return np.array([order[name] for name in part.fold], dtype=np.int64)


def losses_by_fold(truth: np.ndarray, chances: np.ndarray, places: np.ndarray) -> dict[str, np.ndarray]:
    """Log loss, and of two classes the Brier score, in each fold."""
    of_truth = (
        np.where(truth == 1, chances, 1 - chances) if chances.ndim == 1 else chances[np.arange(len(truth)), truth]
    )
    losses = {"log_loss": -np.log(np.clip(of_truth, np.finfo(float).eps, 1.0))}
    if chances.ndim == 1:
        losses["brier_score_loss"] = (1 - of_truth) ** 2
    sizes = np.bincount(places)
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
