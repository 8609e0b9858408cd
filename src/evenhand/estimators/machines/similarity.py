"""Similarity of rows of categorical values, as a Gram matrix."""

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_array

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.machines._encoding import ColumnCoder, hashable, values_of
from evenhand.estimators.machines._tables import MEASURES, WIDEST_FULL_TABLE, column_table, factors

CELLS_AT_ONCE = 1024
FREQUENCIES = {"frequencies": [StrOptions({"train", "all"})]}


@named_at(ESTIMATORS)
def similarity_matrix(X, Y=None, *, measure, counts=None, column_weights=None, clip=False):
    """Similarity of every row of X to every row of Y.

    A row's similarity is the weighted mean of the similarities of its columns. With f the count of a value, N the
    number of rows counted, p = f / N and p2 = f (f - 1) / (N (N - 1)), a column gives

    ========  ==============================================  =====================================
    measure   equal values x                                  different values x, y
    ========  ==============================================  =====================================
    overlap   1                                               0
    iof       1                                               1 / (1 + log f(x) log f(y))
    of        1                                               1 / (1 + log(N / f(x)) log(N / f(y)))
    lin       2 log p(x)                                      2 log(p(x) + p(y))
    goodall1  1 - sum of p2(q) over q with p(q) <= p(x)       0
    goodall2  1 - sum of p2(q) over q with p(q) >= p(x)       0
    goodall3  1 - p2(x)                                       0
    goodall4  p2(x)                                           0
    ========  ==============================================  =====================================

    and lin divides the sum over columns by the sum of log p over the values of both rows, not by their number.
    A missing value (None, NaN, NA) is a value like any other, and so is a negative code. A value that was not counted
    is taken as counted once.

    Overlap and the four Goodall measures are positive semidefinite by their form, lin on every table tried. iof and of
    are not, where counts are very uneven: a value seen once is fully iof-similar to all others, however little those
    resemble each other. With ``clip=True``, as in `SimilaritySVC`, each column's table is replaced by the nearest one,
    in squared differences over all pairs of counted rows, without negative eigenvalues.

    Parameters
    ----------
    X : array-like of shape (n_rows_X, n_columns)
        Integer codes or any hashable values.
    Y : array-like of shape (n_rows_Y, n_columns), default=None
        X if None.
    measure : {"overlap", "iof", "of", "lin", "goodall1", "goodall2", "goodall3", "goodall4"}
        How values are compared.
    counts : list of n_columns dicts {value: count}, default=None
        As `value_counts` gives them. Counted over Y if None, so that the rows fitted set the scale of the rows scored.
    column_weights : array-like of shape (n_columns,), default=None
        A weight of 2 equals the column twice.
    clip : bool, default=False
        Whether iof and of are made positive semidefinite.

    Returns
    -------
    ndarray of shape (n_rows_X, n_rows_Y)

    References
    ----------
    Boriah, Chandola and Kumar, Similarity measures for categorical data: a comparative evaluation, SDM 2008.

    Examples
    --------
    >>> from evenhand.estimators import similarity_matrix
    >>> similarity_matrix([["red", "low"], ["red", "high"], ["blue", "low"]], measure="overlap")
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0. ],
           [0.5, 0. , 1. ]])
    """
    check_measure(measure)
    X = check_values(X)
    Y_given = X if Y is None else check_values(Y)
    weights = check_column_weights(column_weights, X.shape[1])
    check_columns(X.shape[1], Y_given.shape[1], counts)
    coded = [shared_codes(X[:, k], Y_given[:, k], counts and counts[k]) for k in range(X.shape[1])]
    total = max(coded[0][2].sum(), 1.0)
    share = weights if measure == "lin" else weights / weights.sum()
    out = np.zeros((X.shape[0], Y_given.shape[0]))
    narrow = []
    for (left, right, count), weight in zip(coded, share, strict=True):
        table = column_table(measure, count, total, clip)
        if count.size > WIDEST_FULL_TABLE:
            add_wide(out, table, weight, left, right)
        else:
            narrow.append((*factors(weight * table.full[:, :-1]), left, right))
    for some in batches(narrow):
        add_narrow(out, some, symmetric=Y is None)
    return divided_by_cost(out, coded, total, weights) if measure == "lin" else out


def value_counts(X):
    """How often each value occurs, as one dict {value: count} per column; None stands for every missing value."""
    X = check_values(X)
    found = []
    for column in X.T:
        coder = ColumnCoder(column)
        count = np.bincount(coder.encode(column), minlength=coder.n_values)
        found.append(dict(zip(map(hashable, values_of(coder.values)), count.tolist(), strict=True)))
    return found


def check_values(X):
    return check_array(X, dtype=None, ensure_all_finite="allow-nan")


def check_measure(measure):
    if measure not in MEASURES:
        raise ValueError(
            f"measure={measure!r} was asked, but the measures are {', '.join(MEASURES)}. Name one of them."
        )


def check_frequencies(machine, unlabelled):
    """Refuse rows to be scored where they are not asked for, and a wish for them without any."""
    name = type(machine).__name__
    if machine.frequencies not in ("train", "all"):
        raise ValueError(f"frequencies={machine.frequencies!r} was asked of {name}. Choose 'train' or 'all'.")
    if (machine.frequencies == "all") != (unlabelled is not None):
        raise ValueError(
            f"{name} was asked for frequencies={machine.frequencies!r} with "
            f"{'no' if unlabelled is None else 'some'} unlabelled rows. Use frequencies='all' together with "
            "fit(..., unlabelled=rows to be scored), or frequencies='train' without."
        )


def check_columns(n_columns, n_columns_of_Y, counts):
    if n_columns_of_Y != n_columns:
        raise ValueError(f"Y has {n_columns_of_Y} columns, but X has {n_columns}. Give both the same columns.")
    if counts is not None and len(counts) != n_columns:
        raise ValueError(
            f"counts for {len(counts)} columns were given, but X has {n_columns}. Give one dict per column."
        )


def check_column_weights(column_weights, n_columns):
    if column_weights is None:
        return np.ones(n_columns)
    weights = np.asarray(column_weights, dtype=float)
    if weights.shape != (n_columns,) or not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"column_weights must be {n_columns} finite numbers, none negative and not all zero, one for each column "
            f"of X, but found {weights.tolist()}. Give one weight per column."
        )
    return weights


def shared_codes(left, right, counts):
    """Codes of both columns over their common values, and how often each value counts."""
    if counts is None:
        pool = right if left is right else np.concatenate([right, left])
        coder = ColumnCoder(pool)
        right_codes = coder.encode(right)
        return coder.encode(left), right_codes, np.bincount(right_codes, minlength=coder.n_values).astype(float)
    known = {hashable(value): count for value, count in counts.items()}
    pool = np.empty(len(known) + left.size + right.size, dtype=object)
    pool[:] = [*known, *left.tolist(), *right.tolist()]
    coder = ColumnCoder(pool)
    return (
        coder.encode(left),
        coder.encode(right),
        np.array([known.get(value, 0) for value in coder.values], dtype=float),
    )


def batches(narrow):
    """Columns in groups whose tables together have about CELLS_AT_ONCE cells."""
    group, cells = [], 0
    for column in narrow:
        group.append(column)
        cells += column[1].size
        if cells >= CELLS_AT_ONCE:
            yield group
            group, cells = [], 0
    if group:
        yield group


def add_narrow(out, columns, symmetric):
    """Add columns by matrix products; a product with its own transpose costs BLAS half as much."""
    sign = np.concatenate([sign for _, sign, _, _ in columns])
    left = np.concatenate([factor[codes] for factor, _, codes, _ in columns], axis=1)
    if not symmetric:
        out += (left * sign) @ np.concatenate([factor[codes] for factor, _, _, codes in columns], axis=1).T
        return
    for one in (1, -1):
        part = left[:, sign == one] if (sign != one).any() else left
        if part.shape[1]:
            out += one * (part @ part.T)


def add_wide(out, table, weight, left, right):
    """Add one column of many values by look-ups, a block of rows at a time."""
    mismatch = weight * table.mismatch
    bonus = weight * table.bonus
    right_level = table.level[right]
    for first in range(0, left.size, 256):
        some = left[first : first + 256]
        block = out[first : first + 256]
        block += mismatch[table.level[some]][:, right_level]
        block += np.where(some[:, None] == right, bonus[some][:, None], 0.0)


def divided_by_cost(out, coded, total, weights):
    """Lin's weight; two rows that hold only values common to all rows are alike."""
    costs = [-np.log(np.minimum(np.maximum(count, 1.0) / total, 1.0)) for _, _, count in coded]
    left = sum(weight * cost[codes] for (codes, _, _), cost, weight in zip(coded, costs, weights, strict=True))
    right = sum(weight * cost[codes] for (_, codes, _), cost, weight in zip(coded, costs, weights, strict=True))
    both = left[:, None] + right
    np.divide(out, both, out=out, where=both > 0)
    out[both <= 0] = 1.0
    return out
