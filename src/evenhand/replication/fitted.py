"""The models of a study that was fitted on all its rows, and what they say of single rows, values and words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.model_selection import StratifiedKFold, validation_curve
from sklearn.svm import SVC

from evenhand.models.encoder import TableEncoder
from evenhand.records.pipeline import Plan

STEPS = np.logspace(-4, 4, 17)


@dataclass(frozen=True)
class Fitted:
    """An encoder and a model that learned from all rows of a table, with those rows."""

    plan: Plan
    encoder: TableEncoder
    model: Any
    classes: tuple[Any, ...]
    X: np.ndarray
    y: np.ndarray

    def encoded(self, row: dict[str, Any]) -> Any:
        """One raw row as the model reads it; columns that are not given are missing."""
        kinds = dict(self.encoder.features)
        cells = {name: [row.get(name)] for name in kinds}
        frame = pd.DataFrame(cells)
        return self.encoder.transform(
            frame.astype({name: float if kind == "numeric" else object for name, kind in kinds.items()})
        )

    def place(self, label: Any) -> int:
        """The number of a class."""
        return [str(each) for each in self.classes].index(str(label))

    def joint(self, row: dict[str, Any]) -> dict[str, float]:
        """P(class, row) of every class."""
        logs = self.model.predict_joint_log_proba(self.encoded(row))[0]
        return {str(label): float(np.exp(logs[k])) for k, label in enumerate(self.classes)}

    def given(self, row: dict[str, Any]) -> dict[str, float]:
        """P(row | class) of every class."""
        joint = self.joint(row)
        return {label: joint[label] / float(self.model.class_prior_[self.place(label)]) for label in joint}

    def predicted(self, row: dict[str, Any]) -> str:
        """The class that the model predicts."""
        return str(self.classes[int(self.model.predict(self.encoded(row))[0])])

    def share(self, column: str, value: Any, label: Any) -> float:
        """P(column = value | class), or the density of a number, as the model holds it."""
        place, X = self.place(label), self.encoded({column: value})
        j = [output["name"] for output in self.encoder.outputs_].index(column)
        if not self.model.categorical_[j]:
            k = self.model.density_columns_.tolist().index(j)
            return float(norm.pdf(X[0, j], self.model.theta_[place, k], self.model.var_[place, k] ** 0.5))
        return float(np.exp(self.model.value_log_prob_[j][self.model.categories_[j].index(X[0, j]), place]))

    def confusion(self) -> list[list[int]]:
        """The rows it was fitted on by true and predicted class."""
        predicted = np.asarray(self.model.predict(self.X)).astype(int)
        table = np.zeros((len(self.classes), len(self.classes)), dtype=int)
        np.add.at(table, (self.y.astype(int), predicted), 1)
        return table.tolist()


def validation_curves(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean training and cross-validated accuracy of an rbf machine over gamma and over C, the other one at 1."""
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    curves = {}
    for name, other in (("gamma", "C"), ("C", "gamma")):
        found = validation_curve(SVC(**{other: 1.0}), X, y, param_name=name, param_range=STEPS, cv=folds)
        curves[name] = tuple(part.mean(axis=1) for part in found)
    return curves
