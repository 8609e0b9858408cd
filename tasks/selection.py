"""An ensemble chosen from the stored out-of-fold scores of all candidates, as one more candidate."""

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
from evenhand.models.ensembling import new_selection, score_matrix
from evenhand.records.pipeline import ENSEMBLE, FINAL, Ensemble, Figures, Judgement, Plan, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Store
from evenhand.study.registry import LOWER_IS_BETTER, METRICS
from evenhand.study.study import Study

TASK = "evenhand.records.pipeline:Table.task"
CODE = ("evenhand.tasks.selection:_build", "evenhand.models.ensembling:new_selection", TASK)
THRESHOLDED = "minority_accuracy"


@step("select")
def select(judgement: Judgement, table: Table, study: Study) -> Judgement:
    """The judgement with the ensemble ranked among the candidates, where the study asks for one."""
    if study.ensemble is None:
        return judgement
    metric = study.ensemble.metric or judgement.metric
    if metric == THRESHOLDED:
        raise ConfError(f"ensemble.metric: {metric} cannot steer a selection; use balanced_accuracy or recall_macro")
    members = _library(judgement, table)
    if len(members) < 2:
        raise ConfError(f"ensemble needs two candidates that give scores on one scale, but there are {len(members)}")
    inputs = {
        "predictions": judgement.digest,
        "members": [[each.plan.name, each.scale] for each in members],
        "classes": table.classes,
        "ensemble": study.ensemble,
        "metric": metric,
        "seed": study.seed,
    }
    selection = new_selection(study, metric, members)
    entry = Store().keep(
        "ensembles",
        inputs,
        [*CODE, *METRICS.modules],
        lambda folder: _build(folder, judgement, members, selection, table),
    )
    ensemble = Ensemble(weights=entry.facts["weights"], average=selection.average, metric=metric)
    logger().info("%d of %d candidates are in the ensemble", len(ensemble.weights), len(members))
    placed_ = placed(judgement, _figures(entry.facts, members, ensemble), entry.path / "predictions.parquet", ensemble)
    return replace(placed_, digest=entry.digest)


def placed(judgement: Judgement, figures: Figures, predictions: Path, ensemble: Ensemble) -> Judgement:
    """The judgement with one more candidate at its rank."""
    metric, others = judgement.metric, list(judgement.figures)
    sign = 1.0 if metric in LOWER_IS_BETTER else -1.0
    worse = [k for k, other in enumerate(others) if not sign * other.mean(metric) <= sign * figures.mean(metric)]
    others.insert(worse[0] if worse else len(others), figures)
    return replace(judgement, figures=tuple(others), predictions=predictions, ensemble=ensemble)


def _library(judgement: Judgement, table: Table) -> list[Figures]:
    """The candidates that can be served and whose scores can be averaged; of several classes only probabilities can."""
    usable = {"regression": {"value"}, "binary": {"probability", "decision"}, "multiclass": {"probability"}}[table.task]
    return [each for each in judgement.figures if each.scale in usable and not each.plan.sees_unlabelled]


def _build(
    folder: Path, judgement: Judgement, members: list[Figures], selection: EnsembleSelection, table: Table
) -> dict[str, Any]:
    rows = pq.read_table(judgement.predictions)
    fold, row = rows["fold"].to_numpy(zero_copy_only=False), rows["row"].to_numpy()
    truth, scores = rows["truth"].to_numpy(), score_matrix(rows, [member.plan.name for member in members], table)
    out = np.empty((len(truth), *scores.shape[2:]) if table.classes else len(truth))
    predictions = np.empty(len(truth), dtype=truth.dtype)
    metrics: dict[str, list[dict[str, float]]] = {"folds": [], "final": []}
    spreads: dict[str, list[dict[str, Any]]] = {"folds": [], "final": []}
    minority = int(np.argmin(np.bincount(truth[fold != FINAL]))) if table.classes else 0
    for name in dict.fromkeys(fold):
        judged = fold == name
        chosen = (fold != FINAL) if name == FINAL else (fold != FINAL) & ~np.isin(row, row[judged])
        selection.fit(scores[chosen], truth[chosen])
        predicted = _predicted(selection, scores[judged], truth[judged])
        predictions[judged] = predicted.predictions
        out[judged] = predicted.predictions if predicted.scores is None else predicted.scores
        where = "final" if name == FINAL else "folds"
        metrics[where].append(metrics_of(predicted, len(table.classes), minority))
        spreads[where].append(_spreads(predicted, len(table.classes), minority))
    selection.fit(scores[fold != FINAL], truth[fold != FINAL])
    training = metrics_of(
        _predicted(selection, scores[fold != FINAL], truth[fold != FINAL]), len(table.classes), minority
    )
    pq.write_table(_with_ensemble(rows, predictions, out, table), folder / "predictions.parquet", compression="zstd")
    weights = {member.plan.name: float(w) for member, w in zip(members, selection.weights_, strict=True) if w > 0}
    return {"metrics": metrics, "spreads": spreads, "training": training, "weights": weights}


def _spreads(predicted: PredictionSet, n_classes: int, minority: int) -> dict[str, list[float]]:
    """Low, high and standard error of every metric."""
    found = spreads_of(predicted, n_classes, minority)
    return {name: [each.low, each.high, each.error] for name, each in found.items()}


def _predicted(selection: EnsembleSelection, scores: np.ndarray, truth: np.ndarray) -> PredictionSet:
    predictions = selection.predict(scores)
    if selection.classes_ is None:
        return PredictionSet(truth, predictions, None)
    probabilities = selection.predict_proba(scores)
    return PredictionSet(
        truth, predictions, probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities, True
    )


def _with_ensemble(rows: pa.Table, predictions: np.ndarray, scores: np.ndarray, table: Table) -> pa.Table:
    rows = rows.append_column(f"predicted:{ENSEMBLE}", pa.array(predictions))
    if table.task == "binary":
        return rows.append_column(f"score:{ENSEMBLE}", pa.array(scores))
    for k, label in enumerate(table.classes):
        rows = rows.append_column(f"score:{ENSEMBLE}:{label}", pa.array(scores[:, k]))
    return rows


def _figures(facts: dict[str, Any], members: list[Figures], ensemble: Ensemble) -> Figures:
    folds, used = facts["metrics"]["folds"], [member for member in members if member.plan.name in ensemble.weights]
    errors = [{name: error for name, (_, _, error) in each.items()} for each in facts["spreads"]["folds"]]
    final = facts["spreads"]["final"][0] if facts["spreads"]["final"] else {}
    plan = Plan(
        ENSEMBLE,
        ENSEMBLE,
        ENSEMBLE,
        {"members": len(used)},
        "several",
        "several",
        weight=sum(m.plan.weight for m in used),
    )
    return Figures(
        plan=plan,
        folds={name: tuple(each[name] for each in folds) for name in folds[0] if all(name in each for each in folds)},
        train=facts["training"],
        holdout=facts["metrics"]["final"][0] if facts["metrics"]["final"] else {},
        resubstitution=facts["training"],
        fit_seconds=sum(member.fit_seconds for member in used),
        predict_seconds=sum(member.predict_seconds for member in used),
        peak_mb=max(member.peak_mb for member in used),
        solver="evenhand",
        scale="probability" if used[0].scale != "value" else "value",
        cv_interval=intervals_of_means(folds, errors),
        holdout_interval={name: (low, high) for name, (low, high, _) in final.items()},
    )
