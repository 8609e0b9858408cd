"""One candidate on one fold: fitted on balanced training rows, asked about the held ones."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import CandidateError
from evenhand.evaluation.intervals import spreads_of
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.evaluation.tree_outline import tree_outline
from evenhand.models.acceleration import solver_of
from evenhand.models.catalogue import listing
from evenhand.models.fitting import check_finite, decisions_of, failing_alone, fitted_model, scores_of, unfit
from evenhand.models.model_code import model_key
from evenhand.records.fit_budget import Budgeted, budgeted_of
from evenhand.records.pipeline import Balanced, Plan, Prepared, Scores, Table
from evenhand.records.regression import COEFFICIENTS, LEVEL
from evenhand.runtime.logs import logger
from evenhand.runtime.memory import PeakMemory
from evenhand.runtime.steps import step
from evenhand.runtime.time_limit import OutOfTime, within
from evenhand.storage.artifact_store import Entry, Store, local
from evenhand.storage.code_digest import code_digest
from evenhand.storage.matrices import read_labels, read_matrix, read_unlabelled
from evenhand.study.registry import METRICS

AGAIN = " (as in an earlier run; it is tried again when its rows, settings or code change)"
COSTLY, TREE = 50.0, "tree.json"
NEARLY_CONSTANT = 1e-6  # distance of decision values
BASELINES = "sklearn.dummy."  # constant by intent
TRAINING_ROWS_SCORED = 20_000
CODE, MEASURE_CODE = "evenhand.tasks.fitting:_built_or_failed", "evenhand.tasks.fitting:_measure"


@step("fit", anywhere=True)
def fit(
    plan: Plan,
    prepared: Prepared,
    balanced: Balanced,
    table: Table,
    seed: int,
    time_limit: float | None = None,
) -> Scores:
    """The scores of one candidate on one fold, with metrics and costs; one that takes longer than its limit fails."""
    inputs = {
        **model_key(plan),
        "training": balanced.training.digest,
        "is_weighted": balanced.is_weighted,
        "held": prepared.held.digest,
        "original": prepared.training.digest,
        "is_thinned": _is_thinned(plan, prepared),
        "n_classes": len(table.classes),
        "seed": seed,
    }

    def build(folder: Path) -> dict[str, Any]:
        return _built_or_failed(folder, plan, prepared, balanced, table, seed, time_limit)

    entry = Store().keep("scores", inputs, CODE, build)
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
    X, y = read_matrix(local(balanced.training.stored))
    held = read_unlabelled(local(prepared.held.stored))
    with PeakMemory() as memory:
        started = time.perf_counter()
        estimator = fitted_model(plan, balanced, X, y, len(table.classes), seed, unlabelled=held)
        fitted_at = time.perf_counter()
        with failing_alone(plan):
            scale, scores, predictions = scores_of(estimator, held)
        predicted_at = time.perf_counter()
    decisions = decisions_of(estimator, held)
    original, labels = _training_rows(plan, prepared)
    with failing_alone(plan):
        _, training_scores, training_predictions = scores_of(estimator, original)
    check_finite(plan, scores, predictions)
    truth = read_labels(local(prepared.held.stored))  # not opened before everything is fitted and predicted
    np.savez(
        folder / "scores.npz",
        truth=truth,
        scores=_or_nothing(scores),
        decisions=_or_nothing(decisions),
        predictions=predictions,
        training_truth=labels,
        training_scores=_or_nothing(training_scores),
        training_decisions=_or_nothing(decisions_of(estimator, original)),
        training_predictions=training_predictions,
    )
    _keep_coefficients(folder, estimator, plan, prepared)
    _keep_tree(folder, estimator, prepared)
    return {
        "fit_seconds": fitted_at - started,
        "predict_seconds": predicted_at - fitted_at,
        "peak_mb": memory.rise_mb,
        "solver": solver_of(estimator),
        "scale": scale,
        "warnings": [*_warnings(estimator), *_nearly_constant(plan, truth, decisions, scores, predictions)],
        "settled": getattr(estimator, "settled_params_", {}),
        "budgeted": budgeted_of(estimator),
    }


def _or_nothing(values: np.ndarray | None) -> np.ndarray:
    """What a file holds of values that may not be there."""
    return np.empty(0) if values is None else values


def _training_rows(plan: Plan, prepared: Prepared) -> tuple[Any, np.ndarray]:
    """The fold's training rows before balancing, thinned out evenly where asking about all of them costs too much."""
    X, y = read_matrix(local(prepared.training.stored))
    if not _is_thinned(plan, prepared):
        return X, y
    chosen = np.linspace(0, len(y) - 1, TRAINING_ROWS_SCORED).astype(int)
    return X[chosen], y[chosen]


def _is_thinned(plan: Plan, prepared: Prepared) -> bool:
    return plan.weight >= COSTLY and prepared.training.n_rows > TRAINING_ROWS_SCORED


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
    held = dict(np.load(entry.path / "scores.npz"))
    is_probability = entry.facts["scale"] == "probability"
    minority = int(np.argmin(np.bincount(read_matrix(training)[1], minlength=n_classes))) if n_classes else 0

    def prediction_set(prefix: str) -> PredictionSet:
        truth, predictions, scores, decisions = (
            held[f"{prefix}{name}"] for name in ("truth", "predictions", "scores", "decisions")
        )
        return PredictionSet(
            truth, predictions, scores if scores.size else None, is_probability, decisions if decisions.size else None
        )

    training_metrics = metrics_of(prediction_set("training_"), n_classes, minority)
    if not len(held["truth"]):
        return {"held": {}, "training": training_metrics, "spreads": {}}
    spreads = spreads_of(prediction_set(""), n_classes, minority)
    return {
        "held": metrics_of(prediction_set(""), n_classes, minority),
        "training": training_metrics,
        "spreads": {name: [each.low, each.high, each.error] for name, each in spreads.items()},
    }


def _keep_coefficients(folder: Path, estimator: Any, plan: Plan, prepared: Prepared) -> None:
    """The table of a linear regression, beside its scores."""
    inner = getattr(estimator, "regressor_", estimator)
    if not hasattr(inner, "p_values_"):
        return
    names = ["intercept", *(output.name for output in prepared.training.outputs)]
    low, high = inner.confidence_intervals(LEVEL)
    figures = [[inner.intercept_, *inner.coef_], inner.standard_errors_, inner.t_values_, inner.p_values_, low, high]
    inflation = [np.nan, *inner.variance_inflation_]
    measured = ("coefficient", "standard_error", "t", "p", "low", "high")
    rows = [
        {
            "column": name,
            **dict(zip(measured, map(float, values), strict=True)),
            "variance_inflation": float(vif) if np.isfinite(vif) else None,
            "is_made_up": bool(np.isinf(vif)),
        }
        for name, vif, *values in zip(names, inflation, *figures, strict=True)
    ]
    facts = {
        "n_rows": prepared.training.n_rows,
        "degrees_of_freedom": inner.degrees_of_freedom_,
        "r2": inner.r2_,
        "adjusted_r2": inner.adjusted_r2_,
        "residual_standard_error": inner.residual_standard_error_,
        "f": inner.f_value_,
        "f_degrees": inner.n_columns_used_,
        "f_p": float(inner.f_p_value_),
        "target_transform": plan.target_transform,
        "coefficients": rows,
    }
    (folder / COEFFICIENTS).write_text(json.dumps(facts), encoding="utf-8")


def _nearly_constant(plan: Plan, truth: np.ndarray, *given: np.ndarray | None) -> list[str]:
    """Whether held rows get nearly one and the same score, so that a rank by it means little.

    Decision values count where a model gives them, else its probabilities, else its predictions by the spread of truth.
    """
    values = next(each for each in given if each is not None)
    if len(values) < 2 or listing(plan.model).home.startswith(BASELINES):
        return []
    limit = NEARLY_CONSTANT * (1.0 if given[1] is not None else float(np.ptp(truth)))
    apart = float(np.ptp(values, axis=0).max())
    if apart >= limit:
        return []
    return [f"scores are nearly constant: held rows differ by less than {NEARLY_CONSTANT:g}"]


def _keep_tree(folder: Path, estimator: Any, prepared: Prepared) -> None:
    """The upper part of a decision tree."""
    if (found := tree_outline(estimator, [output.name for output in prepared.training.outputs])) is not None:
        (folder / TREE).write_text(json.dumps(found), encoding="utf-8")


def _warnings(estimator: Any) -> list[str]:
    """Solvers that stopped before they were done, and what stands for an exact fit."""
    estimator = getattr(estimator, "regressor_", estimator)
    return [*_stopped(estimator), *filter(None, [getattr(estimator, "approximation_", "")])]


def _stopped(estimator: Any) -> list[str]:
    if hasattr(estimator, "do_early_stopping_"):  # boosting, whose max_iter is the number of trees asked for
        return []
    done, most = getattr(estimator, "n_iter_", None), getattr(estimator, "max_iter", None)
    if done is None or not isinstance(most, int) or most <= 0 or np.max(done) < most:
        return []
    return [f"stopped at max_iter={most} before it converged"]
