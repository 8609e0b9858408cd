"""Voting: every model of a library counts, alike or by how good it is, with its decisions or with its scores."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.ensemble.selection import EnsembleSelection, _classifies

SAME_VOTES = 9  # decimals of a share of votes: a tie stays one, whatever order the weights are summed in
LEAST_SHARE, LEAST_ERROR = 1e-3, 1e-12


def _is_soft(estimator):
    return estimator.votes == "soft" and _classifies(estimator)


@named_at(ESTIMATORS)
class ScoreVoting(EnsembleSelection):
    """Votes of a library of models, from their stored scores or decisions; nothing is refitted.

    Parameters
    ----------
    votes : {"soft", "hard"}, default="soft"
        Soft: the mean of probabilities, or of predicted numbers. Hard: the share of models that decide for a class; the
        scores are then decisions, 0 or 1 for two classes and one column a class for more.
    weighted : bool, default=False
        Whether models count by how good they are on the rows fitted. Hard: log((k - 1) p / (1 - p)) for k classes and a
        balanced accuracy of p, and nothing for a model no better than chance (Kuncheva, 2004; Zhu et al., 2009). Soft:
        one over the mean squared error of the scores (Bates and Granger, 1969).
    voters : int, default=None
        So many models vote, the best by the same measure; None: all.
    metric : str or callable, default="balanced_accuracy"
        What `score` gives; a scorer of numbers makes this a regressor.

    Attributes
    ----------
    weights_ : ndarray of shape (n_models,)
        Weight of each model; they sum to 1.

    References
    ----------
    Kuncheva (2004), Combining Pattern Classifiers, section 4.3.2. Bates, Granger (1969), The combination of forecasts.

    Examples
    --------
    >>> from evenhand.estimators import ScoreVoting
    >>> decisions = [[1, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> ScoreVoting("hard").fit(decisions, [1, 0, 1]).predict(decisions).tolist()
    [1, 0, 0]
    >>> ScoreVoting("hard", weighted=True).fit(decisions, [1, 0, 1]).predict(decisions).tolist()
    [1, 0, 1]
    """

    _parameter_constraints: ClassVar = {
        "votes": [StrOptions({"soft", "hard"})],
        "weighted": ["boolean"],
        "voters": [Interval(Integral, 1, None, closed="left"), None],
        "metric": [str, callable],
    }
    average = "probability"

    def __init__(self, votes="soft", *, weighted=False, voters=None, metric="balanced_accuracy"):
        self.votes = votes
        self.weighted = weighted
        self.voters = voters
        self.metric = metric

    def fit(self, scores, y, sample_weight=None):
        """Weigh the models by stored scores, or decisions, of rows that they had not seen.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            Probabilities or predicted numbers, or decisions where votes are hard.
        y : array-like of shape (n_rows,)
            What was true.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row.

        Returns
        -------
        self : ScoreVoting
        """
        self._validate_params()
        scores, y, weight = self._check_rows(scores, y, sample_weight)
        worth = self._worth(scores, y, weight)
        best = np.argsort(-worth, kind="stable")[: self.voters]
        given = worth[best] if self.weighted and worth[best].sum() > 0 else np.ones(len(best))
        weights = np.zeros(scores.shape[1])
        weights[best] = given / given.sum()
        self.weights_, self.path_ = weights, []
        return self._settle(scores, scores, y, weight)

    @property
    def is_hard(self):
        """Whether decisions are counted instead of scores averaged."""
        return self.votes == "hard"

    @available_if(_is_soft)
    def predict_proba(self, scores):
        """Return the mean probability of each class; shares of votes are no probabilities.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            The same models' probabilities on other rows.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        return super().predict_proba(scores)

    def _worth(self, scores, y, weight):
        """How much each model is worth where weights are asked for, none below 0."""
        if self.is_hard:
            k = len(self.classes_)
            right = np.array([self._balanced_accuracy(scores[:, model], y, weight) for model in range(scores.shape[1])])
            right = right.clip(LEAST_SHARE, 1 - LEAST_SHARE)
            return np.maximum(np.log((k - 1) * right / (1 - right)), 0)
        truth = np.eye(scores.shape[2])[y][:, None, :] if scores.ndim == 3 else y[:, None]
        squared = (scores - truth) ** 2
        if scores.ndim == 3:
            squared = squared.sum(axis=2)
        return 1 / np.maximum(np.average(squared, axis=0, weights=weight), LEAST_ERROR)

    def _balanced_accuracy(self, votes, y, weight):
        right = (votes.argmax(axis=1) if votes.ndim == 2 else votes > 0.5) == y
        found = np.bincount(y, weight * right, len(self.classes_)) / np.bincount(y, weight, len(self.classes_))
        return found.mean()

    def _combine(self, scores):
        combined = super()._combine(scores)
        return np.round(combined, SAME_VOTES) if self.is_hard else combined

    def _log_odds(self, averaged):
        return averaged - 0.5 if self.is_hard else super()._log_odds(averaged)
