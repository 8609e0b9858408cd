"""Decision values as probabilities: a logistic curve whose goals are not quite 0 and 1 (Platt, 1999)."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

STEEPEST = 100.0  # in standard deviations of the decision values


def curve(decisions, codes, weight):
    """Return slope and intercept of the log odds of class 1, with one row of either class added for what is not seen.

    The slope is at least 0, so that no curve turns the order of decision values around.
    """
    finite = np.clip(decisions, -1e12, 1e12)
    middle = float(np.average(finite, weights=weight))
    width = float(np.sqrt(np.average((finite - middle) ** 2, weights=weight))) or 1.0
    scaled, n_up = (finite - middle) / width, float(weight[codes == 1].sum())
    n_down = float(weight.sum()) - n_up
    goal = np.where(codes == 1, (n_up + 1) / (n_up + 2), 1 / (n_down + 2))

    def loss(point):
        odds = point[0] * scaled + point[1]
        rest = weight * (expit(odds) - goal)
        return np.sum(weight * (np.logaddexp(0, odds) - goal * odds)), np.array([rest @ scaled, rest.sum()])

    start = np.array([1.0, np.log((n_up + 1) / (n_down + 1))])
    slope, at_middle = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, STEEPEST), (None, None)]).x
    return float(slope / width), float(at_middle - slope * middle / width)


def on_curve(known, decisions):
    """Return the probabilities of class 1 that decision values stand for."""
    slope, intercept = known
    return expit(slope * np.clip(decisions, -1e12, 1e12) + intercept)
