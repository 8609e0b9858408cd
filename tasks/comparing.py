"""The verdict of each candidate against the best, and which of them is to be served."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import hypot

import numpy as np

from evenhand.evaluation.calibrated_scores import first_of_each
from evenhand.evaluation.new_row_limits import Z_95, bounds_of
from evenhand.evaluation.new_rows import bias_of_folds, error_of_rare_classes
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.evaluation.verdicts import by_holdout, clipped_joint, joint_of, ranked, region_of
from evenhand.records.pipeline import Figures, Judgement, Plan, Table
from evenhand.records.verdicts import Expected, MetricVerdicts, Versus
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.statistics.against_best import GapToBest, firmer, verdicts
from evenhand.statistics.expected import expected_of_chosen
from evenhand.statistics.intervals import share_interval
from evenhand.statistics.joint import JointFigures
from evenhand.storage.artifact_store import local
from evenhand.study.registry import LOWER_IS_BETTER, UNSAMPLED
from evenhand.study.study import Study

STILL = 1e-12


@step("compare", anywhere=True)
def compare(judgement: Judgement, table: Table, study: Study) -> Judgement:
    """The judgement with the verdict of each candidate, what the best is expected to score, and the one to serve."""
    comparable = [each for each in judgement.figures if each.folds.get(judgement.metric)]
    predictions = Predictions(local(judgement.predictions), table)
    predicted = {each.plan.name: predictions.of(each.plan.name, each.scale) for each in comparable}
    evidence = _evidence(judgement.metric, comparable, predicted, table)
    if evidence is None:
        return replace(judgement, chosen=_to_serve(judgement, study).plan.name)
    judgement = replace(judgement, expected=_expected(judgement.best, evidence))
    if not (others := comparable[1:]):
        return replace(judgement, chosen=_to_serve(judgement, study).plan.name)
    judgement = replace(
        judgement,
        versus=_versus(evidence, study),
        by_other_metrics=tuple(_by_other_metrics(judgement, predictions, predicted, table, study)),
    )
    n_worse, n_same = len(others) - len(judgement.group) + 1, len(judgement.same) - 1
    logger().info("%d of %d candidates are worse than the best, %d practically the same", n_worse, len(others), n_same)
    judgement = replace(judgement, chosen=_to_serve(judgement, study).plan.name)
    return _with_own_figure(judgement, comparable, predicted, table) if study.prefer == "ensemble" else judgement


def _to_serve(judgement: Judgement, study: Study) -> Figures:
    """The candidate that the study wants served."""
    if study.prefer == "simplest":
        return _simplest(judgement, study)
    ensemble = judgement.best_ensemble if study.prefer == "ensemble" else None
    return ensemble or judgement.best_served


def _with_own_figure(
    judgement: Judgement, comparable: Sequence[Figures], predicted: Mapping[str, CandidatePredictions], table: Table
) -> Judgement:
    """The judgement with what an ensemble that is preferred to the best is expected to score itself."""
    among = [each for each in comparable if each.plan.name in judgement.ensembles]
    if judgement.winner is judgement.best or judgement.winner not in among:
        return judgement
    evidence = _evidence(judgement.metric, among, predicted, table)
    if evidence is None:
        return judgement
    return replace(judgement, expected=replace(_expected(among[0], evidence), candidate=judgement.winner.plan.name))


@dataclass(frozen=True)
class _Evidence:
    """What all verdicts by one metric are made of: candidates, best first, what they predicted and their figures."""

    metric: str
    figures: Sequence[Figures]
    predicted: Sequence[CandidatePredictions]
    joint: JointFigures
    n_classes: int

    @property
    def has_holdout(self) -> bool:
        return self.joint.held is not None


def _evidence(
    metric: str, comparable: Sequence[Figures], predicted: Mapping[str, CandidatePredictions], table: Table
) -> _Evidence | None:
    if not comparable or len(comparable[0].folds[metric]) < 2:
        return None
    rows, n_classes = [predicted[each.plan.name] for each in comparable], len(table.classes)
    held = [each.holdout[metric] for each in comparable if metric in each.holdout]
    joint = joint_of(
        rows,
        [each.folds[metric] for each in comparable],
        metric,
        n_classes,
        minority_of(rows[0].out_of_fold.prediction_set, n_classes),
        held if len(held) == len(comparable) else None,
    )
    return None if joint is None else _Evidence(metric, comparable, rows, joint, n_classes)


def _by_other_metrics(
    judgement: Judgement,
    predictions: Predictions,
    predicted: dict[str, CandidatePredictions],
    table: Table,
    study: Study,
) -> Iterator[MetricVerdicts]:
    """The verdicts by the other metrics that a study asks for, each against the best by that metric."""
    for metric in (each for each in study.metrics if each != judgement.metric):
        comparable = ranked((each for each in judgement.figures if each.folds.get(metric)), metric)
        for each in (one for one in comparable if one.plan.name not in predicted):
            predicted[each.plan.name] = predictions.of(each.plan.name, each.scale)
        if (evidence := _evidence(metric, comparable, predicted, table)) is not None:
            yield MetricVerdicts(metric, comparable[0].plan.name, _versus(evidence, study))


def _versus(evidence: _Evidence, study: Study) -> tuple[Versus, ...]:
    """The verdict of every candidate but the best, and what the holdout alone says of the nearest."""
    alone = by_holdout(evidence.joint, [each.plan.name for each in evidence.figures], evidence.metric, study.alpha)
    named = list(zip(evidence.figures, _verdicts(evidence, study), strict=True))[1:]
    return tuple(_record(each.plan.name, gap, alone.get(each.plan.name, {})) for each, gap in named)


def _record(name: str, gap: GapToBest, alone: Mapping[str, float | None]) -> Versus:
    return Versus(name, gap.estimate, gap.low, gap.high, gap.p_value, gap.verdict, gap.detectable, **alone)


def _verdicts(evidence: _Evidence, study: Study) -> list[GapToBest]:
    metric, joint = evidence.metric, evidence.joint
    asked = study.equivalence if metric == study.metric or study.metric is None else None
    region = region_of(metric, evidence.figures[0].mean(metric), asked)
    share, (least, most) = study.split.repeats / len(joint.folds), bounds_of(metric)
    decided = partial(verdicts, region=region, alpha=study.alpha, test_share=share, span=most - least)
    rows = evidence.predicted if evidence.has_holdout else [each.out_of_fold for each in evidence.predicted]
    cut = clipped_joint(rows, metric, joint.leader, has_holdout=evidence.has_holdout)
    return decided(joint) if cut is None else firmer(decided(joint), decided(cut))


def _expected(best: Figures, evidence: _Evidence) -> Expected:
    """What the leader is expected to score on many new rows; folds of few rows show some metrics too high."""
    metric, joint = evidence.metric, evidence.joint
    judged = evidence.predicted[joint.leader].out_of_fold
    is_still = joint.covariance[joint.leader, joint.leader] < STILL
    at_bound = _error_at_bound(best.cv_interval.get(metric), judged, metric) if is_still else 0.0
    estimate, interval = expected_of_chosen(joint, least_error=at_bound)
    bias = bias_of_folds(judged, float(joint.means[joint.leader]), metric)
    row_bias = bias * float(np.mean(joint.rows_of_folds))
    low, high, row_error = interval.low, interval.high, float(joint.row_errors[joint.leader])
    if rare := error_of_rare_classes(judged, metric, evidence.n_classes):
        row_error, unseen = hypot(row_error, rare), Z_95 * rare / len(np.unique(judged.row)) ** 0.5
        low, high = estimate - hypot(estimate - low, unseen), estimate + hypot(high - estimate, unseen)
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    ends = np.clip([sign * (each - bias) for each in (estimate, low, high)], *bounds_of(metric))
    return Expected(metric, float(ends[0]), float(min(ends)), float(max(ends)), row_error, row_bias)


def _error_at_bound(known: tuple[float, float] | None, judged: CandidatePredictions, metric: str) -> float:
    """The error of a figure that no row moves: by its interval, else by what all of the rarest class found shows."""
    if known is None and bounds_of(metric) == (0.0, 1.0) and judged.truth.dtype.kind in "iu":
        _, counts = np.unique(judged.truth[first_of_each(judged.row)], return_counts=True)
        found = share_interval(int(counts.min()), int(counts.min()))
        known = found.low, found.high
    return (known[1] - known[0]) / Z_95 if known else 0.0


def _simplest(judgement: Judgement, study: Study) -> Figures:
    """The cheapest kind of candidate, of those practically the same as the best that can be served, and the better one.

    Of one kind, what learned from the rows as they are comes before what resamples them.
    """
    same = [each for each in judgement.figures if each.plan.name in judgement.same and not each.plan.sees_unlabelled]
    group = same or [judgement.best_served]
    return min(group, key=lambda each: (each.plan.weight, not _as_they_are(each.plan, study)))


def _as_they_are(plan: Plan, study: Study) -> bool:
    return plan.balance in study.balance and study.balance_kind(plan.balance) in UNSAMPLED
