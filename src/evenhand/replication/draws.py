"""Many random splits of one protocol: the distribution that a figure from one unpublished split is a draw from."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

TEST_SHARE = 0.2
ScaledOn = Literal["all", "training"]
Measured = dict[str, dict[str, float]]


def equal_draw(y: np.ndarray, n_per_class: int) -> np.ndarray:
    """The rows that pandas' grouped sampling draws with random_state 1: as many of each class."""
    return pd.Series(y).groupby(y).sample(n_per_class, random_state=1).index.to_numpy()


def split_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of one random split, four to one."""
    trained, judged = train_test_split(np.arange(n_rows), test_size=TEST_SHARE, random_state=seed)
    return trained, judged


def scaled(frame: Any, y: np.ndarray, encoder: Any, trained: np.ndarray, scaled_on: ScaledOn) -> np.ndarray:
    """All rows encoded, by an encoder that learned from all of them or from the training rows alone."""
    seen = np.arange(len(y)) if scaled_on == "all" else trained
    return encoder.fit(frame.iloc[seen], y[seen]).transform(frame)


def judged_classifiers(
    X: np.ndarray, y: np.ndarray, estimators: Mapping[str, Any], rows: tuple[np.ndarray, np.ndarray]
) -> Measured:
    """Accuracy, area and the two kinds of error of every classifier on one split; k-NN share one neighbour search."""
    trained, judged = rows
    neighbours = {name: model for name, model in estimators.items() if hasattr(model, "n_neighbors")}
    found = _judged_neighbours(X, y, neighbours, rows) if neighbours else {}
    for name, estimator in estimators.items():
        if name not in neighbours:
            model = estimator.fit(X[trained], y[trained])
            scores = _scores(model, X[judged])
            found[name] = {
                **_errors(y[judged], model.predict(X[judged]), scores),
                "train_accuracy": float(np.mean(model.predict(X[trained]) == y[trained])),
            }
    return found


def judged_regressors(
    X: np.ndarray, y: np.ndarray, estimators: Mapping[str, Any], rows: tuple[np.ndarray, np.ndarray]
) -> tuple[Measured, dict[str, np.ndarray]]:
    """R2 and mean squared error of every regressor on training and test rows of one split, and its test predictions."""
    trained, judged = rows
    found: Measured = {}
    predicted: dict[str, np.ndarray] = {}
    for name, estimator in estimators.items():
        model = estimator.fit(X[trained], y[trained])
        predicted[name] = np.asarray(model.predict(X[judged])).ravel()
        seen = np.asarray(model.predict(X[trained])).ravel()
        found[name] = {**_fit(y[judged], predicted[name], ""), **_fit(y[trained], seen, "train_")}
    return found, predicted


def neighbour_shares(X: np.ndarray, y: np.ndarray, asked: np.ndarray, k_most: int) -> np.ndarray:
    """The share of class 1 among the k nearest rows, one column for each k from 1 to k_most."""
    near = NearestNeighbors(n_neighbors=k_most).fit(X).kneighbors(asked, return_distance=False)
    return np.cumsum(y[near] == 1, axis=1) / np.arange(1, k_most + 1)


def joined(each: Iterable[Measured]) -> dict[str, dict[str, list[float]]]:
    """The measures of many splits as one list for each model and measure."""
    lists: dict[str, dict[str, list[float]]] = {}
    for measured in each:
        for model, measures in measured.items():
            for name, value in measures.items():
                lists.setdefault(model, {}).setdefault(name, []).append(value)
    return lists


def _judged_neighbours(
    X: np.ndarray, y: np.ndarray, models: Mapping[str, Any], rows: tuple[np.ndarray, np.ndarray]
) -> Measured:
    trained, judged = rows
    k_most = max(model.n_neighbors for model in models.values())
    shares = neighbour_shares(X[trained], y[trained], X[judged], k_most)
    own = neighbour_shares(X[trained], y[trained], X[trained], k_most)
    found = {}
    for name, model in models.items():
        shares_near, seen = shares[:, model.n_neighbors - 1], own[:, model.n_neighbors - 1]
        found[name] = {
            **_errors(y[judged], (shares_near > 0.5).astype(int), shares_near),
            "train_accuracy": float(np.mean((seen > 0.5) == y[trained])),
        }
    return found


def _scores(model: Any, X: np.ndarray) -> np.ndarray:
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.decision_function(X)


def _errors(truth: np.ndarray, predicted: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    return {
        "accuracy": float(np.mean(predicted == truth)),
        "roc_auc": float(roc_auc_score(truth, scores)),
        "false_alarms": int(np.sum((predicted == 1) & (truth == 0))),
        "missed": int(np.sum((predicted == 0) & (truth == 1))),
        "n_positive": int(truth.sum()),
    }


def _fit(truth: np.ndarray, predicted: np.ndarray, prefix: str) -> dict[str, float]:
    error = float(np.mean((truth - predicted) ** 2))
    return {f"{prefix}r2": 1 - error / float(np.var(truth)), f"{prefix}mean_squared_error": error}
