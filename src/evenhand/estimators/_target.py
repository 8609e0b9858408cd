"""Targets as class codes: classes as they are, continuous targets as quantile classes."""

import numpy as np

from evenhand.estimators._columns import weighted_quantiles

MOST_CLASSES = 100  # numbers with more different values than this are taken for a continuous target


def is_continuous(y):
    """Return whether a target is a quantity: it has fractions, or more than 100 different numbers."""
    y = np.asarray(y)
    if y.dtype.kind not in "iuf":
        return False
    return bool(np.any(y != np.floor(y))) or np.unique(y).size > MOST_CLASSES


def quantile_cuts(y, n_classes, weights=None):
    """Give the rising values that cut a numeric target into at most n_classes groups of like weight."""
    shares = np.linspace(0, 1, n_classes + 1)[1:-1]
    values = _used(np.asarray(y, dtype=np.float64), weights)
    counts = np.ones(values.size) if weights is None else _used(weights, weights)
    cuts = np.unique(weighted_quantiles(values, counts, shares))
    return cuts[cuts > values.min()]


def target_classes(y, n_target_classes, weights=None):
    """Give the classes of a target and the position of each row's class among them."""
    used = _used(y, weights)
    if not is_continuous(used):
        classes = np.unique(used)
        return classes, np.minimum(np.searchsorted(classes, y), classes.size - 1)  # any class does for weight 0
    if n_target_classes < 2:
        raise ValueError(
            f"A continuous target needs n_target_classes of 2 or more, but it is {int(n_target_classes)}. Raise it."
        )
    cuts = quantile_cuts(y, n_target_classes, weights)
    return np.arange(cuts.size + 1), np.searchsorted(cuts, y, side="right")


def _used(rows, weights):
    """Give the rows with a weight; a row of weight 0 is no row."""
    return rows if weights is None or not np.any(weights) else rows[weights > 0]
