"""The area under the ROC curve: variance after DeLong, tests, intervals, and the chance to see a difference."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri, owens_t, stdtrit
from scipy.stats import norm, rankdata, t

from evenhand.statistics.records import Interval, PairedDifference, codes_of_two


@dataclass(frozen=True)
class AreaParts:
    """Areas of one or more scores, and their covariance as it comes from each class, over its number of rows."""

    areas: np.ndarray
    of_positives: np.ndarray
    of_negatives: np.ndarray
    n_positive: int
    n_negative: int

    @property
    def covariance(self) -> np.ndarray:
        """Covariance matrix of the areas."""
        return self.of_positives + self.of_negatives

    def of_differences(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the deviation of every pair's difference and its degrees of freedom after Welch and Satterthwaite."""
        ups, downs = _of_differences(self.of_positives), _of_differences(self.of_negatives)
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = (ups + downs) ** 2 / (ups**2 / (self.n_positive - 1) + downs**2 / (self.n_negative - 1))
        return np.sqrt(ups + downs), np.where(ups + downs > 0, degrees, np.inf)


def _of_differences(covariance: np.ndarray) -> np.ndarray:
    own = np.diag(covariance)
    return np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0)


def delong_parts(y: np.ndarray, scores: np.ndarray) -> AreaParts:
    """Return areas and the two parts of their covariance for one or more columns of scores on the same rows.

    Midranks give the structural components in O(n log n): DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44; Sun, Xu
    (2014), IEEE Signal Processing Letters 21.
    """
    positive = codes_of_two(y)
    columns = np.asarray(scores, dtype=float).reshape(len(positive), -1)
    ups, downs = columns[positive], columns[~positive]
    n_up, n_down = len(ups), len(downs)
    if min(n_up, n_down) < 2:
        raise ValueError(f"DeLong's variance needs two rows of each class, but found {n_up} and {n_down}.")
    among_all = rankdata(np.vstack([ups, downs]), axis=0)
    above = (among_all[:n_up] - rankdata(ups, axis=0)) / n_down
    below = 1 - (among_all[n_up:] - rankdata(downs, axis=0)) / n_up
    of_positives, of_negatives = (np.atleast_2d(np.cov(part, rowvar=False)) for part in (above, below))
    return AreaParts(above.mean(axis=0), of_positives / n_up, of_negatives / n_down, n_up, n_down)


def delong(y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the areas of one or more columns of scores on the same rows, and the covariance matrix of those areas."""
    parts = delong_parts(y, scores)
    return parts.areas, parts.covariance


def auc_interval(y: np.ndarray, scores: np.ndarray, *, level: float = 0.95, scale: str = "logit") -> Interval:
    """Return the two-sided interval of the area under the curve from DeLong's variance.

    On the scale "logit" the interval stays within [0, 1] and holds its level better near 1; "plain" is the usual one,
    cut to [0, 1]. Where the classes part completely DeLong's variance is zero; Wilson's interval with as many trials as
    the rarer class has rows is given instead, so that four rows do not prove an area of exactly 1.
    """
    areas, covariance = delong(y, scores)
    area, variance = float(areas[0]), float(covariance[0, 0])
    if variance == 0:
        _, counts = np.unique(y, return_counts=True)
        return wilson_interval(area, int(counts.min()), level=level)
    reach = float(ndtri(0.5 + level / 2)) * math.sqrt(variance)
    if scale == "plain":
        return Interval(max(0.0, area - reach), min(1.0, area + reach), level)
    stretched = reach / (area * (1 - area))
    return Interval(float(expit(logit(area) - stretched)), float(expit(logit(area) + stretched)), level)


def wilson_interval(share: float, n_trials: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a share seen in n_trials independent trials."""
    z = ndtri(0.5 + level / 2)
    centre = (share + z**2 / (2 * n_trials)) / (1 + z**2 / n_trials)
    reach = z / (1 + z**2 / n_trials) * math.sqrt(share * (1 - share) / n_trials + z**2 / (4 * n_trials**2))
    return Interval(max(0.0, float(centre - reach)), min(1.0, float(centre + reach)), level)


def delong_test(y: np.ndarray, first: np.ndarray, second: np.ndarray, *, level: float = 0.95) -> PairedDifference:
    """Compare the areas of two scores on the same rows.

    Student's t with Welch-Satterthwaite degrees of freedom is the reference instead of the normal: with 50 positives
    the normal finds one false difference in ten more than alpha allows, and at the small levels of a gate many more.
    """
    parts = delong_parts(y, np.column_stack([first, second]))
    deviations, degrees = parts.of_differences()
    difference, deviation, freedom = float(parts.areas[0] - parts.areas[1]), float(deviations[0, 1]), degrees[0, 1]
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * deviation
    statistic = difference / deviation if deviation > 0 else 0.0
    interval = Interval(difference - reach, difference + reach, level)
    return PairedDifference(difference, interval, statistic, float(2 * t.sf(abs(statistic), freedom)), "DeLong")


def auc_variance(auc: float, n_positive: int, n_negative: int) -> float:
    """Return the variance of an area before any data are seen, for normal scores of equal spread in both classes.

    The chance that one row lies above (or below) two of the other class is then q = A - 2 T(z, 1/sqrt 3) with z the
    normal quantile of A and T Owen's function. The exponential scores of Hanley and McNeil (1982) give the same where
    classes are even but overstate the variance where positives are rare.
    """
    both = auc - 2 * owens_t(ndtri(auc), 1 / math.sqrt(3))
    spread = (n_positive + n_negative - 2) * (both - auc**2)
    return float((auc * (1 - auc) + spread) / (n_positive * n_negative))


def auc_by_chance(n_positive: int, n_negative: int, *, level: float = 0.95) -> Interval:
    """Return what the area of scores that know nothing keeps within: Mann and Whitney's, so no data enter into it.

    A leak is suspected when an area lies outside: even twelve rows and twenty-four do not part completely by chance.
    """
    reach = float(ndtri(0.5 + level / 2)) * math.sqrt(auc_variance(0.5, n_positive, n_negative))
    return Interval(max(0.0, 0.5 - reach), min(1.0, 0.5 + reach), level)


def auc_power(
    difference: float, *, auc: float, n_positive: int, n_negative: int, correlation: float = 0.0, alpha: float = 0.05
) -> float:
    """Return the chance that a two-sided test at alpha finds the area `auc + difference` apart from `auc`.

    `correlation` is that of the two estimated areas on the same rows; rivals trained on the same table often reach 0.5
    to 0.9, and 0 is the cautious value.
    """
    if not (0 < auc < 1 and 0 < auc + difference < 1):
        raise ValueError(
            f"Power needs both areas between 0 and 1, but auc={auc} and difference={difference} give "
            f"{auc + difference:.4g}. Give a smaller difference, or a negative one."
        )
    variances = [auc_variance(area, n_positive, n_negative) for area in (auc, auc + difference)]
    joint = 2 * correlation * math.sqrt(variances[0] * variances[1])
    shift = abs(difference) / math.sqrt(sum(variances) - joint)
    z = ndtri(1 - alpha / 2)
    return float(norm.cdf(shift - z) + norm.cdf(-shift - z))
