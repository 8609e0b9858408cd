"""Whether a challenger takes the champion's place: the same rows, a paired interval, and alpha shared among looks."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from evenhand.evaluation.bootstrap import drawn_pair
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.runtime.text import counted
from evenhand.statistics import delong_test, spend_alpha
from evenhand.study.registry import LOWER_IS_BETTER
from evenhand.study.study import Gate
from evenhand.tracking.champion_ledger import Looks, Verdict

NOTHING_LEFT = 1e-12


@dataclass(frozen=True)
class GateGap:
    """How much better the challenger is in a metric, with its interval; worse is negative whatever the metric."""

    metric: str
    challenger: float
    champion: float
    difference: float
    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Gated:
    """What the gate says, in words and figures; `look` counts the comparisons that alpha was spent on."""

    verdict: Verdict
    words: str
    gap: GateGap | None = None
    look: int = 0
    n_rows: int = 0
    guards: dict[str, float] = field(default_factory=dict)


def weigh(
    challenger: PredictionSet, champion: PredictionSet, classes: tuple[int, int],
    metric: str, gate: Gate, guards: Mapping[str, float],
    taken: Looks,
) -> Gated:  # fmt: skip
    """The verdict on two models asked about the same rows; `classes` is how many there are and which is rarest.

    `taken` are the looks before this one; what they left of alpha is shared evenly among those still to come, so that
    a horizon that is made longer spends no more than one that was as long from the beginning.
    """
    look, left = taken.n_taken + 1, gate.alpha - taken.spent
    if look > gate.horizon or left < NOTHING_LEFT:
        return Gated("keep", _nothing_left(gate, taken), n_rows=len(challenger.truth))
    if _predict_the_same(challenger, champion):
        return Gated("keep", "it predicts the same as the champion for every row", n_rows=len(challenger.truth))
    level = 1 - float(spend_alpha(left, gate.horizon - taken.n_taken)[0])
    gap = _gap(challenger, champion, classes, metric, level)
    n_rows = len(challenger.truth)
    if gap is None:
        return Gated("incomparable", f"one of the two gives no {metric} on these rows", n_rows=n_rows)
    falls = _falls(challenger, champion, classes, guards)
    sided = f"{'better' if gap.difference >= 0 else 'worse'} by {abs(gap.difference):.4f}"
    words = (
        f"{metric.replace('_', ' ')} is {gap.challenger:.4f} against {gap.champion:.4f}, {sided} "
        f"(difference {gap.low:.4f} to {gap.high:.4f} at level {level:.4f}, look {look} of {gate.horizon}) on "
        f"{counted(n_rows, 'row')} that neither was trained on"
    )
    worse = [f"{name} falls by {fall:.4f}, where {guards[name]:g} is allowed" for name, fall in falls.items()
             if not fall <= guards[name]]  # fmt: skip
    if not gap.low > gate.margin:
        return Gated("keep", f"{words}: not surely better{_by(gate.margin)}", gap, look, n_rows, falls)
    if worse:
        return Gated("keep", f"{words}, but {'; '.join(worse)}", gap, look, n_rows, falls)
    return Gated("promote", f"{words}: surely better{_by(gate.margin)}", gap, look, n_rows, falls)


def _by(margin: float) -> str:
    return f" by more than {margin:g}" if margin else ""


def _nothing_left(gate: Gate, taken: Looks) -> str:
    return (
        f"{counted(taken.n_taken, 'look')} of gate.horizon {gate.horizon} spent {taken.spent:.4f} of gate.alpha "
        f"{gate.alpha:g}, and no more is spent, whatever horizon is set: "
        "`evenhand champion restart STUDY --why ...` begins a new one"
    )


def card(found: Gated, study: str) -> str:
    """The verdict as a page to read."""
    lines = [f"# {study}: {found.verdict}", "", found.words, ""]
    if found.gap is not None:
        gap = found.gap
        lines += [
            f"| {gap.metric} | challenger | champion | better by | interval at {gap.level:.4f} |",
            "|" + "---|" * 5,
        ]
        figures = f"{gap.challenger:.4f} | {gap.champion:.4f} | {gap.difference:.4f} | {gap.low:.4f} to {gap.high:.4f}"
        lines += [f"| | {figures} |", ""]
    lines += [f"- {name} falls by {fall:.4f}" for name, fall in found.guards.items()]
    return "\n".join(lines) + "\n"


def _predict_the_same(first: PredictionSet, second: PredictionSet) -> bool:
    """Whether nothing distinguishes the two, so that no look is spent on a run that changed nothing."""
    scores = [each.predictions if each.scores is None else each.scores for each in (first, second)]
    return np.array_equal(first.predictions, second.predictions) and np.array_equal(scores[0], scores[1])


def _gap(
    first: PredictionSet, second: PredictionSet, classes: tuple[int, int], metric: str, level: float
) -> GateGap | None:
    """The paired interval: DeLong's for the area, else from paired draws of rows with a normal's width."""
    mine, theirs = (metrics_of(each, *classes).get(metric) for each in (first, second))
    if mine is None or theirs is None:
        return None
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    better = sign * (mine - theirs)
    if metric == "roc_auc" and first.ranks is not None and second.ranks is not None:
        found = delong_test(first.truth, first.ranks, second.ranks, level=level).interval
        return GateGap(metric, mine, theirs, better, found.low, found.high, level)
    drawn = drawn_pair(first, second, metric, *classes)
    gaps = drawn[:, 0] - drawn[:, 1]
    if not np.isfinite(gaps).all():
        return None
    reach = float(norm.ppf(0.5 + level / 2) * gaps.std(ddof=1))
    return GateGap(metric, mine, theirs, better, better - reach, better + reach, level)


def _falls(
    first: PredictionSet, second: PredictionSet, classes: tuple[int, int], guards: Mapping[str, float]
) -> dict[str, float]:
    """By how much the challenger is worse in each guarded metric; infinitely where it does not give it."""
    mine, theirs = metrics_of(first, *classes), metrics_of(second, *classes)
    signs = {name: -1.0 if name in LOWER_IS_BETTER else 1.0 for name in guards}
    return {
        name: signs[name] * (theirs[name] - mine[name]) if name in mine else float("inf")
        for name in guards
        if name in theirs
    }
