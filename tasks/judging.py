"""From the scores of all candidates to their metrics, ranked, with the rows they are about."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.errors import ConfError, DataError
from evenhand.evaluation.intervals import intervals_of_means
from evenhand.evaluation.metrics import applicable, usual_metric
from evenhand.evaluation.verdicts import ranked
from evenhand.records.failures import Failed
from evenhand.records.fit_budget import budget_note
from evenhand.records.pipeline import FINAL, Figures, Judgement, Plan, Prepared, Scores, Table
from evenhand.runtime.steps import step
from evenhand.statistics.label_sets import label_codes
from evenhand.storage.arrays import read_arrays
from evenhand.storage.artifact_store import Entry, Store, local
from evenhand.storage.matrices import read_matrix_rows
from evenhand.study.study import Study

CODE = "evenhand.tasks.judging:_write_predictions"
READ = ("truth", "predictions", "scores", "decisions")
UNLABELLED = "sees unlabelled rows: those to be judged are counted too, so it is not served"


@step("judge")
def judge(
    plans: Sequence[Plan],
    scores: Mapping[tuple[str, str], Scores],
    prepared: Mapping[tuple[str, str], Prepared],
    table: Table,
    study: Study,
    failed: tuple[Failed, ...] = (),
) -> Judgement:
    """Every candidate with its metrics over folds and on the holdout, best first, and those that failed beside them."""
    n_classes = len(table.classes)
    metric = study.metric or usual_metric(n_classes, table.is_multilabel)
    _check_metrics(study, metric, table)
    figures = [figures_of(made, [each for (name, _), each in scores.items() if name == made.name]) for made in plans]
    if all(np.isnan(each.mean(metric)) for each in figures):
        raise DataError(
            f"metric: no candidate has {metric} on every fold: its models give no such score, or a fold has rows of "
            "one class only. Choose another metric, or lower split.folds."
        )
    kept = _predictions(list(scores.values()), list(prepared.values()), table)
    chosen = (metric, *study.metrics) if study.metrics else applicable(n_classes, table.is_multilabel)
    return Judgement(
        metric=metric,
        metrics=tuple(dict.fromkeys(chosen)),
        figures=tuple(ranked(figures, metric)),
        predictions=kept.reference.inside("predictions.parquet"),
        digest=kept.digest,
        removed=tuple({each.fold: each.removed for each in prepared.values() if each.removed is not None}.values()),
        failed=failed,
    )


def figures_of(plan: Plan, scores: Sequence[Scores]) -> Figures:
    """The metrics and costs of one candidate from its scores on each fold."""
    folds = [each for each in scores if each.fold != FINAL]
    final = next((each for each in scores if each.fold == FINAL), None)
    names = list(dict.fromkeys(name for each in folds for name in each.held_metrics))
    settled = final.settled if final else folds[0].settled
    budgeted = tuple(each.budgeted for each in scores if each.budgeted is not None)
    notes = dict.fromkeys([UNLABELLED] if plan.sees_unlabelled else [])
    notes |= dict.fromkeys(warning for each in scores for warning in each.warnings)
    if note := budget_note(budgeted, FINAL):
        notes[note] = None
    return Figures(
        plan=replace(plan, settled=settled) if settled else plan,
        folds={
            name: tuple(each.held_metrics[name] for each in folds)
            for name in names
            if all(name in each.held_metrics for each in folds)
        },
        train=_means([each.training_metrics for each in folds]),
        holdout=final.held_metrics if final else {},
        fit_seconds=float(np.mean([each.fit_seconds for each in scores])),
        predict_seconds=float(np.mean([each.predict_seconds for each in scores])),
        peak_mb=max(each.peak_mb for each in scores),
        solver=scores[0].solver,
        scale=scores[0].scale,
        warnings=tuple(notes),
        budgeted=budgeted,
        n_reused=sum(each.reused for each in scores),
        cv_interval=_fold_intervals(folds),
        holdout_interval={name: (low, high) for name, (low, high, _) in final.held_spreads.items()} if final else {},
    )


def _fold_intervals(folds: Sequence[Scores]) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each metric's mean over folds."""
    return intervals_of_means([each.held_metrics for each in folds], [each.held_spreads for each in folds])


def _means(each: Sequence[dict[str, float]]) -> dict[str, float]:
    shared = set.intersection(*(set(metrics) for metrics in each)) if each else set()
    return (
        {name: float(np.mean([metrics[name] for metrics in each])) for name in each[0] if name in shared}
        if each
        else {}
    )


def _check_metrics(study: Study, metric: str, table: Table) -> None:
    n_classes = len(table.classes)
    known = applicable(n_classes, table.is_multilabel)
    kind = (
        "several labels"
        if table.is_multilabel
        else {0: "numbers", 2: "two classes"}.get(n_classes, f"{n_classes} classes")
    )
    for key, name in (("metric", metric), *(("metrics", name) for name in study.metrics)):
        if name not in known:
            raise ConfError(f"{key}: {name} does not fit a target of {kind}; use one of {', '.join(known)}")


def _predictions(scores: Sequence[Scores], prepared: Sequence[Prepared], table: Table) -> Entry:
    """One Parquet file with the truth, score and prediction of every candidate for every judged row."""
    rows = {each.fold: read_matrix_rows(local(each.held.stored)) for each in prepared}
    inputs = {
        "scores": [[each.plan, each.fold, each.digest] for each in scores],
        "rows": [[each.fold, each.held.digest] for each in prepared],
        "classes": table.classes,
    }
    return Store().keep("predictions", inputs, CODE, lambda folder: _write_predictions(folder, scores, rows, table))


def _write_predictions(
    folder: Path, scores: Sequence[Scores], rows: dict[str, np.ndarray], table: Table
) -> dict[str, Any]:
    folds = [fold for fold in dict.fromkeys(each.fold for each in scores) if len(rows[fold])]
    kept = {(each.plan, each.fold): read_arrays(local(each.stored), *READ) for each in scores}
    plans = list(dict.fromkeys(each.plan for each in scores))
    columns: dict[str, Any] = {
        "row": np.concatenate([rows[fold] for fold in folds]),
        "fold": np.concatenate([np.full(len(rows[fold]), fold, dtype=object) for fold in folds]),
        "truth": np.concatenate([kept[plans[0], fold]["truth"] for fold in folds]),
    }
    for plan in plans:
        predicted = np.concatenate([kept[plan, fold]["predictions"] for fold in folds])
        columns[f"predicted:{plan}"] = label_codes(predicted) if table.is_multilabel else predicted
        scores_by_fold = [kept[plan, fold]["scores"] for fold in folds]
        if scores_by_fold[0].size and scores_by_fold[0].ndim == 1:
            columns[f"score:{plan}"] = np.concatenate(scores_by_fold)
            if (decided := [kept[plan, fold]["decisions"] for fold in folds])[0].size:
                columns[f"decision:{plan}"] = np.concatenate(decided)
        elif scores_by_fold[0].size:
            joined = np.concatenate(scores_by_fold)
            columns |= {f"score:{plan}:{name}": joined[:, k] for k, name in enumerate(table.classes)}
    labels = {
        "is_multilabel": json.dumps(table.is_multilabel),
        "classes": json.dumps([str(label) for label in table.classes]),
        "labels": json.dumps(table.classes),
    }
    made = pa.table(columns).replace_schema_metadata(labels)
    pq.write_table(made, folder / "predictions.parquet", compression="zstd")
    return {"n_rows": made.num_rows, "plans": plans}
