"""One verdict for each candidate against the best: worse, practically the same, or not separated.

Two things move a cross-validated gap: which rows were judged, and which rows were trained on. The first is known from
the joint influence of the judged rows, with hundreds of degrees of freedom instead of the n_folds - 1 of a t-test over
folds. The second shows in part as what the gaps of the folds vary beyond the first. That excess is estimated by an
average of this pair's and of all pairs' (moderated), weighed as Nadeau and Bengio (2003), Machine Learning 52, weigh
folds that share training rows; and as a part of it is the same in all folds and cannot be seen, the variance is never
taken below 1.75 times that of the judged rows.

The leader is the best of many. The critical value is therefore the quantile of the greatest standardised gap to the
leader that equally good candidates show, the leader found anew in each draw; those found worse leave, and the rest are
looked at again. Whichever candidates are as good as the best, the chance that any of them is called worse is as stated.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import norm, t

from evenhand.statistics.joint import JointFigures

Verdict = Literal["best", "worse", "same", "unseparated"]
N_DRAWS = 4000
PRIOR_FOLDS = 6.0
LEAST_FACTOR = 1.75
POWER = 0.8


@dataclass(frozen=True)
class GapToBest:
    """By how much a candidate is behind the best: estimate, 95 % limits, and the gap that these rows would have shown.

    `low` holds for all candidates at once, as the best was found in the same rows, and decides `worse`; `high` holds
    for this candidate and decides `same`. `detectable` is the true gap that would be called worse in 80 of 100 runs.
    """

    verdict: Verdict
    estimate: float
    low: float
    high: float
    detectable: float
    p_value: float


def verdicts(
    joint: JointFigures, *, region: float = 0.0, alpha: float = 0.05, test_share: float | None = None, seed: int = 0
) -> list[GapToBest]:
    """Return the verdict of every candidate against the leader, in the order of the columns.

    `region` is the gap that makes no practical difference; `test_share` the share of rows in one test fold, where folds
    are repeated.
    """
    gaps, deviations = gaps_to_leader(joint, test_share=test_share)
    p_values, criticals = _stepped(joint, gaps, deviations, alpha, seed)
    single = float(t.isf(alpha, max(joint.degrees, 1)))
    found = []
    for j, (gap, deviation, critical) in enumerate(zip(gaps.tolist(), deviations.tolist(), criticals, strict=True)):
        low, high = gap - critical * deviation, gap + single * deviation
        if not joint.degrees and low < high:
            low, p_values[j] = min(low, 0.0), 1.0  # rows too few to know their spread separate nobody
        verdict = "best" if j == joint.leader else _verdict(low, high, region, joint.degrees)
        detectable = (critical + float(norm.ppf(POWER))) * deviation
        found.append(GapToBest(verdict, gap, low, high, detectable, p_values[j]))
    return found


def firmer(found: list[GapToBest], clipped: list[GapToBest]) -> list[GapToBest]:
    """Return the verdicts, those not separated taken from rows whose evidence against a candidate was cut where it is.

    A mean of values cut above is no greater than the mean itself: where it lies above zero, so does the mean. One wild
    error of a candidate thus hides its gap no longer.
    """
    return [
        replace(one, verdict="worse", low=cut.low, p_value=cut.p_value)
        if one.verdict == "unseparated" and cut.verdict == "worse"
        else one
        for one, cut in zip(found, clipped, strict=True)
    ]


def _stepped(
    joint: JointFigures, gaps: np.ndarray, deviations: np.ndarray, alpha: float, seed: int
) -> tuple[list[float], list[float]]:
    """The p-value and the critical value of every candidate, of the step in which it left or of the last one."""
    n_models = len(gaps)
    p_values, criticals, active = np.ones(n_models), np.zeros(n_models), np.ones(n_models, dtype=bool)
    while True:
        nulls = greatest_gaps(joint.covariance[np.ix_(active, active)], joint.degrees, seed=seed)
        critical = critical_of(nulls, alpha)
        criticals[active] = critical
        p_values[active] = [
            p_value_of(gap, spread, nulls) for gap, spread in zip(gaps[active], deviations[active], strict=True)
        ]
        worse = active & (gaps > critical * deviations)
        if not worse.any():
            return p_values.tolist(), criticals.tolist()
        active &= ~worse


def _verdict(low: float, high: float, region: float, degrees: int) -> Verdict:
    if high <= region and (degrees or low == high):
        return "same"
    return "worse" if low > 0 and degrees else "unseparated"


def critical_of(nulls: np.ndarray, alpha: float) -> float:
    """Return what a statistic must exceed for its p-value among these draws to be alpha at most; infinity if none can.

    It is one of the draws and no value between two, so that limits and p-values can never contradict each other.
    """
    place = int(alpha * (len(nulls) + 1) + 1e-9)
    return float(np.sort(nulls)[-place]) if place else float("inf")


def p_value_of(gap: float, deviation: float, nulls: np.ndarray) -> float:
    """Return the share of draws, the gap itself among them, that are as many deviations from zero as the gap."""
    if deviation == 0:
        return 1.0 if gap == 0 else 1 / (len(nulls) + 1)
    return float((np.sum(nulls >= gap / deviation) + 1) / (len(nulls) + 1))


def gaps_to_leader(joint: JointFigures, *, test_share: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return how far every candidate is behind the leader, and the standard deviation of that gap.

    It is that of the judged rows times the moderated excess of the folds' variance, weighed as Nadeau and Bengio do.
    """
    lead = joint.leader
    of_rows = _variances(joint.covariance, lead)
    between = (joint.folds[:, [lead]] - joint.folds).var(axis=0, ddof=1)
    within = np.mean([_variances(each, lead) for each in joint.of_folds], axis=0)
    factor = raised(np.delete(between, lead), np.delete(within, lead), len(joint.folds), test_share)
    gaps = joint.means[lead] - joint.means
    return gaps, np.sqrt(of_rows * np.insert(factor, lead, 1.0))


def raised(between: np.ndarray, within: np.ndarray, n_folds: int, test_share: float | None = None) -> np.ndarray:
    """Return by what factor the variance that the judged rows explain is to be raised for redrawn training rows."""
    excess, share = moderated(between, within, n_folds - 1), test_share or 1 / n_folds
    return np.maximum(LEAST_FACTOR, 1 + (1 + n_folds * share / (1 - share)) * (excess - 1))


def moderated(between: np.ndarray, within: np.ndarray, degrees: int) -> np.ndarray:
    """Return how many times the variance between folds is what its rows explain, shrunk to the mean of all pairs."""
    ratio = np.divide(between, within, out=np.ones(len(within)), where=within > 0)
    common = max(1.0, float(np.minimum(ratio, 10).mean())) if len(ratio) else 1.0
    return np.asarray((PRIOR_FOLDS * common + degrees * ratio) / (PRIOR_FOLDS + degrees))


def _variances(covariance: np.ndarray, lead: int) -> np.ndarray:
    """The variance of every candidate's gap to the leader; what is left of a zero after rounding is zero."""
    own = np.diag(covariance)
    found = own[lead] + own - 2 * covariance[lead]
    return np.where(found > 1e-12 * (own[lead] + own), found, 0.0)


def greatest_gaps(covariance: np.ndarray, degrees: int, *, seed: int = 0, n_draws: int = N_DRAWS) -> np.ndarray:
    """Return draws of the greatest standardised gap to the leader of candidates that are equally good."""
    draw = np.random.default_rng(seed)
    own = np.diag(covariance)
    deviations = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0))
    values, vectors = np.linalg.eigh(covariance)
    noise = draw.normal(size=(n_draws, len(own))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    lead = noise.argmax(axis=1)
    gaps, spread = noise.max(axis=1)[:, None] - noise, deviations[lead]
    tiny = 1e-6 * np.sqrt(own.max(initial=0.0))
    standard = np.divide(gaps, spread, out=np.zeros_like(gaps), where=spread > tiny).max(axis=1)
    scale = np.sqrt(draw.chisquare(max(degrees, 1), n_draws) / max(degrees, 1))
    return np.asarray(standard / scale)
