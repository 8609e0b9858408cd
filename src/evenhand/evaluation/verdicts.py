"""Candidates in the order of a metric, their joint figures from out-of-fold rows, and how much difference matters."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from evenhand.evaluation.influence import influence_of
from evenhand.evaluation.metrics import PredictionSet, losses_of
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.pipeline import FINAL, Figures
from evenhand.statistics import PairedDifference, holm, power_of
from evenhand.statistics.against_best import on_holdout
from evenhand.statistics.joint import FoldInfluence, JointFigures, joint_figures
from evenhand.study.registry import LOWER_IS_BETTER, POWER_DIFFERENCE

MEANS_OF_ROWS = frozenset({"accuracy", "log_loss", "brier_score_loss"})
EQUIVALENT = {"roc_auc": 0.005, "roc_auc_ovr": 0.005, "roc_auc_ovr_weighted": 0.005, "roc_auc_macro": 0.005}
EQUIVALENT_SHARE = 0.01
CUT, ONE_ROW = 0.99, 0.25
RIVALS_ON_HOLDOUT = 8


def ranked(figures: Iterable[Figures], metric: str) -> list[Figures]:
    """Best first, one without the metric last; of equals the simpler one leads, and then the one listed first."""
    sign = 1.0 if metric in LOWER_IS_BETTER else -1.0

    def place(each: Figures) -> tuple[bool, float, float]:
        mean = each.mean(metric)
        return (np.isnan(mean), sign * np.nan_to_num(mean), each.plan.weight)

    return sorted(figures, key=place)


def joint_of(
    candidate: Sequence[CandidatePredictions],
    folds: Sequence[Sequence[float]],
    metric: str,
    n_classes: int,
    minority: int,
    held: Sequence[float] | None = None,
) -> JointFigures | None:
    """The figures of all candidates in all folds, greater is better, with the influence of every judged row.

    `folds`, and `held` on the holdout, are the figures that the leaderboard shows, so that the verdicts are about
    those. None where a metric gives no influence.
    """
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    found: dict[str, FoldInfluence] = {}
    for name, rows in _rows_by_fold(candidate[0], has_holdout=held is not None).items():
        parts = [each.only(rows) for each in candidate]
        influences = [influence_of(part.prediction_set, metric, n_classes, minority) for part in parts]
        known = [each for each in influences if each is not None]
        if len(known) < len(parts):
            if name == FINAL:
                continue
            return None
        figures = sign * np.array(held if name == FINAL else [each[len(found)] for each in folds])
        strata = _strata(parts[0].prediction_set, metric, n_classes)
        found[name] = FoldInfluence(figures, sign * np.column_stack(known), parts[0].row, strata)
    on_held = found.pop(FINAL, None)
    return joint_figures(list(found.values()), on_held)


def _rows_by_fold(predicted: CandidatePredictions, *, has_holdout: bool) -> dict[str, np.ndarray]:
    """The rows of each fold in their order, then those of the holdout."""
    codes, names = pd.factorize(predicted.fold)
    found = {str(name): np.flatnonzero(codes == k) for k, name in enumerate(names) if name != FINAL}
    return found | {FINAL: np.flatnonzero(predicted.fold == FINAL)} if has_holdout and FINAL in names else found


def clipped_joint(
    candidate: Sequence[CandidatePredictions], metric: str, lead: int, *, has_holdout: bool = False
) -> JointFigures | None:
    """The joint figures of mean losses, each row's excess over the leader's cut at its 99th percentile.

    None where the metric is no mean of losses, where no candidate's excess hangs on a single row, or where another
    would lead.
    """
    losses = [_losses(each, metric) for each in candidate]
    known = [each for each in losses if each is not None]
    if len(known) < len(candidate):
        return None
    rows = np.column_stack(known)
    excess = rows - rows[:, [lead]]
    if not _hangs_on_one(excess):
        return None
    cut = rows[:, [lead]] + np.minimum(excess, np.quantile(excess, CUT, axis=0))
    found: dict[str, FoldInfluence] = {}
    for name, held in _rows_by_fold(candidate[0], has_holdout=has_holdout).items():
        mean = cut[held].mean(axis=0)
        found[name] = FoldInfluence(-mean, mean - cut[held], candidate[0].row[held], np.zeros(len(held), dtype=int))
    on_held = found.pop(FINAL, None)
    joint = joint_figures(list(found.values()), on_held)
    return joint if joint.leader == lead else None


def _hangs_on_one(excess: np.ndarray) -> bool:
    """Whether a quarter of the squared excess of any candidate comes from one row."""
    squared = excess**2
    return bool((squared.max(axis=0) > ONE_ROW * squared.sum(axis=0)).any())


def _losses(candidate: CandidatePredictions, metric: str) -> np.ndarray | None:
    """The loss of every row in the units of the metric; squared errors over the variance of their fold for R2."""
    if metric == "mean_absolute_error":
        return np.asarray(np.abs(candidate.truth - candidate.predicted))
    if metric not in {"r2", "mean_squared_error"}:
        return losses_of(candidate.prediction_set).get(metric)
    squared = (candidate.truth - candidate.predicted) ** 2
    if metric == "mean_squared_error":
        return np.asarray(squared)
    for name in dict.fromkeys(candidate.fold):
        squared[candidate.fold == name] /= candidate.truth[candidate.fold == name].var()
    return np.asarray(squared)


def _strata(predicted: PredictionSet, metric: str, n_classes: int) -> np.ndarray:
    """The class of every row, for metrics that weigh classes apart."""
    if n_classes == 0 or predicted.is_multilabel or metric in MEANS_OF_ROWS:
        return np.zeros(len(predicted.truth), dtype=int)
    return predicted.truth.astype(int)


def region_of(metric: str, best: float, equivalence: float | None) -> float:
    """The gap that makes no practical difference: as the study has it, else by metric.

    .005 of an area under the ROC curve, .01 of other shares and of R2, 1 % of the best's error; of squared errors the
    square of that, so that they and their root give one verdict.
    """
    if equivalence is not None:
        return equivalence
    if metric == "mean_squared_error":
        return ((1 + EQUIVALENT_SHARE) ** 2 - 1) * best
    return EQUIVALENT_SHARE * abs(best) if metric in LOWER_IS_BETTER else EQUIVALENT.get(metric, EQUIVALENT_SHARE)


def by_holdout(
    joint: JointFigures, names: Sequence[str], metric: str, alpha: float
) -> dict[str, dict[str, float | None]]:
    """The best, which is named first, against its nearest rivals on the holdout alone, as verdicts record it.

    P-values are Holm's over these rivals. The power is that of the first step of Holm, where a difference is hardest to
    find.
    """
    found = on_holdout(joint) or []
    rivals = dict(list(zip(names, found, strict=False))[1 : RIVALS_ON_HOLDOUT + 1])
    adjusted = holm([one.p_value for one in rivals.values()])
    return {
        name: {
            "holdout_difference": one.difference,
            "holdout_low": one.interval.low,
            "holdout_high": one.interval.high,
            "holdout_p_value": float(p_value),
            "holdout_power": power_on_holdout(one, metric, alpha / len(rivals)),
        }
        for (name, one), p_value in zip(rivals.items(), adjusted, strict=True)
    }


def power_on_holdout(found: PairedDifference, metric: str, alpha: float) -> float | None:
    """The chance to find a small difference; None for errors, which have units, and where nothing ever differed."""
    if metric in LOWER_IS_BETTER or found.interval.high <= found.interval.low:
        return None
    return power_of(POWER_DIFFERENCE, found.interval, alpha=alpha)
