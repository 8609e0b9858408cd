"""How well the mean of the chosen models does with each model that might be added: one class per metric kind."""

import inspect

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from ._ensemble_auc import exact_auc, screened_aucs

SQUARED = {"neg_mean_squared_error", "neg_root_mean_squared_error", "r2", "neg_brier_score"}
N_EXACT = 4
CLOSE = 1e-5


class StoredClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are its scores, so that any scikit-learn scorer can judge stored scores."""

    def __init__(self, classes=None):
        self.classes = classes

    @property
    def classes_(self):
        return self.classes

    def predict_proba(self, X):
        return np.column_stack([1 - X, X]) if X.ndim == 1 else X

    def predict(self, X):
        return self.classes[self.predict_proba(X).argmax(axis=1)]


class StoredRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose rows are its predictions."""

    def predict(self, X):
        return X


def judge(metric, y, averaged, weight, classes):
    """Return the metric of averaged scores, greater is better; `classes` is None in regression."""
    if callable(metric):
        weighted = "sample_weight" in inspect.signature(metric).parameters
        return float(metric(y, averaged, sample_weight=weight) if weighted else metric(y, averaged))
    if metric == "roc_auc" and classes is not None and averaged.ndim == 1:
        return exact_auc(averaged, y == classes[1], weight)
    stored = StoredRegressor() if classes is None else StoredClassifier(classes)
    return float(get_scorer(metric)(stored, averaged, y, sample_weight=weight))


class Measure:
    """Judges every candidate exactly, one after the other: right for any metric."""

    def __init__(self, metric, scores, y, weight, classes):
        self.metric, self.scores, self.y, self.weight, self.classes = metric, scores, y, weight, classes

    def exact(self, total, size, candidate):
        return judge(self.metric, self.y, (total + self.scores[:, candidate]) / size, self.weight, self.classes)

    def best(self, total, size, candidates):
        """Return the candidate that makes the best mean of `size` models, and that mean's figure."""
        figures = [self.exact(total, size, candidate) for candidate in candidates]
        winner = int(np.argmax(figures))
        return int(candidates[winner]), figures[winner]

    def alone(self, candidates):
        """Return the figure of each candidate by itself, as closely as ordering them needs."""
        nothing = np.zeros_like(self.scores[:, 0], dtype=float)
        return np.array([self.exact(nothing, 1, candidate) for candidate in candidates])


class ScreenedMeasure(Measure):
    """Screens all candidates by a fast figure, then judges those close to the lead exactly."""

    def best(self, total, size, candidates):
        screened = self.screen(total, size, candidates)
        leaders = np.argsort(-screened, kind="stable")[:N_EXACT]
        leaders = leaders[screened[leaders] >= screened[leaders[0]] - CLOSE]
        return super().best(total, size, candidates[np.sort(leaders)])

    def alone(self, candidates):
        return self.screen(np.zeros(len(self.y)), 1, candidates)


class AreaMeasure(ScreenedMeasure):
    """Area under the ROC curve of two classes, screened on a grid of levels."""

    def __init__(self, metric, scores, y, weight, classes):
        super().__init__(metric, scores, y, weight, classes)
        positive = y == classes[1]
        self.order = np.argsort(~positive, kind="stable")
        self.library = np.empty(scores.shape[::-1], np.float32)
        for start in range(0, scores.shape[1], 64):
            self.library[start : start + 64] = scores[:, start : start + 64].T[:, self.order]
        self.ranges = np.column_stack([self.library.min(axis=1), self.library.max(axis=1)])
        self.signed = np.where(positive, weight, -weight)[self.order].astype(np.float32)

    def screen(self, total, size, candidates):
        return screened_aucs(total[self.order].astype(np.float32), self.library, self.ranges, candidates, self.signed)


class SquareMeasure(ScreenedMeasure):
    """Metrics that fall with the squared error, screened by one product: |r + x|² = |r|² + 2 r·x + |x|²."""

    def __init__(self, metric, scores, y, weight, classes):
        super().__init__(metric, scores, y, weight, classes)
        self.target = y.astype(float) if classes is None else (y == classes[1]).astype(float)
        self.lengths = np.einsum("ij,ij,i->j", scores, scores, weight)

    def screen(self, total, size, candidates):
        rest = total - size * self.target
        errors = self.lengths + 2 * ((self.weight * rest) @ self.scores) + self.weight @ rest**2
        return -errors[candidates] / (size**2 * self.weight.sum())


def measure_for(metric, scores, y, weight, classes):
    """Return the fastest measure that is right for the metric and the shape of the scores."""
    two_dimensional = scores.ndim == 2
    if metric == "roc_auc" and classes is not None and two_dimensional:
        return AreaMeasure(metric, scores, y, weight, classes)
    if metric in SQUARED and two_dimensional:
        return SquareMeasure(metric, scores, y, weight, classes)
    return Measure(metric, scores, y, weight, classes)
