"""What a model is asked when it is explained: columns of numbers, one for each class where there are several."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenhand.models.raw_row_model import RawRowModel

Ask = Callable[[pd.DataFrame], np.ndarray]


@dataclass(frozen=True)
class Answers:
    """A way to ask a model: its unit, the names of the columns that it gives, and the function."""

    unit: str
    names: tuple[str, ...]
    ask: Ask


def shown_answers(model: RawRowModel) -> Answers:
    """What people read: the number that is predicted, probabilities where there are any, else decision values."""
    if not model.classes:
        return Answers("prediction", ("",), lambda frame: _columns(model.predict(frame)))
    if model.calibration or model.gives_probabilities:
        return Answers("probability", _names(model), lambda frame: _of_classes(model.predict_proba(frame)))
    return Answers("decision value", _names(model), lambda frame: _columns(model.scores(frame)))


def additive_answers(model: RawRowModel) -> Answers:
    """What a linear model or naive Bayes adds up over columns: decision values or logs of odds."""
    if not model.classes:
        return Answers("prediction", ("",), lambda frame: _columns(model.predict(frame)))
    if model.gives_log_probabilities:
        return Answers("log odds", _names(model), lambda frame: _log_odds(model.log_probabilities(frame)))
    if model.gives_probabilities:
        return Answers("probability", _names(model), lambda frame: _of_classes(model.predict_proba(frame)))
    return Answers("decision value", _names(model), lambda frame: _columns(model.scores(frame)))


def _names(model: RawRowModel) -> tuple[str, ...]:
    """The positive class of two, or each of more."""
    labels = tuple(map(str, model.classes or ()))
    return labels[1:] if len(labels) == 2 else labels


def _columns(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    return values[:, None] if values.ndim == 1 else values


def _of_classes(probabilities: np.ndarray) -> np.ndarray:
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


def _log_odds(logs: np.ndarray) -> np.ndarray:
    """The log of the odds of two classes; of more, the log of each probability against their geometric mean."""
    with np.errstate(invalid="ignore"):
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs - logs.mean(axis=1, keepdims=True)
