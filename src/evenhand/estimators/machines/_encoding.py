"""Whole-number codes for columns of hashable values."""

import numpy as np

from evenhand.estimators._door import ESTIMATORS, named_at

SORTABLE = "biufUS"
NOT_THERE = ("NAType", "NaTType")


def hashable(value):
    """The value, or None for every kind of missing value: None, NaN, pandas' NA and NaT."""
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else value
    return None if type(value).__name__ in NOT_THERE else value


@named_at(ESTIMATORS)
class ColumnCoder:
    """The values of one column and their codes 0..n_values-1; `encode` gives n_values to a value it has not learned.

    Values are equal where Python holds them equal, and every kind of missing value is one and the same value.
    """

    def __init__(self, column):
        self.values = distinct(column)

    @property
    def n_values(self):
        return len(self.values)

    def encode(self, column):
        learned = self.values
        if isinstance(learned, np.ndarray) and sorts_with(column.dtype, learned.dtype):
            return codes_by_order(column, learned)
        code_of = {hashable(value): code for code, value in enumerate(values_of(learned))}
        unseen = self.n_values
        return np.fromiter((code_of.get(hashable(value), unseen) for value in column.tolist()), np.int64, column.size)


def values_of(learned):
    return learned.tolist() if isinstance(learned, np.ndarray) else learned


def distinct(column):
    """Distinct values: sorted where the type sorts, else in order of appearance."""
    if column.dtype.kind not in SORTABLE:
        return list(dict.fromkeys(map(hashable, column.tolist())))
    if column.dtype.kind in "iu" and column.size:
        low, high = int(column.min()), int(column.max())
        if is_short(low, high, column.size):
            return (np.flatnonzero(np.bincount((column - low).astype(np.int64))) + low).astype(column.dtype)
    return np.unique(column)


def is_short(low, high, n_rows):
    """Whether counting over a range of whole numbers beats sorting the rows."""
    return high - low <= 4 * n_rows + 1024


def sorts_with(left, right):
    numbers = "biuf"
    return left.kind in SORTABLE and right.kind in SORTABLE and (left.kind in numbers) == (right.kind in numbers)


def codes_by_order(column, learned):
    if learned.size == 0:
        return np.zeros(column.size, dtype=np.int64)
    if column.dtype.kind in "iu" and learned.dtype.kind in "iu":
        low, high = int(learned[0]), int(learned[-1])
        if is_short(low, high, column.size):
            return codes_by_range(column, learned, low, high)
    codes = np.minimum(np.searchsorted(learned, column), learned.size - 1)
    same = learned[codes] == column
    if column.dtype.kind == "f" and learned.dtype.kind == "f" and np.isnan(learned[-1]):
        missing = np.isnan(column)
        codes[missing] = learned.size - 1
        same |= missing
    return np.where(same, codes, learned.size)


def codes_by_range(column, learned, low, high):
    code_of = np.full(high - low + 3, learned.size)
    code_of[learned.astype(np.int64) - low + 1] = np.arange(learned.size)
    return code_of[np.clip(column, low - 1, high + 1).astype(np.int64) - low + 1]
