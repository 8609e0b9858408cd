"""Pairs of candidates that were named beforehand: which of the two is better, practically the same, or not separated.

The gap of a pair and its variance are those of a candidate to the best (see against_best): the gap of all judged rows,
over folds and on the holdout, and the covariance of these rows, raised for training rows that are drawn anew. The
critical value is the quantile of the greatest gap of all pairs, above or below zero, that pairs without any difference
show together; those found leave, and the rest are looked at again. So the chance that any pair is called different
where none is, is alpha at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from evenhand.statistics.against_best import POWER, HeldGaps, critical_of, factors, p_value_of
from evenhand.statistics.equal_candidates import LEAST_FACTOR, LEAST_FACTOR_HELD, weight_of_folds
from evenhand.statistics.joint import JointFigures

PairVerdict = Literal["better", "worse", "same", "unseparated"]
N_DRAWS = 10_000


@dataclass(frozen=True)
class PairGap:
    """By how much the first of a pair is better, with limits that hold for all pairs at once, and what that makes it.

    `detectable` is the true gap that would be found in 80 of 100 runs.
    """

    verdict: PairVerdict
    estimate: float
    low: float
    high: float
    detectable: float
    p_value: float


def paired_verdicts(
    joint: JointFigures,
    pairs: Sequence[tuple[int, int]],
    *,
    region: float = 0.0,
    alpha: float = 0.05,
    n_families: int = 1,
    test_share: float | None = None,
    seed: int = 0,
) -> list[PairGap]:
    """Return the verdict on each pair of columns; alpha is shared evenly among the families of pairs of a study."""
    gaps, deviations, covariance = _gaps(joint, pairs, test_share)
    p_values, criticals = _stepped(gaps, deviations, covariance, joint.all_degrees, alpha / n_families, seed)
    found = []
    for gap, deviation, p_value, critical in zip(gaps.tolist(), deviations.tolist(), p_values, criticals, strict=True):
        low, high = gap - critical * deviation, gap + critical * deviation
        is_known = bool(joint.all_degrees) or low == high  # rows too few to know their spread separate nobody
        low, high = (low, high) if is_known else (min(low, 0.0), max(high, 0.0))
        detectable = (critical + float(norm.ppf(POWER))) * deviation
        adjusted = min(1.0, n_families * p_value) if is_known else 1.0
        found.append(PairGap(_verdict(low, high, region), gap, low, high, detectable, adjusted))
    return found


def _gaps(
    joint: JointFigures, pairs: Sequence[tuple[int, int]], test_share: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gap of every pair, its deviation, and the covariance of all gaps from the judged rows."""
    contrast = np.zeros((len(pairs), joint.folds.shape[1]))
    for place, (first, second) in enumerate(pairs):
        contrast[place, first] += 1
        contrast[place, second] -= 1
    covariance, by_fold = contrast @ joint.covariance @ contrast.T, joint.folds @ contrast.T
    within = np.mean([np.diag(contrast @ each @ contrast.T) for each in joint.of_folds], axis=0)
    gaps, held, on_held = contrast @ joint.means, joint.held, None
    if held is not None:
        of_held, weight = contrast @ held.covariance @ contrast.T, weight_of_folds(held.share)
        on_held = HeldGaps(contrast @ held.figures, _of_rows(of_held, contrast, held.covariance))
    factor, of_fits = factors(by_fold, within, on_held, test_share)
    variances = _of_rows(covariance, contrast, joint.covariance) * factor
    if held is not None and on_held is not None:
        gaps = (1 - held.share) * gaps + held.share * on_held.gaps
        more = np.maximum(LEAST_FACTOR_HELD * on_held.of_rows, on_held.of_rows + of_fits)
        variances = weight**2 * variances + held.share**2 * more
        covariance = weight**2 * LEAST_FACTOR * covariance + held.share**2 * LEAST_FACTOR_HELD * of_held
    return gaps, np.sqrt(variances), covariance


def _of_rows(covariance: np.ndarray, contrast: np.ndarray, single: np.ndarray) -> np.ndarray:
    """The variance of every gap; what is left of a zero after rounding is zero."""
    own, scale = np.diag(covariance), (contrast**2) @ np.diag(single)
    return np.where(own > 1e-12 * scale, own, 0.0)


def _stepped(
    gaps: np.ndarray, deviations: np.ndarray, covariance: np.ndarray, degrees: int, alpha: float, seed: int
) -> tuple[list[float], list[float]]:
    """The p-value and the critical value of every pair, of the step in which it left or of the last one."""
    p_values, criticals, active = np.ones(len(gaps)), np.zeros(len(gaps)), np.ones(len(gaps), dtype=bool)
    while active.any():
        nulls = greatest_of(covariance[np.ix_(active, active)], degrees, seed=seed)
        critical = critical_of(nulls, alpha)
        criticals[active] = critical
        p_values[active] = [
            p_value_of(abs(gap), spread, nulls) for gap, spread in zip(gaps[active], deviations[active], strict=True)
        ]
        found = active & (np.abs(gaps) > critical * deviations)
        if not found.any():
            break
        active &= ~found
    return p_values.tolist(), criticals.tolist()


def greatest_of(covariance: np.ndarray, degrees: int, *, seed: int = 0, n_draws: int = N_DRAWS) -> np.ndarray:
    """Return draws of the greatest standardised gap, either way, of pairs without any difference."""
    draw = np.random.default_rng(seed)
    own = np.sqrt(np.maximum(np.diag(covariance), 0))
    values, vectors = np.linalg.eigh(covariance)
    noise = draw.normal(size=(n_draws, len(own))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    tiny = 1e-6 * own.max(initial=0.0)
    standard = np.divide(np.abs(noise), own, out=np.zeros_like(noise), where=own > tiny).max(axis=1)
    return np.asarray(standard / np.sqrt(draw.chisquare(max(degrees, 1), n_draws) / max(degrees, 1)))


def _verdict(low: float, high: float, region: float) -> PairVerdict:
    if -region <= low and high <= region:
        return "same"
    return "better" if low > 0 else "worse" if high < 0 else "unseparated"
