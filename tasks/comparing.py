"""The verdict of each candidate against the best, and which of them is to be served."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.evaluation.paired_comparison import minority_of, paired
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.evaluation.verdicts import clipped_joint, joint_of, ranked, region_of
from evenhand.records.pipeline import Figures, Judgement, Plan, Table
from evenhand.records.verdicts import Expected, MetricVerdicts, Versus
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.statistics import Comparison, holm, power_of
from evenhand.statistics.against_best import GapToBest, firmer, verdicts
from evenhand.statistics.expected import expected_of_chosen
from evenhand.statistics.joint import JointFigures
from evenhand.storage.artifact_store import local
from evenhand.study.registry import LOWER_IS_BETTER, POWER_DIFFERENCE, UNSAMPLED
from evenhand.study.study import Study

RIVALS_ON_HOLDOUT = 8
Z_95, STILL = 1.96, 1e-12
DRAWS_ON_HOLDOUT = 400  # the least p-value of so many draws is still below 0.05 after Holm over eight


@step("compare", anywhere=True)
def compare(judgement: Judgement, table: Table, study: Study) -> Judgement:
    """The judgement with the verdict of each candidate, what the best is expected to score, and the one to serve."""
    comparable = [each for each in judgement.figures if each.folds.get(judgement.metric)]
    predicted = _out_of_fold(judgement, comparable, table)
    joint = _joint(judgement.metric, comparable, predicted, table)
    if joint is None:
        return replace(judgement, chosen=judgement.best_served.plan.name)
    judgement = replace(judgement, expected=_expected(judgement.best, judgement.metric, joint))
    others = comparable[1:]
    if not others:
        return replace(judgement, chosen=judgement.best_served.plan.name)
    found = _verdicts(judgement.metric, comparable[0], joint, predicted, study)
    on_holdout = _on_holdout(judgement, comparable[: RIVALS_ON_HOLDOUT + 1], table, study.alpha)
    versus = [_versus(each.plan.name, gap) for each, gap in zip(others, found[1:], strict=True)]
    judgement = replace(
        judgement,
        versus=tuple(replace(each, **on_holdout.get(each.name, {})) for each in versus),
        by_other_metrics=tuple(_by_other_metrics(judgement, table, study)),
    )
    n_worse, n_same = len(others) - len(judgement.group) + 1, len(judgement.same) - 1
    logger().info("%d of %d candidates are worse than the best, %d practically the same", n_worse, len(others), n_same)
    chosen = _simplest(judgement, study) if study.prefer == "simplest" else judgement.best_served
    return replace(judgement, chosen=chosen.plan.name)


def _out_of_fold(judgement: Judgement, comparable: Sequence[Figures], table: Table) -> list[CandidatePredictions]:
    predictions = Predictions(local(judgement.predictions), table)
    return [predictions.of(each.plan.name, each.scale).out_of_fold for each in comparable]


def _by_other_metrics(judgement: Judgement, table: Table, study: Study) -> Iterator[MetricVerdicts]:
    """The verdicts by the other metrics that a study asks for, each against the best by that metric."""
    for metric in (each for each in study.metrics if each != judgement.metric):
        comparable = ranked((each for each in judgement.figures if each.folds.get(metric)), metric)
        predicted = _out_of_fold(judgement, comparable, table)
        if (joint := _joint(metric, comparable, predicted, table)) is None:
            continue
        gaps = _verdicts(metric, comparable[0], joint, predicted, study)
        names = [each.plan.name for each in comparable]
        versus = tuple(_versus(name, gap) for name, gap in zip(names[1:], gaps[1:], strict=True))
        yield MetricVerdicts(metric, names[0], versus)


def _joint(
    metric: str, comparable: Sequence[Figures], predicted: Sequence[CandidatePredictions], table: Table
) -> JointFigures | None:
    n_classes = len(table.classes)
    if not comparable or len(comparable[0].folds[metric]) < 2:
        return None
    folds = [each.folds[metric] for each in comparable]
    return joint_of(predicted, folds, metric, n_classes, minority_of(predicted[0].prediction_set, n_classes))


def _verdicts(
    metric: str, best: Figures, joint: JointFigures, predicted: Sequence[CandidatePredictions], study: Study
) -> list[GapToBest]:
    asked = study.equivalence if metric == study.metric or study.metric is None else None
    region = region_of(metric, best.mean(metric), asked)
    share = study.split.repeats / len(joint.folds)
    found = verdicts(joint, region=region, alpha=study.alpha, test_share=share)
    cut = clipped_joint(predicted, metric, joint.leader)
    if cut is None:
        return found
    return firmer(found, verdicts(cut, region=region, alpha=study.alpha, test_share=share))


def _expected(best: Figures, metric: str, joint: JointFigures) -> Expected:
    low, high = best.cv_interval.get(metric, (0.0, 0.0))
    at_bound = (high - low) / Z_95 if joint.covariance[joint.leader, joint.leader] < STILL else 0.0
    estimate, interval = expected_of_chosen(joint, least_error=at_bound)
    if metric in LOWER_IS_BETTER:
        return Expected(metric, -estimate, -interval.high, -interval.low)
    return Expected(metric, estimate, interval.low, min(interval.high, 1.0))


def _versus(name: str, gap: GapToBest) -> Versus:
    return Versus(name, gap.estimate, gap.low, gap.high, gap.p_value, gap.verdict, gap.detectable)


def _simplest(judgement: Judgement, study: Study) -> Figures:
    """The cheapest kind of candidate, of those practically the same as the best that can be served, and the better one.

    Of one kind, what learned from the rows as they are comes before what resamples them.
    """
    same = [each for each in judgement.figures if each.plan.name in judgement.same and not each.plan.sees_unlabelled]
    group = same or [judgement.best_served]
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
    predictions, metric = Predictions(local(judgement.predictions), table), judgement.metric
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
