"""One verdict for each candidate against the best: worse, practically the same, or not separated.

The gap is that of all judged rows: the mean over folds and the figure on the holdout, weighed by their rows. Two things
move it: which rows were judged, and which rows were trained on. The first is known from the joint influence of the
judged rows, with hundreds of degrees of freedom instead of the n_folds - 1 of a t-test over folds. The second shows in
part as what the gaps of the folds, and of the holdout as a further fit, vary beyond the first. That excess is estimated
by an average of this pair's and of all pairs' (moderated), weighed as Nadeau and Bengio (2003), Machine Learning 52,
weigh folds that share training rows; and as a part of it is the same in all folds and cannot be seen, the variance over
folds is never taken below 1.75 times that of the judged rows. The models of the holdout are one more fit, on nearly the
same rows.

The leader is the best of many by its folds, and by them alone. All candidates are taken for equally good, the leader
found anew in each draw: those whose standardised gap to it is beyond what the greatest of equals shows are worse and
leave, and the rest are looked at again. Where no gap is beyond chance by itself but the rest lie further apart than
equals do, each is taken for the best (Hsu 1981, Annals of Statistics 9), and is worse where its own gap is beyond what
the best shows behind whoever leads. Both looks share alpha: where all or the upper ones are equal, the chance that any
of them is called worse is as stated, and so is the chance that the truly best is, whatever the others are.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np
from scipy.stats import norm, rankdata, t

from evenhand.statistics.equal_candidates import (
    LEAST_FACTOR,
    LEAST_FACTOR_HELD,
    STEADY,
    equal_candidates,
    weight_of_folds,
)
from evenhand.statistics.joint import JointFigures
from evenhand.statistics.records import Interval, PairedDifference

Verdict = Literal["best", "worse", "same", "unseparated"]
PRIOR_FOLDS = 6.0
POWER = 0.8
BY_ITSELF = 8.0  # an excess beyond this is of fits that fail each by itself, not of training rows that folds share


@dataclass(frozen=True)
class GapToBest:
    """By how much a candidate is behind the best: estimate, 95 % limits, and the gap that these rows would have shown.

    `low` takes into account that the best was found in the same rows, and decides `worse`; `high` decides `same`. Both
    hold for this candidate. `detectable` is the true gap that would be called worse in 80 of 100 runs.
    """

    verdict: Verdict
    estimate: float
    low: float
    high: float
    detectable: float
    p_value: float


def verdicts(
    joint: JointFigures,
    *,
    region: float = 0.0,
    alpha: float = 0.05,
    test_share: float | None = None,
    span: float = inf,
    seed: int = 0,
) -> list[GapToBest]:
    """Return the verdict of every candidate against the leader, in the order of the columns.

    `region` is the gap that makes no practical difference; `test_share` the share of rows in one test fold, where folds
    are repeated; `span` how far apart two figures of the metric can lie.
    """
    gaps, deviations = gaps_to_leader(joint, test_share=test_share)
    degrees = joint.all_degrees
    single = float(t.isf(alpha, max(degrees, 1)))
    p_values, criticals = _stepped(joint, gaps, deviations, alpha, seed)
    found = []
    for j, (gap, deviation, critical) in enumerate(zip(gaps.tolist(), deviations.tolist(), criticals, strict=True)):
        low, high = max(gap - critical * deviation, -span), min(gap + single * deviation, span)
        if not degrees and low < high:
            low, p_values[j] = min(low, 0.0), 1.0  # rows too few to know their spread separate nobody
        verdict = "best" if j == joint.leader else _verdict((low, gap, high), region, degrees)
        detectable = min((critical + float(norm.ppf(POWER))) * deviation, span)
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
    equals = equal_candidates(joint, seed=seed)
    p_values, criticals, active = np.ones(len(gaps)), np.zeros(len(gaps)), np.ones(len(gaps), dtype=bool)
    steady = np.sqrt(_variances(equals.covariance, joint.leader))
    unsteady = np.divide(deviations, steady, out=np.ones(len(gaps)), where=steady > 0)
    ratios = np.divide(gaps, deviations, out=np.where(gaps > 0, np.inf, -np.inf), where=deviations > 0)
    while True:
        nulls, (spread, spreads) = equals.gaps(active), equals.spreads(active, -gaps, unsteady)
        greatest = nulls.max(axis=1)
        either = np.sort(np.minimum(_ranks(greatest), _ranks(spreads)))
        p_values[active] = [_p_of_either(ratio, greatest, either) for ratio in ratios[active]]
        criticals[active] = _critical_of_either(greatest, either, alpha)
        worse = active & (p_values <= alpha)
        if not worse.any():
            break
        active &= ~worse
    if (apart := _p_of_either(spread, spreads, either)) <= alpha:
        least = float(t.isf(alpha, max(joint.all_degrees, 1)))
        for j, null in zip(np.flatnonzero(active), nulls.T, strict=True):
            if unsteady[j] > STEADY:  # its variance is a guess from few folds, so that only the firm look may find it
                continue
            by_itself = float(t.sf(ratios[j], max(joint.all_degrees, 1)))
            p_values[j] = max(p_value_of(gaps[j], deviations[j], null), by_itself, apart)
            criticals[j] = max(critical_of(null, alpha), least)
    return p_values.tolist(), criticals.tolist()


def _ranks(draws: np.ndarray) -> np.ndarray:
    """How many of the draws are as great as each, itself among them."""
    return np.asarray(rankdata(-draws, method="max"))


def _p_of_either(seen: float, draws: np.ndarray, either: np.ndarray) -> float:
    """The share of draws, the observed one among them, of which either statistic is as rare as what was seen."""
    rank = int(np.sum(draws >= seen)) + 1
    return float((np.searchsorted(either, rank, side="right") + 1) / (len(draws) + 1))


def _critical_of_either(draws: np.ndarray, either: np.ndarray, alpha: float) -> float:
    """What the first statistic must exceed for that share to be alpha at most; infinity if nothing can."""
    place = int(alpha * (len(draws) + 1) + 1e-9)
    rank = int(either[place - 1]) - 1 if place else 0
    return float(np.sort(draws)[-rank]) if rank > 0 else float("inf")


def _verdict(limits: tuple[float, float, float], region: float, degrees: int) -> Verdict:
    low, gap, high = limits
    if -region <= gap and high <= region and (degrees or low == high):
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

    Over folds its variance is that of the judged rows times the moderated excess of the folds' variance, weighed as
    Nadeau and Bengio do; on the holdout that of its rows and of one more fit.
    """
    lead, held = joint.leader, joint.held
    by_fold = np.delete(joint.folds[:, [lead]] - joint.folds, lead, axis=1)
    within = np.delete(np.mean([_variances(each, lead) for each in joint.of_folds], axis=0), lead)
    gaps, variances, on_held = joint.means[lead] - joint.means, _variances(joint.covariance, lead), None
    if held is not None:
        of_rows, held_gaps = _variances(held.covariance, lead), held.figures[lead] - held.figures
        on_held = HeldGaps(np.delete(held_gaps, lead), np.delete(of_rows, lead))
        gaps = (1 - held.share) * gaps + held.share * held_gaps
    factor, of_fits = factors(by_fold, within, on_held, test_share)
    variances = variances * np.insert(factor, lead, 1.0)
    if held is not None:
        more = np.maximum(LEAST_FACTOR_HELD * of_rows, of_rows + np.insert(of_fits, lead, 0.0))
        variances = weight_of_folds(held.share) ** 2 * variances + held.share**2 * more
    return gaps, np.sqrt(variances)


@dataclass(frozen=True)
class HeldGaps:
    """The gaps of some candidates on the holdout, and the variance that its rows give them."""

    gaps: np.ndarray
    of_rows: np.ndarray


def factors(
    by_fold: np.ndarray, within: np.ndarray, held: HeldGaps | None, test_share: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return by what factor the variance of gaps that the judged rows explain is to be raised, and that of one fit.

    The holdout is a further fit: how far its gap lies from those of the folds shows an unsteady candidate too.
    """
    n_folds, share = len(by_fold), test_share or 1 / len(by_fold)
    between, degrees = by_fold.var(axis=0, ddof=1), n_folds - 1
    if held is not None:
        by_rows = LEAST_FACTOR_HELD * held.of_rows + LEAST_FACTOR * within / n_folds
        beyond = ((held.gaps - by_fold.mean(axis=0)) ** 2 - by_rows) / (1 + 1 / n_folds)
        between = (degrees * between + np.maximum(within + beyond, 0)) / (degrees + 1)
        degrees += 1
    excess = moderated(between, within, degrees) - 1
    shared, weight = np.minimum(excess, BY_ITSELF), 1 + n_folds * share / (1 - share)
    return np.maximum(LEAST_FACTOR, 1 + weight * shared + (excess - shared)), excess * within


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


def on_holdout(joint: JointFigures) -> list[PairedDifference] | None:
    """Return how far every candidate is behind the leader on the holdout alone; None without one that says something.

    Student's t of the rows of the rarest class, as for areas after DeLong; training rows are taken as they are.
    """
    if (held := joint.held) is None:
        return None
    reach, found = float(t.ppf(0.975, held.degrees)), []
    deviations = np.sqrt(_variances(held.covariance, joint.leader))
    for gap, deviation in zip((held.figures[joint.leader] - held.figures).tolist(), deviations.tolist(), strict=True):
        statistic = gap / deviation if deviation > 0 else 0.0
        limits = Interval(gap - reach * deviation, gap + reach * deviation, 0.95)
        p_value = float(2 * t.sf(abs(statistic), held.degrees)) if deviation > 0 else float(gap == 0)
        found.append(PairedDifference(gap, limits, statistic, p_value, "influence of the rows"))
    return found
