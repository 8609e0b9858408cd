"""What the best of many candidates can be expected to score: its figure corrected for having been chosen by it."""

import math

import numpy as np
from scipy.stats import t

from evenhand.statistics.joint import JointFigures
from evenhand.statistics.records import Interval

N_DRAWS = 4000
UNSTEADY = 3.0
REDRAWN, MOST_REDRAWN, FEW_ROWS = 1.4, 1.75, 200
LEFT_OUT = 0.5


def expected_of_chosen(
    joint: JointFigures, *, level: float = 0.95, seed: int = 0, least_error: float = 0.0
) -> tuple[float, Interval]:
    """Return what the candidate with the greatest mean is expected to score on new rows, and its interval.

    Bootstrap bias corrected cross-validation (Tsamardinos et al. 2018, Machine Learning 107) draws judged rows, chooses
    by those drawn and scores by those left out. To first order in the rows' weights the figures drawn are normal with
    the joint covariance, and those left out lie as far on the other side of the estimate: no row need be drawn. That is
    unbiased where all candidates are equal and too low where they are not; the bootstrap's estimate of the bias of the
    maximum, taken off the maximum, errs the other way. Returned is the mean of both.

    Training rows move the figures too, and with them the choice. The variance of the judged rows is raised by two
    fifths for that, and by more where the rarest class has fewer than 200 rows, in the draws and in the interval, as
    simulations with learners ask. `least_error` is the error
    where no row moves the chosen one, as at the bounds of a metric.

    A candidate behind whose figure varies over three times as much as the leader's, and as that in the middle, takes no
    part in the choice that is drawn: a few wild rows pull it down, as squared errors do; no luck lifts it as far up.
    """
    factor = redrawn(joint.degrees)
    steady = _steady(joint)
    means, covariance = joint.means[steady], joint.covariance[np.ix_(steady, steady)]
    lead = int(np.flatnonzero(steady == joint.leader)[0])
    values, vectors = np.linalg.eigh(factor * covariance)
    draw = np.random.default_rng(seed)
    half = draw.normal(size=(N_DRAWS // 2, len(means))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    drawn = np.concatenate([half, -half])  # so that a figure alone is not moved, and none is corrected upwards
    chosen = (means + drawn).argmax(axis=1)
    optimism = float(drawn[np.arange(N_DRAWS), chosen].mean())
    left_out = float(means[chosen].mean()) - optimism
    estimate = LEFT_OUT * left_out + (1 - LEFT_OUT) * (float(means[lead]) - optimism)
    reach = float(t.ppf(0.5 + level / 2, max(joint.degrees, 1)))
    reach *= math.sqrt(factor * max(float(covariance[lead, lead]), least_error**2))
    return estimate, Interval(estimate - reach, estimate + reach, level)


def _steady(joint: JointFigures) -> np.ndarray:
    """The candidates that could be chosen by luck; the leader is one.

    A leader at the bounds of its metric hardly varies: half of the candidates always take part.
    """
    deviations = np.sqrt(np.maximum(np.diag(joint.covariance), 0))
    most = max(deviations[joint.leader], float(np.median(deviations)))
    return np.flatnonzero(deviations <= UNSTEADY * most)


def redrawn(degrees: int) -> float:
    """Return by what factor redrawing training rows raises the variance of a figure; the fewer rows, the greater."""
    return min(max(REDRAWN, 1 + (REDRAWN - 1) * math.sqrt(FEW_ROWS / max(degrees, 1))), MOST_REDRAWN)
