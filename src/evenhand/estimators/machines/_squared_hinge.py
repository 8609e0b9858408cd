"""A linear support-vector machine on features of rows, by Newton steps on the squared hinge loss."""

import numpy as np
from sklearn.utils import gen_batches

from evenhand.estimators._door import ESTIMATORS, named_at

MAX_STEPS = 50
LEAST_GAIN = 1e-12  # of the loss: what is less is rounding, among which the rows inside never settle
ROWS_AT_ONCE = 20_000


@named_at(ESTIMATORS)
class SquaredHingeSVC:
    """One machine for each class against the rest, or one for two classes, on features that are made block by block."""

    def __init__(self, features, C, weights):
        self.features = features
        self.C = C
        self.weights = weights

    def fit(self, X, y):
        """Learn a machine on the features of rows X for classes y, counted from 0."""
        Z = self.features(X)
        n_classes = int(y.max()) + 1
        codes = [1] if n_classes == 2 else range(n_classes)
        found = [newton(Z, np.where(y == code, 1.0, -1.0), self.C * self.weights) for code in codes]
        self.coef = np.column_stack([one[:-1] for one in found])
        self.intercept = np.array([one[-1] for one in found])
        del self.weights
        return self

    def decision_function(self, X):
        """One score for each row, or one for each row and class."""
        batches = gen_batches(X.shape[0], ROWS_AT_ONCE)
        scores = np.concatenate([self.features(X[rows]) @ self.coef + self.intercept for rows in batches])
        return scores[:, 0] if scores.shape[1] == 1 else scores


def newton(Z, sign, cost):
    """Weights and intercept that minimise w'w / 2 + sum of cost * max(0, 1 - sign * (Zw + b))^2.

    The loss is quadratic while the rows inside the margin stay the same, so that a whole step among the same rows ends
    at the minimum (Keerthi and DeCoste 2005), or so near to it that a step gains no more than rounding takes away. The
    intercept costs next to nothing.
    """
    held = np.ones(Z.shape[1] + 1)
    held[-1] = 1e-8
    weights, decision = np.zeros(len(held)), np.zeros(len(Z))
    is_inside = sign * decision < 1
    for _ in range(MAX_STEPS):
        rows = np.flatnonzero(is_inside)
        step = _target(Z, rows, sign, cost, held) - weights
        change = Z @ step[:-1] + step[-1]
        length, gain = _length(weights, step, decision, change, sign, cost, held)
        weights, decision = weights + length * step, decision + length * change
        before, is_inside = is_inside, sign * decision < 1
        if gain <= LEAST_GAIN or (length == 1.0 and np.array_equal(before, is_inside)):
            break
    return weights


def _target(Z, rows, sign, cost, held):
    """The minimum if the rows inside the margin were these; a block of them is copied at a time."""
    matrix, goal = np.diag(held), np.zeros(len(held))
    for batch in gen_batches(len(rows), ROWS_AT_ONCE):
        inside = rows[batch]
        some, price = Z[inside], 2 * cost[inside]
        weighed = some * price[:, None]
        matrix[:-1, :-1] += weighed.T @ some
        matrix[-1, :-1] += weighed.sum(axis=0)
        matrix[-1, -1] += price.sum()
        goal += np.append(weighed.T @ sign[inside], price @ sign[inside])
    matrix[:-1, -1] = matrix[-1, :-1]
    return np.linalg.solve(matrix, goal)


def _length(weights, step, decision, change, sign, cost, held):
    """The longest of 1, 1/2, 1/4, ... that brings the loss down, and by which share of it."""

    def loss(length):
        moved = weights + length * step
        short = np.maximum(0.0, 1 - sign * (decision + length * change))
        return moved @ (held * moved) / 2 + cost @ short**2

    now, length = loss(0.0), 1.0
    while (found := loss(length)) > now and length > 1e-6:
        length /= 2
    return length, (now - found) / now if now > 0 else 0.0
