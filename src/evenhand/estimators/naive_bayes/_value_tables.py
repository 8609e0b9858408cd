"""Log-probabilities of category values by class, in the smoothings the lectures list."""

import numpy as np

SMOOTHINGS = ("values", "classes", "m_estimate")


def count_table(codes, membership, n_values):
    """Give the weight of each value (row) in each class (column); other codes are left out."""
    known = codes < n_values
    columns = [np.bincount(codes[known], weights, n_values) for weights in membership[known].T]
    return np.column_stack(columns)


def log_probability_table(counts, smoothing, alpha, m, prior):
    """Give log P(value | class), one row per value and a last row for a value never seen (count 0).

    With N_ic rows of value i in class c, N_c known cells in class c, V values and C classes the estimates are
    "values" (N_ic + alpha) / (N_c + alpha V), "classes" (N_ic + alpha) / (N_c + alpha C), and
    "m_estimate" (N_ic + m p) / (N_c + m) with p = 1 / V, the share of the value, or a number.
    A value that is impossible in every class, and a class without a known cell, say nothing: their logs are 0.
    """
    n_values, n_classes = counts.shape
    totals = counts.sum(axis=0)
    counts = np.vstack([counts, np.zeros(n_classes)])
    if smoothing == "m_estimate":
        top, bottom = counts + m * _prior_shares(counts, prior)[:, None], totals + m
    else:
        top, bottom = counts + alpha, totals + alpha * (n_values if smoothing == "values" else n_classes)
    shares = np.divide(top, bottom, out=np.ones_like(top), where=bottom > 0)
    shares[~(shares > 0).any(axis=1)] = 1.0
    with np.errstate(divide="ignore"):
        return np.log(shares)


def _prior_shares(counts, prior):
    n_values = len(counts) - 1
    if prior == "uniform":
        return np.full(len(counts), 1 / max(n_values, 1))
    if prior == "frequency":
        return counts.sum(axis=1) / max(counts.sum(), 1e-300)
    return np.full(len(counts), float(prior))
