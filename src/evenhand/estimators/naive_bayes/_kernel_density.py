"""One-dimensional Gaussian kernel densities of weighted values, compiled."""

import numpy as np
from numba import njit

from evenhand.estimators._columns import weighted_quantiles

MANY_VALUES = 500


def spread_of(values, weights):
    """Give the weighted standard deviation; that of equal values is exactly 0."""
    away = values - values[0]
    return float(np.sqrt(np.average((away - np.average(away, weights=weights)) ** 2, weights=weights)))


def fit_kernel(values, weights, fallback, bandwidth=None):
    """Give sorted centres, the log of their shares, and the bandwidth of a kernel density.

    More than 500 different values are replaced by the means of groups that hold a 500th of the weight and are at
    most half a bandwidth wide. The bandwidth is Silverman's, 0.9 min(s, IQR / 1.349) n^(-1/5), but not below
    `fallback`, unless one is given.
    """
    used = weights > 0
    order = np.argsort(values[used], kind="stable")
    values, weights = values[used][order], weights[used][order]
    if bandwidth is None:
        bandwidth = max(silverman_bandwidth(values, weights), fallback)
    centres, shares = _centres(values, weights / weights.sum(), bandwidth / 2)
    return centres, np.log(shares), bandwidth


def silverman_bandwidth(values, weights):
    """Give 0.9 min(s, IQR / 1.349) n^(-1/5), or without the IQR where half of the values are equal."""
    deviation = spread_of(values, weights)
    quartiles = weighted_quantiles(values, weights, np.array([0.25, 0.75]))
    middle = (quartiles[1] - quartiles[0]) / 1.349
    spread = min(deviation, middle) if middle > 0 else deviation
    return float(0.9 * spread * weights.sum() ** -0.2)


def _centres(values, shares, width):
    distinct, position = np.unique(values, return_inverse=True)
    shares = np.bincount(position, shares)  # equal values are never parted, in however many rows they come
    if distinct.size <= MANY_VALUES:
        return distinct, shares
    middle = np.floor((np.cumsum(shares) - shares / 2) * MANY_VALUES + 1e-9)  # a sum may round to below a border
    cell = np.floor((distinct - distinct[0]) / width + 1e-9)
    starts = (np.diff(middle, prepend=-1) > 0) | (np.diff(cell, prepend=-1) > 0)
    group = np.cumsum(starts) - 1
    mass = np.bincount(group, shares)
    return np.bincount(group, shares * distinct) / mass, mass


@njit(cache=True)
def _log_density(x, centres, log_shares, bandwidth):
    """Give the log density at x up to the height of a kernel, from the centres near enough to count."""
    nearest = min(np.searchsorted(centres, x), centres.size - 1)
    if nearest > 0 and x - centres[nearest - 1] < abs(centres[nearest] - x):
        nearest -= 1
    reach = np.sqrt((x - centres[nearest]) ** 2 + 120.0 * bandwidth**2)  # the rest is below e^-60 of the nearest
    low, high = np.searchsorted(centres, x - reach), np.searchsorted(centres, x + reach)
    low, high = min(low, nearest), max(high, nearest + 1)
    powers = log_shares[low:high] - 0.5 * ((x - centres[low:high]) / bandwidth) ** 2
    largest = powers.max()
    return largest + np.log(np.exp(powers - largest).sum())


@njit(cache=True)
def add_kernel_densities(x, centres, log_shares, bandwidth, out):
    """Add to out[i] the log density at x[i], missing cells left out; far from all centres it falls like a Gaussian."""
    level = -np.log(bandwidth * np.sqrt(2.0 * np.pi))
    for i in range(x.size):
        if not np.isnan(x[i]):
            out[i] += level + _log_density(x[i], centres, log_shares, bandwidth)
