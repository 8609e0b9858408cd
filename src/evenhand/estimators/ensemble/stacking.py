"""Stacking: a regularised regression of what was true on the stored scores of a library of models."""

from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.utils._param_validation import Interval

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.ensemble._sparing import sparing
from evenhand.estimators.ensemble.selection import EnsembleSelection

CLOSEST = 1e-4  # to 0 and 1: what a probability is cut to before its logarithm is taken
LEAST_WEIGHT = 1e-3
STEPS, PRECISION = 100, 1e-13


@named_at(ESTIMATORS)
class ScoreStacking(EnsembleSelection):
    """A weight of at least 0 for each model of a library and an intercept for each class, by penalised likelihood.

    For classes the log odds (two classes) or the logarithms of probabilities (more) are summed with the weights, and
    the sum is made a probability: a logistic regression with one weight a model, which also calibrates it. For numbers
    it is a ridge regression. Weights are drawn towards 1 / n_models, the mean of all, and not towards nothing.

    Parameters
    ----------
    penalty : float, default=1.0
        Weight of the squared distance of the weights from 1 / n_models, beside the log likelihood of the rows (of
        numbers: half the squared errors in units of the target's variance).
    metric : str or callable, default="balanced_accuracy"
        What `score` gives; a scorer of numbers makes this a regressor.
    spare : float, default=0.0
        Models with the least weight leave, and the others are weighed anew, while the mean loss of the rows rises by at
        most this share of its standard error; 0 keeps all that have a weight.

    Attributes
    ----------
    weights_ : ndarray of shape (n_models,)
        Weight of each model; what is under .001 is 0.
    intercept_ : ndarray of shape (n_classes,) or float
        Added to the sum of each class, 0 for the first; of two classes and of numbers one number.

    References
    ----------
    Wolpert (1992), Stacked generalization, Neural Networks 5. Breiman (1996), Stacked regressions, Machine Learning 24.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import ScoreStacking
    >>> y = np.array([0, 0, 1, 1] * 50)
    >>> good, poor = np.where(y == 1, 0.8, 0.2), np.tile([0.4, 0.6], 100)
    >>> found = ScoreStacking().fit(np.column_stack([good, poor]), y)
    >>> bool(found.weights_[0] > found.weights_[1])
    True
    """

    _parameter_constraints: ClassVar = {
        "penalty": [Interval(Real, 0, None, closed="neither")],
        "metric": [str, callable],
        "spare": [Interval(Real, 0, None, closed="left")],
    }
    average = "probability"

    def __init__(self, penalty=1.0, *, metric="balanced_accuracy", spare=0.0):
        self.penalty = penalty
        self.metric = metric
        self.spare = spare

    def fit(self, scores, y, sample_weight=None):
        """Weigh the models by stored scores of rows that they had not seen.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            Probabilities or predicted numbers.
        y : array-like of shape (n_rows,)
            What was true.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row.

        Returns
        -------
        self : ScoreStacking
        """
        self._validate_params()
        scores, y, weight = self._check_rows(scores, y, sample_weight)
        found = self._weighed(scores, y, weight)
        if self.spare:
            found = self._spared(found, scores, y, weight)
        return self._with_weights(found, scores, y, weight)

    def _weighed(self, scores, y, weight):
        """The weights of all models; those that come to hardly anything have none."""
        found = self._of_numbers(scores, y, weight) if self.classes_ is None else self._of_classes(scores, y, weight)
        found[found < LEAST_WEIGHT] = 0.0
        return found if found.any() else np.full(len(found), 1 / len(found))

    def _spared(self, whole, scores, y, weight):
        """The weights of the models that the loss of the rows needs."""

        def losses(weights):
            combined = self._with_weights(weights, scores, y, weight)._combine(scores)
            if self.classes_ is None:
                return (y - combined) ** 2
            chances = combined if combined.ndim == 2 else np.column_stack([1 - combined, combined])
            return -np.log(chances[np.arange(len(y)), y].clip(CLOSEST**2, 1))

        def without(left):
            found = np.zeros(len(left))
            found[left] = self._weighed(scores[:, left], y, weight)
            return found

        mean, all_losses = np.average, losses(whole)
        middle = mean(all_losses, weights=weight)
        error = np.sqrt(mean((all_losses - middle) ** 2, weights=weight) / len(y))
        return sparing(whole, without, lambda weights: -mean(losses(weights), weights=weight), self.spare * error)

    def fit_weighted(self, scores, y, weights, sample_weight=None):
        """Take given weights of the models and fit the intercepts alone.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            Scores of rows that the models had not seen.
        y : array-like of shape (n_rows,)
            What was true.
        weights : array-like of shape (n_models,)
            Weight of each model, such as those that another stacking gave to the models it used.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row.

        Returns
        -------
        self : ScoreStacking
        """
        self._validate_params()
        scores, y, weight = self._check_rows(scores, y, sample_weight)
        return self._with_weights(np.asarray(weights, dtype=float), scores, y, weight)

    def _with_weights(self, weights, scores, y, weight):
        self.weights_, self.path_ = weights, []
        summed = self._summed(scores)
        if self.classes_ is None:
            self.intercept_ = float(np.average(y - summed, weights=weight))
        else:
            self.intercept_ = _intercepts(_for_each_class(summed), y, weight)
        return self._settle(scores, scores, y, weight)

    def _of_numbers(self, scores, y, weight):
        """Least squares with weights of at least 0, in rows that stand for the penalty as well."""
        root, n_models = np.sqrt(weight), scores.shape[1]
        goal = y - np.average(y, weights=weight)
        centred = scores - np.average(scores, axis=0, weights=weight)
        drawn = np.sqrt(2 * self.penalty * max(np.average(goal**2, weights=weight), np.finfo(float).tiny))
        rows = np.vstack([centred * root[:, None], drawn * np.eye(n_models)])
        return nnls(rows, np.r_[goal * root, np.full(n_models, drawn / n_models)])[0]

    def _of_classes(self, scores, y, weight):
        """Penalised likelihood of weights of at least 0 and of intercepts."""
        logs = _logs(scores)
        n_models, n_classes = logs.shape[1], logs.shape[2]
        truth = np.eye(n_classes)[y]

        def loss(point):
            weights, intercepts = point[:n_models], np.r_[0.0, point[n_models:]]
            sums = np.tensordot(logs, weights, axes=(1, 0)) + intercepts
            rest = weight[:, None] * (softmax(sums, axis=1) - truth)
            away = weights - 1 / n_models
            likelihood = -np.sum(weight * np.sum(truth * log_softmax(sums, axis=1), axis=1))
            slope = np.r_[np.einsum("nmk,nk->m", logs, rest) + 2 * self.penalty * away, rest.sum(axis=0)[1:]]
            return likelihood + self.penalty * away @ away, slope

        start = np.r_[np.full(n_models, 1 / n_models), np.zeros(n_classes - 1)]
        bounds = [(0, None)] * n_models + [(None, None)] * (n_classes - 1)
        return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[:n_models].copy()

    def _summed(self, scores):
        """The weighted sum of log odds, of logarithms for each class, or of numbers."""
        used = np.flatnonzero(self.weights_)
        if self.classes_ is None:
            return scores[:, used].astype(float) @ self.weights_[used]
        given = np.asarray(scores[:, used], dtype=float)
        values = logit(given.clip(CLOSEST, 1 - CLOSEST)) if given.ndim == 2 else np.log(given.clip(CLOSEST, 1))
        return np.tensordot(values, self.weights_[used], axes=(1, 0))

    def _combine(self, scores):
        summed = self._summed(scores)
        if self.classes_ is None:
            return summed + self.intercept_
        if summed.ndim == 1:
            return expit(summed + self.intercept_[1])
        return softmax(summed + self.intercept_, axis=1)


def _logs(scores):
    """Logarithms of the probabilities of every class, up to what all classes of a row share."""
    given = np.asarray(scores, dtype=float)
    if given.ndim == 3:
        return np.log(given.clip(CLOSEST, 1))
    odds = logit(given.clip(CLOSEST, 1 - CLOSEST))
    return np.stack([np.zeros_like(odds), odds], axis=2)


def _for_each_class(summed):
    return np.column_stack([np.zeros(len(summed)), summed]) if summed.ndim == 1 else summed


def _intercepts(sums, y, weight):
    """The intercepts of greatest likelihood, by Newton's steps to the last digits: made again, they are the same."""
    n_classes = sums.shape[1]
    wanted = np.bincount(y, weight, n_classes)
    found = np.zeros(n_classes)
    for _ in range(STEPS):
        chances = softmax(sums + found, axis=1)
        weighed = weight[:, None] * chances
        bend = np.diag(weighed.sum(axis=0)) - chances.T @ weighed
        step = np.linalg.lstsq(bend[1:, 1:], (wanted - weighed.sum(axis=0))[1:], rcond=None)[0]
        found[1:] += np.clip(step, -1.0, 1.0)
        if np.max(np.abs(step)) < PRECISION:
            break
    return found
