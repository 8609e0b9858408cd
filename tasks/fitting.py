"""One candidate on one fold: fitted on balanced training rows, asked about the held ones."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import CandidateError
from evenhand.evaluation.intervals import spreads_of
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.evaluation.pictures.tree_outline import tree_outline
from evenhand.evaluation.prediction_profile import thinned_places
from evenhand.models.acceleration import solver_of
from evenhand.models.fitting import (
    check_finite,
    failing_alone,
    fitted_model,
    keep_coefficients,
    late,
    nearly_constant,
    unfit,
    warnings_of,
)
from evenhand.models.model_code import model_key
from evenhand.models.packing.forms import (
    bytes_to_fit,
    check_room,
    decisions_in_blocks,
    fit_form,
    scores_in_blocks,
)
from evenhand.records.fit_budget import Budgeted, budgeted_of
from evenhand.records.pipeline import Balanced, Plan, Prepared, Scores, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.memory import PeakMemory, room_for
from evenhand.runtime.steps import step
from evenhand.runtime.time_limit import OutOfTime, shorter, within
from evenhand.runtime.wall_clock import seconds_until
from evenhand.statistics.label_sets import label_columns
from evenhand.storage.arrays import read_arrays
from evenhand.storage.artifact_store import Entry, Store, local
from evenhand.storage.code_digest import code_digest
from evenhand.storage.matrices import read_labels, read_packed
from evenhand.storage.packed import Packed
from evenhand.study.registry import METRICS

OVER = "the minutes of the study were over before it was fitted on every fold"
AGAIN = " (as in an earlier run; it is tried again when its rows, settings or code change)"
COSTLY, TREE = 50.0, "tree.json"
TRAINING_ROWS_SCORED, MOST_ROWS_SCORED = 20_000, 200_000
CODE, MEASURE_CODE = "evenhand.tasks.fitting:_built_or_failed", "evenhand.tasks.fitting:_measure"


@step("fit", anywhere=True)
def fit(
    plan: Plan,
    prepared: Prepared,
    balanced: Balanced,
    table: Table,
    seed: int,
    time_limit: float | None = None,
    ends_at: float | None = None,
    begins_by: float | None = None,
) -> Scores:
    """The scores of one candidate on one fold, with metrics and costs; one that takes longer than its limit fails.

    What would still be under way at the moment `ends_at` is stopped then, and after `begins_by` it is not begun.
    """

    def build(folder: Path) -> dict[str, Any]:
        matrix = read_packed(local(balanced.training.stored))
        check_room(plan, matrix)
        with room_for(bytes_to_fit(plan, matrix)):
            is_late = (seconds_until(begins_by) or 0.0) < 0
            limit = 0.0 if is_late else shorter(time_limit, seconds_until(ends_at))
            return _built_or_failed(folder, plan, prepared, balanced, table, seed, limit)

    with _late_by(plan, ends_at if begins_by is None else begins_by):
        entry = Store().keep("scores", _inputs(plan, prepared, balanced, table, seed), CODE, build)
    facts = entry.facts
    if "failed" in facts:
        raise unfit(plan, f"{facts['failed']}{AGAIN if entry.reused else ''}")
    metrics = _metrics(entry, table, prepared)
    budgeted = None
    if facts["budgeted"]:
        budgeted = Budgeted(fold=prepared.fold, seconds=facts["fit_seconds"], **facts["budgeted"])
        logger().info("%s on %s: %s", plan.name, prepared.fold, budgeted.words)
    return Scores(
        plan=plan.name,
        fold=prepared.fold,
        stored=entry.reference.inside("scores.npz"),
        digest=entry.digest,
        held_metrics=metrics["held"],
        training_metrics=metrics["training"],
        held_spreads={name: (low, high, error) for name, (low, high, error) in metrics["spreads"].items()},
        fit_seconds=facts["fit_seconds"],
        predict_seconds=facts["predict_seconds"],
        peak_mb=facts["peak_mb"],
        solver=facts["solver"],
        scale=facts["scale"],
        reused=entry.reused,
        warnings=tuple(facts["warnings"]),
        settled=facts["settled"],
        budgeted=budgeted,
    )


def _inputs(plan: Plan, prepared: Prepared, balanced: Balanced, table: Table, seed: int) -> dict[str, Any]:
    """What the scores of a fit depend on."""
    return {
        **model_key(plan),
        "training": balanced.training.digest,
        "is_weighted": balanced.is_weighted,
        "held": prepared.held.digest,
        "original": prepared.training.digest,
        "is_thinned": _is_thinned(plan, prepared),
        "n_classes": len(table.classes),
        "seed": seed,
    }


@contextmanager
def _late_by(plan: Plan, ends_at: float | None) -> Iterator[None]:
    """Have a fit that ended because the minutes of its study were over say so."""
    try:
        yield
    except CandidateError as error:
        left = seconds_until(ends_at)
        if error.is_lasting or left is None or left > 0:
            raise
        raise late(plan, OVER) from error


def _built_or_failed(
    folder: Path, plan: Plan, prepared: Prepared, balanced: Balanced, table: Table, seed: int, limit: float | None
) -> dict[str, Any]:
    """The facts of a fit, or of one that fails each time it is tried; what may pass another time is raised."""
    try:
        return within(limit, lambda: _build(folder, plan, prepared, balanced, table, seed))
    except OutOfTime as end:
        raise unfit(plan, f"it took longer than time_limit, {end}", is_lasting=False) from None
    except CandidateError as error:
        if not error.is_lasting:
            raise
        return {"failed": error.cause}


def _build(folder: Path, plan: Plan, prepared: Prepared, balanced: Balanced, table: Table, seed: int) -> dict[str, Any]:
    training, held = local(balanced.training.stored), read_packed(asked := local(prepared.held.stored))
    X, y = fit_form(plan, read_packed(training)), read_labels(training)
    with PeakMemory() as memory:
        started = time.perf_counter()
        unlabelled = fit_form(plan, held) if plan.sees_unlabelled else None
        estimator = fitted_model(plan, balanced, X, y, len(table.classes), seed, unlabelled=unlabelled)
        del X
        fitted_at = time.perf_counter()
        with failing_alone(plan):
            scale, scores, predictions = scores_in_blocks(plan, estimator, held)
        predicted_at = time.perf_counter()
    decisions = decisions_in_blocks(plan, estimator, held)
    original, labels = _training_rows(plan, prepared)
    with failing_alone(plan):
        _, training_scores, training_predictions = scores_in_blocks(plan, estimator, original)
    check_finite(plan, scores, predictions)
    truth = read_labels(asked)  # not opened before everything is fitted and predicted
    found = {"scores": scores, "decisions": decisions, "predictions": predictions}
    found |= {"training_scores": training_scores, "training_predictions": training_predictions}
    found |= {"training_decisions": decisions_in_blocks(plan, estimator, original)}
    kept: dict[str, Any] = {name: _or_nothing(values) for name, values in found.items()}
    np.savez(folder / "scores.npz", truth=truth, training_truth=labels, **kept)
    if plan.n_labels:
        truth = label_columns(truth, plan.n_labels)
    keep_coefficients(folder, estimator, plan, prepared)
    _keep_tree(folder, estimator, prepared)
    return {
        "fit_seconds": fitted_at - started,
        "predict_seconds": predicted_at - fitted_at,
        "peak_mb": memory.rise_mb,
        "solver": solver_of(estimator),
        "scale": scale,
        "warnings": [*warnings_of(estimator), *nearly_constant(plan, truth, decisions, scores, predictions)],
        "settled": getattr(estimator, "settled_params_", {}),
        "budgeted": budgeted_of(estimator),
    }


def _or_nothing(values: np.ndarray | None) -> np.ndarray:
    """What a file holds of values that may not be there."""
    return np.empty(0) if values is None else values


def _training_rows(plan: Plan, prepared: Prepared) -> tuple[Any, np.ndarray]:
    """The fold's training rows before balancing, thinned out evenly where asking about all of them costs too much."""
    X, y = read_packed(folder := local(prepared.training.stored)), read_labels(folder)
    if not _is_thinned(plan, prepared):
        return X, y
    chosen = thinned_places(len(y), MOST_ROWS_SCORED)
    if plan.weight >= COSTLY:
        chosen = chosen[thinned_places(len(chosen), TRAINING_ROWS_SCORED)]
    return X.taken(chosen) if isinstance(X, Packed) else X[chosen], y[chosen]


def _is_thinned(plan: Plan, prepared: Prepared) -> bool:
    return prepared.training.n_rows > (TRAINING_ROWS_SCORED if plan.weight >= COSTLY else MOST_ROWS_SCORED)


def _metrics(entry: Entry, table: Table, prepared: Prepared) -> dict[str, dict[str, Any]]:
    """Metrics and their spread, kept apart from the scores so that a new metric costs no refit."""
    inputs = {
        "scores": entry.digest, "training": prepared.training.digest, "n_classes": len(table.classes),
        "formulas": code_digest(*METRICS.modules),
    }  # fmt: skip

    def build(_: Path) -> dict[str, Any]:
        return _measure(entry, len(table.classes), local(prepared.training.stored))

    return Store().keep("metrics", inputs, MEASURE_CODE, build).facts


def _measure(entry: Entry, n_classes: int, training: Path) -> dict[str, dict[str, Any]]:
    held = read_arrays(entry.path / "scores.npz")
    is_probability = entry.facts["scale"] == "probability"
    is_multilabel = held["predictions"].ndim == 2
    has_classes = n_classes and not is_multilabel
    minority = int(np.argmin(np.bincount(read_labels(training), minlength=n_classes))) if has_classes else 0

    def prediction_set(prefix: str) -> PredictionSet:
        truth, predictions, scores, decisions = (
            held[f"{prefix}{name}"] for name in ("truth", "predictions", "scores", "decisions")
        )
        truth = label_columns(truth, n_classes) if is_multilabel else truth
        return PredictionSet(
            truth, predictions, scores if scores.size else None, is_probability, decisions if decisions.size else None
        )

    training_metrics = metrics_of(prediction_set("training_"), n_classes, minority)
    if not len(held["truth"]):
        return {"held": {}, "training": training_metrics, "spreads": {}}
    known = metrics_of(prediction_set(""), n_classes, minority)
    spreads = spreads_of(prediction_set(""), n_classes, minority, known=known)
    return {
        "held": known,
        "training": training_metrics,
        "spreads": {name: [each.low, each.high, each.error] for name, each in spreads.items()},
    }


def _keep_tree(folder: Path, estimator: Any, prepared: Prepared) -> None:
    """The upper part of a decision tree."""
    if (found := tree_outline(estimator, [output.name for output in prepared.training.outputs])) is not None:
        (folder / TREE).write_text(json.dumps(found), encoding="utf-8")
