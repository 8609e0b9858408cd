"""From a name in conf to an unfitted estimator or sampler."""

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

from evenhand.errors import ConfError, nearest
from evenhand.estimators.distances import inverse_square
from evenhand.estimators.labels import OneModelALabel
from evenhand.estimators.machines.composition import with_columns
from evenhand.models.entries.models import ModelEntry
from evenhand.records.pipeline import Output, Plan
from evenhand.study.registry import MODELS, Task, named_object

INVERSE_SQUARE = "inverse_square"
NOT_OURS_TO_SET = {
    "probability": "SVC(probability=True) is gone from scikit-learn; leave it out, scores are calibrated afterwards",
    "decision_function_shape": "scores are read one column a class: leave decision_function_shape out",
}


def listing(model: str) -> ModelEntry:
    """The entry of a model family, or one made up for the class at a dotted path."""
    if model in MODELS:
        return MODELS[model]
    task: Task = "regression" if _is(class_of(model), is_regressor, RegressorMixin) else "classification"
    return ModelEntry(name=model, home=model, task=task, takes="numbers", ranges={}, cost=1.0)


@cache
def class_of(model: str) -> type:
    """The class behind a name or a dotted path; what is no classifier or regressor is refused before it is called."""
    home = MODELS[model].home if model in MODELS else model
    found = named_object(home, f"model '{model}'")
    if not is_estimator(found):
        kind = "class" if isinstance(found, type) else type(found).__name__
        raise ConfError(
            f"model '{model}' should be a scikit-learn estimator class; {home} is a {kind} that is none. It was not "
            "called. Name a class that derives from sklearn.base.BaseEstimator."
        )
    if not (_is(found, is_classifier, ClassifierMixin) or _is(found, is_regressor, RegressorMixin)):
        raise ConfError(
            f"model '{model}' should be a classifier or a regressor; {home} is an estimator that is neither. "
            "Name another class, or let it derive from ClassifierMixin or RegressorMixin."
        )
    return found


def is_estimator(found: Any) -> bool:
    """Whether something is a class of scikit-learn estimators."""
    return isinstance(found, type) and issubclass(found, BaseEstimator)


def _is(found: type, asks: Callable[[Any], bool], mixin: type) -> bool:
    """Whether an estimator class is of a kind, by its base classes or else by the tags of one that is made."""
    if issubclass(found, ClassifierMixin | RegressorMixin):
        return issubclass(found, mixin)
    try:
        return asks(found())
    except TypeError:
        return False


def parameter_mistake(model: str, name: str) -> str:
    """Why a model does not take a parameter; empty if it does."""
    parameters = inspect.signature(class_of(model)).parameters
    known = sorted(parameters)
    if model in MODELS and name in NOT_OURS_TO_SET:
        return NOT_OURS_TO_SET[name]
    if name in known or any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return ""
    return f"{model} has no parameter '{name}'.{nearest(name, known)} Known: {', '.join(known)}"


def reads_weights(model: str, multiclass: str | None = None) -> bool:
    """Whether a model can weigh classes, or rows; the wrappers for several classes pass no weights of rows on."""
    found = class_of(model)
    return "class_weight" in inspect.signature(found).parameters or (multiclass is None and _fit_takes_weights(found))


def takes_unlabelled(model: str) -> bool:
    """Whether a fit can be given the rows to be judged, without labels."""
    fit = getattr(class_of(model), "fit", None)
    return fit is not None and "unlabelled" in inspect.signature(fit).parameters


def predicts_numbers(model: str) -> bool:
    """Whether a model is a regressor."""
    return listing(model).task == "regression"


def build_model(plan: Plan, outputs: tuple[Output, ...], n_classes: int, seed: int) -> Any:
    """The unfitted estimator of one plan, with what depends on the encoded columns filled in."""
    entry, found = listing(plan.model), class_of(plan.model)
    known = inspect.signature(found).parameters
    params = {**entry.defaults, **plan.params, **plan.settled}
    if isinstance(params.get("kernel"), dict):
        params["kernel"] = with_columns(params["kernel"], partial(_positions, plan.encoding, outputs))
    if params.get("weights") == INVERSE_SQUARE:
        params["weights"] = inverse_square
    if "random_state" in known:
        params.setdefault("random_state", seed)
    codes = [j for j, output in enumerate(outputs) if output.kind == "code"]
    if "categorical" in known and codes:
        params.setdefault("categorical", codes)
    if "min_categories" in known and len(codes) == len(outputs):
        params.setdefault("min_categories", [output.n_codes for output in outputs])
    return _wrapped(found(**params), plan, n_classes, seed)


def _positions(encoding: str, outputs: tuple[Output, ...], names: Any) -> list[int]:
    """Where the encoded columns stand that came from some columns of the table."""
    found: list[int] = []
    for name in [names] if isinstance(names, str) else names:
        own = [j for j, output in enumerate(outputs) if output.source == name]
        if not own:
            raise ConfError(
                f"a kernel names column '{name}', of which encoding '{encoding}' leaves nothing on these rows. Take it "
                "out of the kernel, or raise drop_missing_above or select.top."
            )
        found += own
    return found


def fit_arguments(estimator: Any, y: np.ndarray, is_weighted: bool) -> dict[str, Any]:
    """What `fit` is given beside X and y so that classes weigh alike; sets class_weight where the model has it."""
    if not is_weighted:
        return {}
    if isinstance(estimator, OneModelALabel):
        estimator.set_params(is_balanced=True)
        return {}
    inner = next(
        name for name in ("class_weight", "estimator__class_weight", "") if name in (*estimator.get_params(), "")
    )
    if inner:
        estimator.set_params(**{inner: "balanced"})
        return {}
    counts = np.bincount(y)
    return {"sample_weight": (len(y) / (np.count_nonzero(counts) * np.maximum(counts, 1)))[y]}


def _fit_takes_weights(found: type) -> bool:
    return "sample_weight" in inspect.signature(found.fit).parameters  # type: ignore[attr-defined]


def _wrapped(estimator: Any, plan: Plan, n_classes: int, seed: int) -> Any:
    if plan.n_labels:
        return OneModelALabel(estimator)
    if plan.target_transform != "none":
        transformers = {
            "standard": StandardScaler(),
            "log": FunctionTransformer(np.log1p, np.expm1, check_inverse=False),
            "rank_normal": QuantileTransformer(output_distribution="normal", random_state=seed),
        }
        return TransformedTargetRegressor(
            estimator, transformer=transformers[plan.target_transform], check_inverse=False
        )
    if plan.multiclass == "one_vs_one":
        return OneVsOneClassifier(estimator)
    if plan.multiclass == "one_vs_rest":
        return OneVsRestClassifier(estimator)
    if plan.multiclass == "error_correcting":
        assert plan.code_length is not None
        return OutputCodeClassifier(estimator, code_size=(plan.code_length + 0.5) / n_classes, random_state=seed)
    return estimator
