"""Columns of raw tables: which cells are missing, which columns are categories, how values become codes."""

from collections import Counter
from itertools import repeat
from numbers import Real

import numpy as np


class CodedColumns:
    """Columns as the different values of each and, for each row, the place of its value among them; -1 is missing."""

    def __init__(self, values, codes):
        self.values, self.codes = values, codes

    @property
    def shape(self):
        """Rows and columns."""
        return len(self.codes[0]) if self.codes else 0, len(self.codes)

    def counts(self, j):
        """The number of rows of each value of a column."""
        codes = self.codes[j]
        return np.bincount(codes[codes >= 0], minlength=len(self.values[j]))


class ReadColumns:
    """Columns of finite or missing numbers that `read` gives one at a time, by their place."""

    def __init__(self, shape, read):
        self.shape, self.read = shape, read

    def __iter__(self):
        return map(self.read, range(self.shape[1]))


def is_missing(value):
    """Return whether one value is None, NaN, NaT or NA."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124  only NaN and its kin differ from themselves
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def missing_cells(column):
    """Give the mask of the missing cells of a column."""
    if column.dtype.kind in "biu":
        return np.zeros(column.size, dtype=bool)
    if column.dtype.kind == "f":
        return np.isnan(column)
    return np.fromiter(map(is_missing, column.tolist()), dtype=bool, count=column.size)


def count_values(column, name, weights=None):
    """Give the number of rows (or their weight) of each value of a column, missing cells left out."""
    if column.dtype.kind in "biuf":
        kept = ~missing_cells(column)
        values, rows = np.unique(column[kept], return_inverse=True)
        counts = np.bincount(rows, None if weights is None else weights[kept], minlength=values.size)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))
    cells = column.tolist()
    try:
        counts = Counter(cells) if weights is None else _weigh(cells, weights)
    except TypeError as error:
        raise TypeError(
            f"The categories of column {name} must be hashable and their argument must be a string or a number, "
            f"but {error}. Turn such cells into strings."
        ) from error
    return {value: count for value, count in counts.items() if not is_missing(value)}


def _weigh(cells, weights):
    totals = {}
    for value, weight in zip(cells, weights.tolist(), strict=True):
        totals[value] = totals.get(value, 0.0) + weight
    return totals


def value_order(value):
    """Give a key that sorts numbers by size, then all other values by type and text."""
    if isinstance(value, Real):
        return 0, "", value
    return 1, type(value).__name__, str(value)


def look_up(column, codes, unseen, missing):
    """Give the code of each cell of a column as int32; `codes` maps a value to its code."""
    if column.dtype.kind in "biuf":
        return _look_up_numbers(column, codes, unseen, missing)
    cells = column.tolist()
    try:
        found = np.fromiter(map(codes.get, cells, repeat(unseen)), dtype=np.int32, count=len(cells))
    except TypeError:
        found = np.array([_look_up_one(cell, codes, unseen) for cell in cells], dtype=np.int32)
    unknown = np.flatnonzero(found == unseen)
    found[unknown[missing_cells(column[unknown])]] = missing
    return found


def _look_up_one(cell, codes, unseen):
    return codes.get(cell, unseen) if cell.__hash__ else unseen


def is_small_codes(dtype):
    """Return whether numbers are of a type of so few values that a table of all of them is small."""
    return dtype.kind == "u" and dtype.itemsize <= 2


def _look_up_numbers(column, codes, unseen, missing):
    if is_small_codes(column.dtype) and column.size >= 256**column.dtype.itemsize:
        every = range(256**column.dtype.itemsize)
        return np.array([codes.get(value, unseen) for value in every], dtype=np.int32)[column]
    values, rows = np.unique(column, return_inverse=True)
    distinct = np.array([codes.get(value, unseen) for value in values.tolist()], dtype=np.int32)
    found = distinct[rows] if values.size else np.empty(0, dtype=np.int32)
    found[missing_cells(column)] = missing
    return found


def codes_from_cuts(X, cuts):
    """Give the number of cut points not above each value; NaN gets a code of its own, the last one.

    Codes are int32, of columns that are read one at a time in the smallest type that holds them.
    """
    is_read = isinstance(X, ReadColumns)
    codes = np.empty(X.shape, np.min_scalar_type(max(map(len, cuts), default=0) + 1) if is_read else np.int32)
    for j, (column, points) in enumerate(zip(X if is_read else X.T, cuts, strict=True)):
        codes[:, j] = np.searchsorted(points, column, side="right")
        codes[np.isnan(column), j] = len(points) + 1
    return codes


def column_name(names, j):
    """Give the name of column j for an error message, or its position where there are no names."""
    return repr(str(names[j])) if names is not None else str(j)


def categorical_mask(raw, X, categorical):
    """Give the mask of the categorical columns.

    `categorical` is None, positions, a mask, or "auto": columns of text, categories or booleans, and object columns
    with a cell that is no number. `raw` is the table as it came, `X` the array made from it.
    """
    n_columns = X.shape[1]
    if categorical is None:
        return np.zeros(n_columns, dtype=bool)
    if isinstance(categorical, str):
        if categorical != "auto":
            raise ValueError(f"categorical must be None, 'auto', positions or a mask, but it is {categorical!r}.")
        return np.array([_looks_categorical(raw, X, j) for j in range(n_columns)])
    chosen = np.asarray(categorical)
    if chosen.dtype == bool and chosen.size == n_columns:
        return chosen.copy()
    if chosen.size and (chosen.dtype.kind not in "iu" or chosen.max() >= n_columns or chosen.min() < -n_columns):
        raise ValueError(
            f"categorical must name columns by position (0 to {n_columns - 1}) or be a mask of {n_columns} booleans, "
            f"but it is {categorical!r}."
        )
    mask = np.zeros(n_columns, dtype=bool)
    mask[chosen.astype(int)] = True
    return mask


def _looks_categorical(raw, X, j):
    dtype = raw.dtypes.iloc[j] if hasattr(raw, "iloc") else X.dtype
    kind = getattr(dtype, "kind", "O")
    if kind in "biuf":
        return kind == "b"
    return not all(isinstance(cell, Real) or is_missing(cell) for cell in X[:, j].tolist())


def numbers_of(X, columns, names):
    """Give the given columns of a table as floats, missing cells as NaN."""
    if X.dtype.kind in "biuf":
        numbers = X if len(columns) == X.shape[1] else X[:, columns]
        numbers = np.ascontiguousarray(numbers, dtype=np.float64)
    else:
        numbers = np.empty((X.shape[0], len(columns)))
        for position, j in enumerate(columns):
            numbers[:, position] = _to_floats(X[:, j], column_name(names, j))
    if np.isinf(numbers).any():
        first = columns[int(np.argmax(np.isinf(numbers).any(axis=0)))]
        raise ValueError(
            f"Numbers must be finite or missing, but column {column_name(names, first)} has infinity. "
            "Replace such cells by NaN or a large number."
        )
    return numbers


def _to_floats(column, name):
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return _to_floats_one_by_one(column, name)  # NA, or a cell that is no number


def _to_floats_one_by_one(column, name):
    try:
        return np.array([np.nan if is_missing(cell) else float(cell) for cell in column.tolist()])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {name} was numeric in training, but {error}. Give numbers, or name it in categorical."
        ) from error


def weighted_quantiles(values, weights, shares):
    """Give the inverse of the weighted distribution function at each share, the middle of a step where it is flat."""
    if (weights == 1).all():
        values, sums = np.sort(values), np.arange(1.0, values.size + 1)
    else:
        order = np.argsort(values, kind="stable")
        values, sums = values[order], np.cumsum(weights[order])
    asked = shares * sums[-1]
    slack = 1e-12 * sums[-1]
    lower = values[np.searchsorted(sums, asked - slack)]
    upper = values[np.minimum(np.searchsorted(sums, asked + slack), values.size - 1)]
    return (lower + upper) / 2
