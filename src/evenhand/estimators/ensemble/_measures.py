"""How well the mean of the chosen models does with each model that might be added: one class per metric kind."""

import inspect

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from evenhand.estimators.ensemble._auc import exact_auc, screened_areas
from evenhand.estimators.ensemble._cuts import N_LEVELS, DecisionMetric, histograms

SQUARED = {"neg_mean_squared_error", "neg_root_mean_squared_error", "r2", "neg_brier_score"}
N_EXACT = 4


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
    if isinstance(metric, DecisionMetric):
        return metric.cut(y == classes[1], averaged, weight)[0]
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
    """Screens all candidates by a fast figure, then judges the few that are close to the lead exactly."""

    close = 1e-5

    def best(self, total, size, candidates):
        screened = self.screen(total, size, candidates)
        leaders = np.argsort(-screened, kind="stable")[:N_EXACT]
        leaders = leaders[screened[leaders] >= screened[leaders[0]] - self.close]
        return super().best(total, size, candidates[np.sort(leaders)])

    def alone(self, candidates):
        return self.screen(np.zeros(len(self.y)), 1, candidates)


class AreaMeasure(ScreenedMeasure):
    """Area under the ROC curve, or average precision, of two classes, screened on a grid of levels."""

    def __init__(self, metric, scores, y, weight, classes):
        super().__init__(metric, scores, y, weight, classes)
        self.by_precision = metric == "average_precision"
        self.close = 1e-3 if self.by_precision else 1e-5
        self._lay_out(scores, y, weight, classes)

    def _lay_out(self, scores, y, weight, classes):
        """Rows ordered positives first, one model after the other."""
        positive = y == classes[1]
        self.order = np.argsort(~positive, kind="stable")
        self.library = np.empty(scores.shape[::-1], np.float32)
        for start in range(0, scores.shape[1], 64):
            self.library[start : start + 64] = scores[:, start : start + 64].T[:, self.order]
        self.ranges = np.column_stack([self.library.min(axis=1), self.library.max(axis=1)])
        self.signed = np.where(positive, weight, -weight)[self.order].astype(np.float32)

    def screen(self, total, size, candidates):
        ordered = total[self.order].astype(np.float32)
        return screened_areas(ordered, self.library, self.ranges, candidates, self.signed, self.by_precision)


class CutMeasure(AreaMeasure):
    """Metrics of decisions, screened by histograms: the best threshold lies at a positive row."""

    def __init__(self, metric, scores, y, weight, classes):
        ScreenedMeasure.__init__(self, metric, scores, y, weight, classes)
        self.close = np.inf
        self._lay_out(scores, y, weight, classes)

    def screen(self, total, size, candidates):
        ordered = total[self.order].astype(np.float32)
        counted = histograms(ordered, self.library, self.ranges, candidates, self.signed, N_LEVELS)
        return self.metric.screened(*counted)


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


class LogLossMeasure(ScreenedMeasure):
    """Logarithmic loss of two classes without the checks that a scorer repeats for every candidate."""

    def screen(self, total, size, candidates):
        positive = self.y == self.classes[1]
        sign, start = np.where(positive, 1.0, -1.0) / size, np.where(positive, 0.0, 1.0)
        rest, share = start + sign * total, self.weight / self.weight.sum()
        chances = (rest + sign * self.scores[:, candidate] for candidate in candidates)
        return np.array([share @ np.log(np.maximum(chance, 1e-15)) for chance in chances])


def measure_for(metric, scores, y, weight, classes):
    """Return the fastest measure that is right for the metric and the shape of the scores."""
    two_classes = classes is not None and scores.ndim == 2
    chosen = Measure
    if isinstance(metric, DecisionMetric):
        chosen = CutMeasure
    elif two_classes and metric in ("roc_auc", "average_precision"):
        chosen = AreaMeasure
    elif two_classes and metric == "neg_log_loss":
        chosen = LogLossMeasure
    elif scores.ndim == 2 and isinstance(metric, str) and metric in SQUARED:
        chosen = SquareMeasure
    return chosen(metric, scores, y, weight, classes)
