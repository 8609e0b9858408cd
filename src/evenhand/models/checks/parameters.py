"""Whether a class takes a value of one of its parameters: by what scikit-learn's classes state, else by trying."""

import inspect
import math
import warnings
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options, make_constraint

from evenhand.estimators.distances import inverse_square
from evenhand.models.catalogue import INVERSE_SQUARE, class_of

SKIPPED = ("callable", "array-like", "random_state", "instance of", "sparse", "supporting", "implementing")
LINEAR = ("sklearn.linear_model.", "sklearn.svm.")
N_ROWS, N_COLUMNS = 40, 4


def model_value_mistake(model: str, name: str, value: Any) -> str:
    """Why a model does not take a value of one of its parameters; empty where it does or only rows can decide."""
    if name == "weights" and value == INVERSE_SQUARE:
        value = inverse_square
    return value_mistake(class_of(model), model, name, value)


def combination_mistake(model: str, params: Mapping[str, Any]) -> str:
    """Why a linear or support-vector model does not take some words and switches together, tried on a small table."""
    found = class_of(model)
    choices = {key: value for key, value in params.items() if isinstance(value, str | bool)}
    if len(choices) < 1 or not found.__module__.startswith(LINEAR):
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found(**choices).fit(*_made())
    except ValueError as error:
        together = ", ".join(f"{key}: {value}" for key, value in choices.items())
        return f"{model} does not take {together}{' together' if len(choices) > 1 else ''}: {_one_line(error)}"
    return ""


def value_mistake(found: type, word: str, name: str, value: Any) -> str:
    """The same for any class, under the word that the study calls it."""
    stated = getattr(found, "_parameter_constraints", {})
    if isinstance(stated, Mapping) and name in stated:
        return _against(stated[name], word, value)
    if isinstance(value, dict) or (name == "kernel" and getattr(found, "composes_kernels", False)):
        return ""  # models.checks.kernel_columns reads kernels
    if isinstance(value, float) and math.isnan(value):
        return f"{_shown(value)} is not what {word} takes: give a number"
    why = _tried(found, name, value)
    return f"{_shown(value)} is not what {word} takes: {why}{_hint(value)}" if why else ""


def _against(stated: Any, word: str, value: Any) -> str:
    """A value against the constraints that a class states for its parameter."""
    if isinstance(stated, str):  # no_validation
        return ""
    constraints = [make_constraint(each) for each in stated]
    if any(each.is_satisfied_by(value) for each in constraints):
        return ""
    words = list(dict.fromkeys(filter(None, (_in_words(each) for each in constraints if not each.hidden))))
    give = f"give {_either(words)}" if words else "give another"
    return f"{_shown(value)} is not what {word} takes: {give}{_hint(value)}"


def _tried(found: type, name: str, value: Any) -> str:
    """Why a class cannot be made with a value, or refuses it when asked by its own check or, for words, a small fit."""
    try:
        made = found(**{name: value})
    except (TypeError, ValueError) as error:
        return _one_line(error)
    if not found.__module__.startswith("evenhand."):
        return ""
    try:
        if (check := getattr(made, "_check_parameters", None)) is not None:
            check(*(_unlabelled(made) for _ in inspect.signature(check).parameters))
    except (TypeError, ValueError) as error:
        return _one_line(error)
    if isinstance(value, str) and hasattr(made, "predict") and not _is_fitted(made) and _is_fitted(found()):
        return "it is none of the words that it knows"
    return ""


def _unlabelled(made: Any) -> np.ndarray | None:
    """Rows to be judged, for a class that was asked to count values over them too."""
    return _made()[0] if getattr(made, "frequencies", "train") == "all" else None


def _is_fitted(made: Any) -> bool:
    """Whether an estimator fits a small made table, whose columns can be read as numbers, counts or codes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen = {} if _unlabelled(made) is None else {"unlabelled": _unlabelled(made)}
            made.fit(*_made(), **seen)
    except (TypeError, ValueError, KeyError):
        return False
    return True


def _made() -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).integers(0, 3, (N_ROWS, N_COLUMNS)).astype(float), np.arange(N_ROWS) % 2


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _in_words(constraint: Any) -> str:
    """What satisfies a constraint; nothing for what no study file can hold."""
    if isinstance(constraint, Interval):
        return _range(constraint)
    if isinstance(constraint, Options):
        options = set(constraint.options) - {"precomputed"}  # no study holds a Gram matrix
        return f"one of {', '.join(map(_shown, sorted(options, key=str)))}"
    words = str(constraint)
    if words in {"None", "a bool", "an instance of 'bool'"} or "bool" in words:
        return "nothing (null)" if words == "None" else "true or false"
    return "" if any(part in words for part in SKIPPED) else words


def _range(one: Interval) -> str:
    kind = "a whole number" if one.type is Integral else "a number"
    ends = []
    if one.left is not None and not math.isinf(one.left):
        ends.append(f"{'of at least' if one.closed in {'left', 'both'} else 'above'} {one.left:g}")
    if one.right is not None and not math.isinf(one.right):
        ends.append(f"{'at most' if one.closed in {'right', 'both'} else 'below'} {one.right:g}")
    return " ".join([kind, " and ".join(ends)]).rstrip()


def _either(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _shown(value: Any) -> str:
    """A value as it stands in a study file."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if callable(value):
        return getattr(value, "__name__", "a function")
    return repr(value)


def _hint(value: Any) -> str:
    """What to do about a number in quotes."""
    if not isinstance(value, str):
        return ""
    try:
        float(value)
    except ValueError:
        return ""
    return ". It is text: take the quotes off"
