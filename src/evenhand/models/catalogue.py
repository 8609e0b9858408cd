"""From a name in conf to an unfitted estimator or sampler."""

import inspect
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.base import is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

from evenhand.errors import ConfError, EvenhandError, listed, nearest
from evenhand.estimators.distances import inverse_square
from evenhand.records.pipeline import Output, Plan


@dataclass(frozen=True)
class Listing:
    """A model of the catalogue: where its class is, what we set, and a rough relative cost of one fit."""

    home: str
    defaults: dict[str, Any] = field(default_factory=dict)
    cost: float = 1.0
    target_transform: str = "none"


MODELS: dict[str, Listing] = {
    "gaussian_nb": Listing("sklearn.naive_bayes.GaussianNB"),
    "bernoulli_nb": Listing("sklearn.naive_bayes.BernoulliNB"),
    "multinomial_nb": Listing("sklearn.naive_bayes.MultinomialNB"),
    "complement_nb": Listing("sklearn.naive_bayes.ComplementNB"),
    "categorical_nb": Listing("sklearn.naive_bayes.CategoricalNB"),
    "mixed_nb": Listing("evenhand.estimators.naive_bayes.mixed_nb.MixedNB"),
    "selective_nb": Listing("evenhand.estimators.naive_bayes.selective_nb.SelectiveNB", cost=10),
    "knn": Listing("sklearn.neighbors.KNeighborsClassifier", cost=50),
    "svm": Listing("sklearn.svm.SVC", {"cache_size": 500}, cost=100),
    "linear_svm": Listing("sklearn.svm.LinearSVC", cost=5),
    "budget_svm": Listing("evenhand.estimators.machines.budget_svm.BudgetSVC", cost=100),
    "nu_svm": Listing("sklearn.svm.NuSVC", {"cache_size": 500}, cost=100),
    "one_class_svm": Listing("evenhand.estimators.outlier.OutlierClassifier", cost=100),
    "similarity_svm": Listing("evenhand.estimators.machines.similarity_svm.SimilaritySVC", cost=10),
    "table_kernel_svm": Listing("evenhand.estimators.machines.table_kernel.TableKernelSVC", cost=100),
    "perceptron": Listing("sklearn.linear_model.Perceptron"),
    "logistic": Listing("sklearn.linear_model.LogisticRegression", {"max_iter": 1000}, cost=5),
    "decision_tree": Listing("sklearn.tree.DecisionTreeClassifier", cost=2),
    "random_forest": Listing("sklearn.ensemble.RandomForestClassifier", cost=30),
    "boosting": Listing("sklearn.ensemble.HistGradientBoostingClassifier", cost=10),
    "dummy": Listing("sklearn.dummy.DummyClassifier", {"strategy": "prior"}, cost=0.1),
    "knn_regressor": Listing("sklearn.neighbors.KNeighborsRegressor", cost=50),
    "svr": Listing("sklearn.svm.SVR", {"cache_size": 500}, cost=100, target_transform="standard"),
    "linear_svr": Listing("sklearn.svm.LinearSVR", cost=5, target_transform="standard"),
    "similarity_svr": Listing(
        "evenhand.estimators.machines.similarity_svm.SimilaritySVR", cost=10, target_transform="standard"
    ),
    "table_kernel_svr": Listing(
        "evenhand.estimators.machines.table_kernel.TableKernelSVR", cost=100, target_transform="standard"
    ),
    "kernel_ridge": Listing("sklearn.kernel_ridge.KernelRidge", cost=100, target_transform="standard"),
    "interval_nb_regressor": Listing("evenhand.estimators.naive_bayes.interval_nb.IntervalNBRegressor", cost=2),
    "linear_regression": Listing("evenhand.estimators.ols.OrdinaryLeastSquares"),
    "ridge": Listing("sklearn.linear_model.Ridge"),
    "decision_tree_regressor": Listing("sklearn.tree.DecisionTreeRegressor", cost=2),
    "random_forest_regressor": Listing("sklearn.ensemble.RandomForestRegressor", cost=30),
    "boosting_regressor": Listing("sklearn.ensemble.HistGradientBoostingRegressor", cost=10),
    "dummy_regressor": Listing("sklearn.dummy.DummyRegressor", cost=0.1),
}
INVERSE_SQUARE = "inverse_square"
NOT_OURS_TO_SET = {
    "probability": "SVC(probability=True) is gone from scikit-learn; leave it out, scores are calibrated afterwards",
    "decision_function_shape": "scores are read one column a class: leave decision_function_shape out",
}


def listing(model: str) -> Listing:
    """The catalogue's entry, or one made up for a dotted path."""
    return MODELS.get(model) or Listing(model)


@cache
def class_of(model: str) -> type:
    """The class behind a catalogue name or a dotted path."""
    module, _, name = listing(model).home.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, TypeError, ValueError) as error:
        raise ConfError(f"model '{model}' cannot be imported: {error}") from None
    except AttributeError:
        raise ConfError(f"model '{model}': module {module} has no class '{name}'") from None


def home_module(model: str) -> str:
    """The module that holds the code of a model."""
    return class_of(model).__module__


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


def predicts_numbers(model: str) -> bool:
    """Whether a model is a regressor."""
    return is_regressor(class_of(model)())


def build_model(plan: Plan, outputs: tuple[Output, ...], n_classes: int, seed: int) -> Any:
    """The unfitted estimator of one plan, with what depends on the encoded columns filled in."""
    entry, found = listing(plan.model), class_of(plan.model)
    known = inspect.signature(found).parameters
    params = {**entry.defaults, **plan.params, **plan.settled}
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


def fit_arguments(estimator: Any, y: np.ndarray, is_weighted: bool) -> dict[str, Any]:
    """What `fit` is given beside X and y so that classes weigh alike; sets class_weight where the model has it."""
    if not is_weighted:
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


TRUSTED_ROOTS = ("evenhand.", "sklearn.")
TRUSTED = frozenset({"numpy.dtype", "functools.partial"})  # what a partial calls must be trusted as well


def trusted_types(file: Path, models: list[str]) -> list[str]:
    """The types in a stored model, all of them known to us or named in the study; anything else is refused.

    The list inside a model's own file is never taken for granted: it is made by whoever made the file.
    """
    named = tuple(f"{home_module(model).partition('.')[0]}." for model in models)
    found = skops.io.get_untrusted_types(file=file)
    if strange := [name for name in found if name not in TRUSTED and not name.startswith((*TRUSTED_ROOTS, *named))]:
        raise EvenhandError(
            f"a stored model holds types that are not on our list: {listed(strange)}. It was not loaded."
        )
    return found
