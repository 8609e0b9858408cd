"""Fitting the estimator of one plan and asking it about rows."""

from typing import Any

import numpy as np

from evenhand.errors import DataError, EvenhandError
from evenhand.models.acceleration import accelerated
from evenhand.models.catalogue import build_model, fit_arguments, listing
from evenhand.records.pipeline import Balanced, Plan


def fitted_model(
    plan: Plan, balanced: Balanced, X: Any, y: np.ndarray, n_classes: int, seed: int, *, unlabelled: Any = None
) -> Any:
    """The estimator of a plan after it has seen balanced training rows.

    `unlabelled` are the rows to be judged, without labels, which only a plan that asks for them is shown.
    """
    estimator = build_model(plan, balanced.training.outputs, n_classes, seed)
    arguments = fit_arguments(estimator, y, balanced.is_weighted)
    if plan.sees_unlabelled:
        arguments |= _seen_without_labels(plan, estimator, unlabelled)
    estimator = accelerated(estimator, X)
    try:
        return estimator.fit(X, y, **arguments)
    except EvenhandError:
        raise
    except (ValueError, TypeError, FloatingPointError) as error:
        raise DataError(
            f"candidate '{plan.name}' cannot be fitted with encoding '{plan.encoding}' and balance '{plan.balance}': "
            f"{' '.join(str(error).split())}. {_input(plan.model)}Change candidates.{plan.candidate} or take it out."
        ) from error


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
    """The scale of a model's scores, the scores and the predictions for some rows; no rows give no scores."""
    if X.shape[0] == 0:
        scale, scores, predictions = scores_of(estimator, np.zeros((1, X.shape[1])))
        return scale, None if scores is None else scores[:0], predictions[:0]
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


def decisions_of(estimator: Any, X: Any) -> np.ndarray | None:
    """The decision values behind probabilities of two classes: where those round to 1, rows still have an order."""
    if not (hasattr(estimator, "predict_proba") and hasattr(estimator, "decision_function")):
        return None
    if X.shape[0] == 0:
        found = decisions_of(estimator, np.zeros((1, X.shape[1])))
        return None if found is None else found[:0]
    decisions = estimator.decision_function(X)
    return decisions if decisions.ndim == 1 else None
