"""Ensembles of the stored out-of-fold scores of all candidates, each as one more candidate."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.errors import ConfError
from evenhand.estimators.ensemble.selection import EnsembleSelection
from evenhand.evaluation.intervals import intervals_of_means, spreads_of
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.models.ensembling import (
    average_of,
    ensembles_of,
    library,
    new_ensemble,
    rarest,
    score_matrix,
    steering_code,
    votes_of,
)
from evenhand.records.failures import Failed
from evenhand.records.pipeline import ENSEMBLE, FINAL, Ensemble, Figures, Judgement, Plan, Table
from evenhand.records.reference import Reference
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Store, local
from evenhand.study.registry import LOWER_IS_BETTER, METRICS
from evenhand.study.study import Study

TASK = "evenhand.records.pipeline:Table.task"
CODE = (
    "evenhand.tasks.selection:_build",
    "evenhand.models.ensembling:average_of",
    "evenhand.models.ensembling:new_ensemble",
    TASK,
)
SELECTION_ONLY, VOTING_ONLY = {"initial", "bags", "bag_share", "max_size", "spare"}, {"voters", "spare"}
Made = Callable[[np.ndarray], EnsembleSelection]


@step("select")
def select(judgement: Judgement, table: Table, study: Study) -> Judgement:
    """The judgement with each ensemble ranked among the candidates, where the study asks for some."""
    candidates = judgement.figures
    for name in ensembles_of(study):
        judgement = _with_ensemble(name, candidates, judgement, table, study)
    return judgement


def _with_ensemble(
    name: str, candidates: tuple[Figures, ...], judgement: Judgement, table: Table, study: Study
) -> Judgement:
    """The judgement with one ensemble of the candidates; ensembles are made of no other ensemble."""
    assert study.ensemble is not None
    metric = study.ensemble.metric or judgement.metric
    try:
        members = library(candidates, name, metric, table)
    except ConfError as error:
        if study.strict:
            raise
        return replace(judgement, failed=(*judgement.failed, Failed(name, str(error), name)))
    counted = SELECTION_ONLY if name == ENSEMBLE else VOTING_ONLY
    inputs = {
        "name": name,
        "predictions": judgement.digest,
        "members": [[each.plan.name, each.scale] for each in members],
        "classes": table.classes,
        "ensemble": study.ensemble.model_dump(include=counted),
        "metric": metric if name == ENSEMBLE else "",
        "code": steering_code(metric) if name == ENSEMBLE else "",
        "seed": study.seed,
    }

    def made(truth: np.ndarray) -> EnsembleSelection:
        return new_ensemble(study, name, metric, average_of(members), table, rarest(truth, table))

    entry = Store().keep(
        "ensembles",
        inputs,
        [*CODE, *METRICS.modules],
        lambda folder: _build(folder, name, judgement, members, made, table),
    )
    facts = entry.facts
    ensemble = Ensemble(facts["weights"], facts["average"], metric, facts["threshold"])
    logger().info("%d of %d candidates are in the %s", len(ensemble.weights), len(members), name.replace("_", " "))
    figures = _figures(name, facts, members, ensemble)
    predictions = entry.reference.inside("predictions.parquet")
    return replace(placed(judgement, figures, predictions, ensemble), digest=entry.digest)


def placed(judgement: Judgement, figures: Figures, predictions: Reference, ensemble: Ensemble) -> Judgement:
    """The judgement with one more candidate at its rank."""
    metric, others = judgement.metric, list(judgement.figures)
    sign = 1.0 if metric in LOWER_IS_BETTER else -1.0
    worse = [k for k, other in enumerate(others) if not sign * other.mean(metric) <= sign * figures.mean(metric)]
    others.insert(worse[0] if worse else len(others), figures)
    ensembles = {**judgement.ensembles, figures.plan.name: ensemble}
    return replace(judgement, figures=tuple(others), predictions=predictions, ensembles=ensembles)


def _build(
    folder: Path, name: str, judgement: Judgement, members: list[Figures], made: Made, table: Table
) -> dict[str, Any]:
    rows = pq.read_table(local(judgement.predictions))
    fold, row = rows["fold"].to_numpy(zero_copy_only=False), rows["row"].to_numpy()
    truth, is_fold = rows["truth"].to_numpy(), fold != FINAL
    whole = made(truth[is_fold])
    scores = score_matrix(rows, [member.plan.name for member in members], table, votes=votes_of(whole))
    out = np.empty((len(truth), *scores.shape[2:]) if table.classes else len(truth))
    predictions = np.empty(len(truth), dtype=truth.dtype)
    metrics: dict[str, list[dict[str, float]]] = {"folds": [], "final": []}
    spreads: dict[str, list[dict[str, Any]]] = {"folds": [], "final": []}
    n_classes, minority = len(table.classes), rarest(truth[is_fold], table)
    for part in dict.fromkeys(fold):
        judged = fold == part
        chosen = is_fold if part == FINAL else is_fold & ~np.isin(row, row[judged])
        fitted = made(truth[chosen]).fit(scores[chosen], truth[chosen])
        predicted = _predicted(fitted, scores[judged], truth[judged])
        predictions[judged] = predicted.predictions
        out[judged] = predicted.predictions if predicted.scores is None else predicted.scores
        where = "final" if part == FINAL else "folds"
        metrics[where].append(metrics_of(predicted, n_classes, minority))
        spreads[where].append(_spreads(predicted, n_classes, minority))
    whole.fit(scores[is_fold], truth[is_fold])
    training = metrics_of(_predicted(whole, scores[is_fold], truth[is_fold]), n_classes, minority)
    columns = _with_columns(rows, name, predictions, out, table)
    pq.write_table(columns, folder / "predictions.parquet", compression="zstd")
    weights = {member.plan.name: float(w) for member, w in zip(members, whole.weights_, strict=True) if w > 0}
    return {
        "metrics": metrics,
        "spreads": spreads,
        "training": training,
        "weights": weights,
        "average": whole.average if votes_of(whole) == "soft" else "votes",
        "threshold": whole.threshold_,
    }


def _spreads(predicted: PredictionSet, n_classes: int, minority: int) -> dict[str, list[float]]:
    """Low, high and standard error of every metric."""
    found = spreads_of(predicted, n_classes, minority)
    return {name: [each.low, each.high, each.error] for name, each in found.items()}


def _predicted(fitted: EnsembleSelection, scores: np.ndarray, truth: np.ndarray) -> PredictionSet:
    predictions = fitted.predict(scores)
    if fitted.classes_ is None:
        return PredictionSet(truth, predictions, None)
    if votes_of(fitted) == "hard":
        return PredictionSet(truth, predictions, fitted.decision_function(scores))
    probabilities = fitted.predict_proba(scores)
    return PredictionSet(
        truth, predictions, probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities, True
    )


def _with_columns(rows: pa.Table, name: str, predictions: np.ndarray, scores: np.ndarray, table: Table) -> pa.Table:
    rows = rows.append_column(f"predicted:{name}", pa.array(predictions))
    if table.task == "binary":
        return rows.append_column(f"score:{name}", pa.array(scores))
    for k, label in enumerate(table.classes):
        rows = rows.append_column(f"score:{name}:{label}", pa.array(scores[:, k]))
    return rows


def _figures(name: str, facts: dict[str, Any], members: list[Figures], ensemble: Ensemble) -> Figures:
    folds, used = facts["metrics"]["folds"], [member for member in members if member.plan.name in ensemble.weights]
    final = facts["spreads"]["final"][0] if facts["spreads"]["final"] else {}
    weight = sum(member.plan.weight for member in used)
    plan = Plan(name, name, name, {"members": len(used)}, "several", "several", weight=weight)
    joined = "decision" if ensemble.average == "votes" else "probability"
    return Figures(
        plan=plan,
        folds={key: tuple(each[key] for each in folds) for key in folds[0] if all(key in each for each in folds)},
        train=facts["training"],
        holdout=facts["metrics"]["final"][0] if facts["metrics"]["final"] else {},
        fit_seconds=sum(member.fit_seconds for member in used),
        predict_seconds=sum(member.predict_seconds for member in used),
        peak_mb=max(member.peak_mb for member in used),
        solver="evenhand",
        scale=joined if facts["average"] == "votes" or used[0].scale != "value" else "value",
        cv_interval=intervals_of_means(folds, facts["spreads"]["folds"]),
        holdout_interval={key: (low, high) for key, (low, high, _) in final.items()},
    )
