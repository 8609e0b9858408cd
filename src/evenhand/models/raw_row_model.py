"""What is served: one estimator that takes raw rows, holding encoder, model, threshold and calibration."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from evenhand.data.frames import as_features
from evenhand.data.in_memory import as_pandas
from evenhand.errors import DataError
from evenhand.estimators._door import named_at
from evenhand.models.acceleration import (
    asked_of_few,
    asked_of_vectors,
    few_threads,
    is_radial,
    one_thread_for_products,
)
from evenhand.models.fitting import decisions_of, scores_of
from evenhand.models.probability_map import calibrated
from evenhand.records.pipeline import Feature
from evenhand.statistics.thresholds import decide_by_cost
from evenhand.study.study import Cleaning

MANY_ROWS = 20_000  # from which the members of an ensemble are asked side by side


@named_at("evenhand.models")
class RawRowModel(BaseEstimator):
    """Encoded and asked in one step; `members` are pairs of a fitted encoder and a fitted estimator.

    With several members a fitted ensemble selection weighs what they say. Scores of at least `threshold` are called
    positive; `calibration` holds a map from score to probability for each class, and `cost` what mistakes cost where
    there are more than two classes. Where it `is_multilabel`, `classes` are labels of which a row may have several:
    scores and predictions have a column for each.
    """

    def __init__(
        self,
        members: list[Any] | None = None,
        features: tuple[tuple[str, str], ...] = (),
        classes: list[Any] | None = None,
        selection: Any = None,
        threshold: float | None = None,
        cleaning: dict[str, Any] | None = None,
        calibration: list[Any] | None = None,
        cost: list[list[float]] | None = None,
        is_multilabel: bool = False,
    ) -> None:
        self.members = members
        self.features = features
        self.classes = classes
        self.selection = selection
        self.threshold = threshold
        self.cleaning = cleaning
        self.calibration = calibration
        self.cost = cost
        self.is_multilabel = is_multilabel

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Models that were stored before there were labels have none."""
        super().__setstate__({"is_multilabel": False, **state})

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Nothing: the members were fitted before they were put together."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.members)

    @property
    def classes_(self) -> np.ndarray:
        """The class labels, the positive one last of two."""
        return np.asarray(self.classes)

    @property
    def pipeline(self) -> Any:
        """The fitted steps, as scikit-learn's Pipeline; of an ensemble a list, one for each member."""
        each = [Pipeline([("encoder", encoder), ("model", estimator)]) for encoder, estimator in self.members or []]
        return each[0] if self.selection is None else each

    def scores(self, frame: pd.DataFrame) -> np.ndarray:
        """Probabilities or decision values; of the positive class where there are two, else one column a class."""
        return self.scores_and_decisions(frame)[0]

    def scores_and_decisions(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray | None]:
        """The scores, and what one model's probabilities of two classes are made of, where it gives that."""
        with one_thread_for_products():
            return self._scores_and_decisions(self._rows(frame))

    def _scores_and_decisions(self, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray | None]:
        if self.selection is None:
            encoder, estimator = (self.members or [])[0]
            X = encoder.transform(rows)
            if self.is_multilabel:
                _, scores, predictions = scores_of(estimator, X)
                return (predictions.astype(float) if scores is None else scores), None
            return _scores(estimator, X), decisions_of(estimator, X)
        asks = self._votes if self._is_hard else _scores
        with _side_by_side(len(rows)) as ask:
            answers = [ask(asks, estimator, X) for X, estimator in self._encoded(rows)]
        joined = np.stack([answer() for answer in answers], axis=1)
        if not self.classes:
            return self.selection.predict(joined), None
        if self._is_hard:
            return self.selection.decision_function(joined), None
        probabilities = self.selection.predict_proba(joined)
        return (probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities), None

    def _encoded(self, rows: pd.DataFrame) -> Iterator[tuple[Any, Any]]:
        """The matrix for each member and its estimator; rows go once through an encoder that members share."""
        seen: dict[int, Any] = {}
        for encoder, estimator in self.members or []:
            if id(encoder) not in seen:
                seen[id(encoder)] = encoder.transform(rows)
            yield seen[id(encoder)], estimator

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """The class label, or the number, of each row; of several labels 0 or 1 for each."""
        if self.cost is not None and len(self.classes or []) > 2:
            return self.classes_[decide_by_cost(self.predict_proba(frame), np.asarray(self.cost))]
        if self._decides_itself:
            encoder, estimator = (self.members or [])[0]
            found = estimator.predict(encoder.transform(self._rows(frame)))
            return found if self.is_multilabel else self.classes_[found.astype(int)]
        scores = self.scores(frame)
        if not self.classes:
            return scores
        if scores.ndim == 2:
            return self.classes_[scores.argmax(axis=1)]
        threshold = getattr(self.selection, "threshold_", None) if self.threshold is None else self.threshold
        if threshold is not None:
            return self.classes_[(scores >= threshold).astype(int)]
        return self.classes_[(scores > (0.5 if self._is_probability else 0.0)).astype(int)]

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        """The probability of each class, calibrated where a calibration was fitted to out-of-fold scores.

        Of several labels the probability of each, which its model gives.
        """
        if not self._is_probability and not self.calibration:
            raise AttributeError("this model gives decision values, not probabilities: use scores")
        scores = self.scores(frame)
        if self.is_multilabel:
            return scores
        if self.calibration:
            scores = calibrated(scores, self.calibration)
        return np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What `evenhand score` writes of these rows and `mlflow models serve` answers; no measure of goodness."""
        from evenhand.models.batch_scorer import BatchScorer

        frame = as_pandas(frame)
        columns = BatchScorer(self).columns(frame)
        return pd.DataFrame({name: list(values.tolist()) for name, values in columns.items()}, index=frame.index)

    def log_probabilities(self, frame: pd.DataFrame) -> np.ndarray:
        """The logarithm of each class's probability before calibration, where one model gives it without rounding."""
        encoder, estimator = (self.members or [])[0]
        return estimator.predict_log_proba(encoder.transform(self._rows(frame)))

    @property
    def gives_probabilities(self) -> bool:
        """Whether its scores are probabilities."""
        return self._is_probability

    @property
    def gives_log_probabilities(self) -> bool:
        """Whether one model gives logarithms of probabilities."""
        members = self.members or []
        return self.selection is None and self._is_probability and hasattr(members[0][1], "predict_log_proba")

    def _rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        features = tuple(Feature(name, kind) for name, kind in self.features)  # type: ignore[arg-type]
        rows = as_pandas(frame)
        if not len(rows):
            raise DataError("rows to score are needed, but there are 0 in the data frame: ask about one row or more.")
        return as_features(rows, features, Cleaning.model_validate(self.cleaning or {}))

    @property
    def _decides_itself(self) -> bool:
        """Whether classes are the estimator's own choice and not read off its scores: votes, labels, no scores."""
        if self.is_multilabel:
            return True
        if self.selection is not None or not self.classes or self._is_probability or self.threshold is not None:
            return False
        return len(self.classes) > 2 or not hasattr((self.members or [])[0][1], "decision_function")

    def scores_or_none(self, frame: pd.DataFrame) -> np.ndarray | None:
        """The scores of each label; None where models only decide."""
        encoder, estimator = (self.members or [])[0]
        return scores_of(estimator, encoder.transform(self._rows(frame)))[1]

    @property
    def _is_probability(self) -> bool:
        members = self.members or []
        if self.is_multilabel:
            return bool(members[0][1].has_probabilities)
        if self.selection is not None:
            return bool(self.classes) and not self._is_hard
        return bool(self.classes) and hasattr(members[0][1], "predict_proba")

    @property
    def _is_hard(self) -> bool:
        """Whether members give their decisions to a vote."""
        return getattr(self.selection, "votes", "soft") == "hard"

    def _votes(self, estimator: Any, X: Any) -> np.ndarray:
        """The decisions of one member: 0 or 1 of two classes, a column a class of more."""
        decided, n_classes = scores_of(estimator, X)[2].astype(int), len(self.classes or [])
        return decided.astype(float) if n_classes == 2 else np.eye(n_classes)[decided]


@contextmanager
def _side_by_side(n_rows: int) -> Iterator[Callable[..., Callable[[], np.ndarray]]]:
    """What asks a member, and gives what says its answer: of many rows one member on each core at a time."""
    if n_rows < MANY_ROWS:
        yield _at_once
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield lambda asks, estimator, X: pool.submit(asks, estimator, X).result


def _at_once(asks: Callable[..., np.ndarray], estimator: Any, X: Any) -> Callable[[], np.ndarray]:
    found = asks(estimator, X)
    return lambda: found


def _scores(estimator: Any, X: Any) -> np.ndarray:
    with few_threads(X):
        return _asked(estimator, X)


def _asked(estimator: Any, X: Any) -> np.ndarray:
    if isinstance(estimator, TransformedTargetRegressor):  # asked as what it holds is, and turned back
        found = _asked(estimator.regressor_, X)
        return np.asarray(estimator.transformer_.inverse_transform(found.reshape(-1, 1))[:, 0])
    if is_radial(estimator, X):
        return asked_of_vectors(estimator, X)
    of_few = asked_of_few(estimator, X)
    if hasattr(estimator, "predict_proba"):
        probabilities = estimator.predict_proba(X) if of_few is None else of_few
        return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return estimator.predict(X) if of_few is None else of_few
