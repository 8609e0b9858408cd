"""Fitting the estimator of one plan and asking it about rows."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from evenhand.errors import CandidateError, EvenhandError
from evenhand.estimators.labels import OneModelALabel
from evenhand.models.acceleration import accelerated, few_threads
from evenhand.models.catalogue import build_model, fit_arguments, listing
from evenhand.models.packing.by_columns import fitted_by_columns
from evenhand.records.pipeline import Balanced, Plan, Prepared
from evenhand.records.regression import COEFFICIENTS, LEVEL
from evenhand.statistics.label_sets import label_columns
from evenhand.storage.packed import Packed

NEARLY_CONSTANT = 1e-6  # distance of decision values
BASELINES = "sklearn.dummy."  # constant by intent
LASTING = (ValueError, TypeError, ArithmeticError)  # what the same rows and parameters raise again


def fitted_model(
    plan: Plan, balanced: Balanced, X: Any, y: np.ndarray, n_classes: int, seed: int, *, unlabelled: Any = None
) -> Any:
    """The estimator of a plan after it has seen balanced training rows.

    `unlabelled` are the rows to be judged, without labels, which only a plan that asks for them is shown.
    """
    with failing_alone(plan):
        _check_logarithm(plan, y)
        estimator = build_model(plan, balanced.training.outputs, n_classes, seed)
        arguments = fit_arguments(estimator, y, balanced.is_weighted)
        if plan.sees_unlabelled:
            arguments |= _seen_without_labels(plan, estimator, unlabelled)
        goal = label_columns(y, plan.n_labels) if plan.n_labels else y
        if isinstance(X, Packed):
            return _fitted_in_parts(estimator, X, goal, arguments)
        with few_threads(X):
            return accelerated(estimator, X).fit(X, goal, **arguments)


def _fitted_in_parts(estimator: Any, X: Packed, y: np.ndarray, arguments: dict[str, Any]) -> Any:
    """A model that reads some rows or some columns of a packed matrix at a time."""
    if isinstance(estimator, LinearSVC):
        from evenhand.models.packing.linear_blocks import fitted_by_blocks  # compiled code, that few runs need

        return fitted_by_blocks(estimator, X, y, **arguments)
    return fitted_by_columns(estimator, X, y, **arguments)


@contextmanager
def failing_alone(plan: Plan) -> Iterator[None]:
    """Have whatever a model raises end its candidate alone, with the reason in words of the study."""
    try:
        yield
    except EvenhandError:
        raise
    except Exception as error:  # a model may be of anybody
        raise unfit(plan, _cause(error), is_lasting=isinstance(error, LASTING)) from error


def unfit(plan: Plan, cause: str, *, is_lasting: bool = True) -> CandidateError:
    """The error of a candidate that cannot be fitted; a lasting cause is the same each time it is tried."""
    error = CandidateError(
        f"candidate '{plan.name}' cannot be fitted with encoding '{plan.encoding}' and balance '{plan.balance}': "
        f"{cause}{'' if cause.endswith(('.', '!', '?')) else '.'} {_input(plan.model)}"
        f"Change candidates.{plan.candidate} or take it out."
    )
    error.cause, error.is_lasting = cause, is_lasting
    return error


def late(plan: Plan, cause: str) -> CandidateError:
    """The error of a candidate with which nothing is wrong, but for which the study's minutes were too few."""
    error = CandidateError(
        f"candidate '{plan.name}' was stopped: {cause}. Raise minutes, or put candidates.{plan.candidate} further up."
    )
    error.cause, error.is_lasting, error.is_late = cause, False, True
    return error


def check_finite(plan: Plan, scores: np.ndarray | None, predictions: np.ndarray) -> None:
    """Refuse scores and predicted numbers that are none; infinite decision values have an order and may stay."""
    for values, bad in ((scores, np.isnan), (predictions, lambda each: ~np.isfinite(each))):
        if values is not None and values.dtype.kind == "f" and (n_bad := int(np.sum(bad(values)))):
            raise unfit(plan, f"{n_bad:,} of {values.size:,} predicted values are not finite numbers")


def _check_logarithm(plan: Plan, y: np.ndarray) -> None:
    if plan.target_transform == "log" and (n_low := int(np.sum(y <= -1))):
        raise unfit(
            plan,
            f"target_transform: log takes the logarithm of 1 + target, but {n_low:,} of {len(y):,} training rows have "
            f"a target of -1 or less, down to {float(np.min(y)):g}: use standard, rank_normal or none",
        )


def _cause(error: Exception) -> str:
    """What a model raised, in one line; the kind of error where its words alone may not be understood."""
    words = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"it needs more memory than there is{': ' if words else ''}{words}"
    return words if words and isinstance(error, ValueError) else f"{type(error).__name__}: {words}".rstrip(": ")


def _seen_without_labels(plan: Plan, estimator: Any, unlabelled: Any) -> dict[str, Any]:
    """The argument of `fit` that holds rows to be judged; where there are none, training rows alone are counted."""
    if unlabelled is None:
        raise EvenhandError(
            f"candidate '{plan.name}' counts frequencies over the rows to be judged too, which are not at hand when it "
            "is served, so it cannot be. Take its counterpart with frequencies: train, which was judged beside it."
        )
    if unlabelled.shape[0] == 0:
        inner = "regressor__" if plan.target_transform != "none" else ""
        estimator.set_params(**{f"{inner}frequencies": "train"})
        return {}
    return {"unlabelled": unlabelled}


def _input(model: str) -> str:
    """What a model takes, where that is not just any number."""
    takes = listing(model).takes
    return "" if takes == "numbers" else f"{model} takes {takes}. "


def scores_of(estimator: Any, X: Any) -> tuple[str, np.ndarray | None, np.ndarray]:
    """The scale of a model's scores, the scores and the predictions for some rows; no rows give no scores.

    Of several labels, scores and predictions have a column for each.
    """
    if X.shape[0] == 0:
        scale, scores, predictions = scores_of(estimator, np.zeros((1, X.shape[1])))
        return scale, None if scores is None else scores[:0], predictions[:0]
    with few_threads(X):
        return _scored(estimator, X)


def _scored(estimator: Any, X: Any) -> tuple[str, np.ndarray | None, np.ndarray]:
    if isinstance(estimator, OneModelALabel):
        scores = estimator.scores(X)
        scale = "value" if scores is None else "probability" if estimator.has_probabilities else "decision"
        return scale, scores, estimator.predict(X)
    if hasattr(estimator, "predict_proba"):
        probabilities = estimator.predict_proba(X)
        predictions = estimator.classes_[probabilities.argmax(axis=1)]
        return "probability", probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities, predictions
    if hasattr(estimator, "decision_function"):
        decisions = estimator.decision_function(X)
        is_flat = decisions.ndim == 1
        predictions = estimator.classes_[(decisions > 0).astype(int)] if is_flat else estimator.predict(X)
        return "decision", decisions, predictions
    return "value", None, estimator.predict(X)


def has_decisions(estimator: Any) -> bool:
    """Whether there may be decision values behind probabilities."""
    return hasattr(estimator, "predict_proba") and hasattr(estimator, "decision_function")


def decisions_of(estimator: Any, X: Any) -> np.ndarray | None:
    """The decision values behind probabilities of two classes: where those round to 1, rows still have an order."""
    if not has_decisions(estimator):
        return None
    if X.shape[0] == 0:
        found = decisions_of(estimator, np.zeros((1, X.shape[1])))
        return None if found is None else found[:0]
    decisions = estimator.decision_function(X)
    return decisions if decisions.ndim == 1 else None


def nearly_constant(plan: Plan, truth: np.ndarray, *given: np.ndarray | None) -> list[str]:
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


def warnings_of(estimator: Any) -> list[str]:
    """Solvers that stopped before they were done, and what stands for an exact fit."""
    if isinstance(estimator, OneModelALabel):
        return list(dict.fromkeys(words for one in estimator.estimators_ for words in warnings_of(one)))
    estimator = getattr(estimator, "regressor_", estimator)
    return [*_stopped(estimator), *filter(None, [getattr(estimator, "approximation_", "")])]


def _stopped(estimator: Any) -> list[str]:
    if hasattr(estimator, "do_early_stopping_"):  # boosting, whose max_iter is the number of trees asked for
        return []
    done, most = getattr(estimator, "n_iter_", None), getattr(estimator, "max_iter", None)
    if done is None or not isinstance(most, int) or most <= 0 or np.max(done) < most:
        return []
    return [f"stopped at max_iter={most} before it converged"]


def keep_coefficients(folder: Path, estimator: Any, plan: Plan, prepared: Prepared) -> None:
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
