"""Which candidates differ significantly from the best, and which of the others is to be served."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import t

from evenhand.evaluation.paired_comparison import paired
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.records.pipeline import Figures, Judgement, Plan, Table, Versus
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.statistics import Comparison, best_group, holm, power_of
from evenhand.study.registry import LOWER_IS_BETTER, POWER_DIFFERENCE, UNSAMPLED
from evenhand.study.study import Study

RIVALS_ON_HOLDOUT = 8
DRAWS_ON_HOLDOUT = 400  # the least p-value of so many draws is still below 0.05 after Holm over eight


@step("compare")
def compare(judgement: Judgement, table: Table, study: Study) -> Judgement:
    """The judgement with each candidate set against the best, and the one to serve chosen."""
    metric = judgement.metric
    comparable = [each for each in judgement.figures if each.folds.get(metric)]
    if len(comparable) < 2:
        return replace(judgement, chosen=judgement.best.plan.name)
    best, others = comparable[0], comparable[1:]
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    folds = sign * np.array([each.folds[metric] for each in comparable])
    gaps, deviations, p_values = corrected_t_tests(folds, study.split.repeats)
    group = best_group([each.plan.name for each in comparable], folds.mean(axis=1), p_values, alpha=study.alpha)
    reach = float(t.ppf(0.975, folds.shape[1] - 1))
    on_holdout = _on_holdout(judgement, [best, *others[:RIVALS_ON_HOLDOUT]], table, study.alpha)
    versus = [
        _versus(each, gaps[0, k], reach * deviations[0, k], group.p_values[each.plan.name], study.alpha)
        for k, each in enumerate(others, 1)
    ]
    versus_with_holdout = tuple(replace(each, **on_holdout.get(each.name, {})) for each in versus)
    judgement = replace(judgement, versus=versus_with_holdout)
    chosen = _simplest(judgement, study) if study.prefer == "simplest" else best
    logger().info(
        "%d of %d candidates are not significantly different from the best", len(judgement.group) - 1, len(others)
    )
    return replace(judgement, chosen=chosen.plan.name)


def corrected_t_tests(folds: np.ndarray, repeats: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences, deviations and p-values of all pairs of rows (models) over columns (folds).

    Folds share training rows, so the variance is (1/k + n_test/n_train) s² instead of s²/k: Nadeau, Bengio (2003).
    """
    n_folds = folds.shape[1]
    per_repeat = n_folds / repeats
    differences = folds[:, None, :] - folds[None, :, :]
    gaps = differences.mean(axis=2)
    deviations = np.sqrt((1 / n_folds + 1 / (per_repeat - 1)) * differences.var(axis=2, ddof=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.where(deviations > 0, np.abs(gaps) / deviations, np.where(gaps == 0, 0.0, np.inf))
    return gaps, deviations, 2 * t.sf(statistics, n_folds - 1)


def _versus(each: Figures, difference: float, reach: float, p_value: float, alpha: float) -> Versus:
    return Versus(each.plan.name, difference, difference - reach, difference + reach, p_value, p_value <= alpha)


def _simplest(judgement: Judgement, study: Study) -> Figures:
    """The cheapest kind of candidate among those not significantly different from the best, the better one of equals.

    Of one kind, what learned from the rows as they are comes before what resamples them.
    """
    group = [each for each in judgement.figures if each.plan.name in judgement.group]
    return min(group, key=lambda each: (each.plan.weight, not _as_they_are(each.plan, study)))


def _as_they_are(plan: Plan, study: Study) -> bool:
    return plan.balance in study.balance and study.balance_kind(plan.balance) in UNSAMPLED


def _on_holdout(
    judgement: Judgement, rivals: Sequence[Figures], table: Table, alpha: float
) -> dict[str, dict[str, Any]]:
    """The best against its nearest rivals on the holdout: DeLong for areas, the paired bootstrap for other metrics.

    P-values are Holm's over these rivals. The power is that of the first step of Holm, where a difference is hardest to
    find.
    """
    predictions, metric = Predictions(judgement.predictions, table), judgement.metric
    best, *others = [predictions.of(each.plan.name, each.scale).holdout for each in rivals]
    if len(best) < 2 or (table.classes and len(np.unique(best.truth)) < 2):
        return {}
    found = {each.name: one for each in others if (one := _pair(metric, best, each, table)) is not None}
    adjusted = holm([one.p_value for one in found.values()])
    return {
        name: {
            "holdout_difference": one.difference,
            "holdout_low": one.interval.low,
            "holdout_high": one.interval.high,
            "holdout_p_value": float(p_value),
            "holdout_power": _power(one, metric, alpha / len(found)),
        }
        for (name, one), p_value in zip(found.items(), adjusted, strict=True)
    }


def _power(found: Comparison, metric: str, alpha: float) -> float | None:
    """The chance to find a true difference; None for errors, which have units, and where nothing ever differed."""
    if metric in LOWER_IS_BETTER or found.interval.high <= found.interval.low:
        return None
    return power_of(POWER_DIFFERENCE, found.interval, alpha=alpha)


def _pair(metric: str, best: CandidatePredictions, other: CandidatePredictions, table: Table) -> Comparison | None:
    return paired(
        best.prediction_set, other.prediction_set, [metric], len(table.classes), n_draws=DRAWS_ON_HOLDOUT
    ).get(metric)
