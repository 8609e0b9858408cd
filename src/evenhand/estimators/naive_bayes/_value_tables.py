"""Log-probabilities of category values by class, in the smoothings the lectures list."""

import numpy as np

SMOOTHINGS = ("values", "classes", "m_estimate")
ROWS_AT_ONCE = 2**16


def count_table(codes, membership, n_values):
    """Give the weight of each value (row) in each class (column); other codes are left out."""
    known = codes < n_values
    columns = [np.bincount(codes[known], weights, n_values) for weights in membership[known].T]
    return np.column_stack(columns)


def class_of_each(membership):
    """Give the one class of each row as small numbers, or None where rows have weights or belong to several."""
    if membership.shape[1] > 256 or not ((membership == 0) | (membership == 1)).all():
        return None
    return membership.argmax(axis=1).astype(np.uint16) if (membership.sum(axis=1) == 1).all() else None


def count_codes(column, classes, n_classes):
    """Give the rows of each small code (row) in each class (column), of a column of uint8 or uint16."""
    n_codes = int(column.max(initial=0)) + 1
    counts = np.zeros(n_codes * n_classes, dtype=np.int64)
    for start in range(0, len(column), ROWS_AT_ONCE):
        codes = column[start : start + ROWS_AT_ONCE].astype(np.int64)
        counts += np.bincount(codes * n_classes + classes[start : start + ROWS_AT_ONCE], minlength=counts.size)
    return counts.reshape(n_codes, n_classes).astype(np.float64)


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
