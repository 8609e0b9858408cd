"""Scores as ranks: the weighted share of the validation rows that score lower, ties counted half."""

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from evenhand.estimators._door import ESTIMATORS, named_at


@named_at(ESTIMATORS)
class RankScale:
    """The weighted mid-distribution of one model's scores; a new score between two known ones is interpolated."""

    def __init__(self, scores, weight):
        order = np.argsort(scores, kind="stable")
        ordered = scores[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        mass = np.add.reduceat(weight[order], starts)
        self.knots = ordered[starts]
        self.shares = (np.cumsum(mass) - mass / 2) / mass.sum()

    def transform(self, scores):
        return np.interp(scores, self.knots, self.shares)


def rank_columns(scores, weight):
    """Return every column of scores as shares of rank."""
    ranked = np.empty(scores.shape)
    for column in range(scores.shape[1]):
        ranked[:, column] = RankScale(scores[:, column], weight).transform(scores[:, column])
    return ranked


@named_at(ESTIMATORS)
class RankCalibration:
    """Turns a mean rank into a probability by a logistic curve that never reverses the order of the ranks."""

    def __init__(self, ranks, positive, weight):
        model = LogisticRegression(C=100.0).fit(self._stretch(ranks), positive, sample_weight=weight)
        self.slope = max(float(model.coef_[0, 0]), 1e-6)
        self.intercept = float(model.intercept_[0])

    @staticmethod
    def _stretch(ranks):
        inside = np.clip(ranks, 1e-6, 1 - 1e-6)
        return np.log(inside / (1 - inside))[:, None]

    def decision(self, ranks):
        return self.slope * self._stretch(ranks)[:, 0] + self.intercept

    def probability(self, ranks):
        return expit(self.decision(ranks))
