"""Similarity measures as one table per column, and those tables laid out for dual coordinate descent."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

WIDEST_FULL_TABLE = 64
PRECISION = 1e-6


def pair_share(count, total):
    """f (f - 1) / (N (N - 1)), the chance that two different rows both hold the value."""
    return np.maximum(count * (count - 1), 0) / max(total * (total - 1), 1e-300)


def _one(count, total):
    return np.ones_like(count)


def _goodall1(count, total):
    order = np.argsort(count, kind="stable")
    climbed = np.cumsum(pair_share(count[order], total))
    return 1 - climbed[np.searchsorted(count[order], count, side="right") - 1]


def _goodall2(count, total):
    order = np.argsort(-count, kind="stable")
    climbed = np.cumsum(pair_share(count[order], total))
    return 1 - climbed[np.searchsorted(-count[order], -count, side="right") - 1]


def _iof_mismatch(left, right, total):
    return 1 / (1 + np.log(left) * np.log(right))


def _of_mismatch(left, right, total):
    return 1 / (1 + np.log(total / left) * np.log(total / right))


def _lin_mismatch(left, right, total):
    return -2 * np.log((left + right) / total)


MATCH = {
    "overlap": _one,
    "iof": _one,
    "of": _one,
    "lin": lambda count, total: -2 * np.log(count / total),
    "goodall1": _goodall1,
    "goodall2": _goodall2,
    "goodall3": lambda count, total: 1 - pair_share(count, total),
    "goodall4": pair_share,
}
MISMATCH = {"iof": _iof_mismatch, "of": _of_mismatch, "lin": _lin_mismatch}
INDEFINITE = ("iof", "of")
MEASURES = tuple(MATCH)


class ColumnTable(NamedTuple):
    """Similarity of values u, v: `mismatch[level[u], level[v]]`, plus `bonus[u]` where u == v."""

    bonus: np.ndarray  # (n_values,)
    level: np.ndarray  # (n_values + 1,) the last is a value never counted
    mismatch: np.ndarray  # (n_levels, n_levels)

    @property
    def full(self):
        """(n_values, n_values + 1) similarities; the last column is to a value never counted."""
        out = self.mismatch[np.ix_(self.level[:-1], self.level)]
        out[np.arange(self.bonus.size), np.arange(self.bonus.size)] += self.bonus
        return out


def column_table(measure, count, total, clip=False):
    """The table of one column, from the counts of its values."""
    if measure not in MISMATCH:
        return ColumnTable(MATCH[measure](count, total), np.zeros(count.size + 1, dtype=np.int64), np.zeros((1, 1)))
    at_least_one = np.maximum(np.append(count, 0.0), 1.0)
    match = MATCH[measure](at_least_one[:-1], total)
    levels, level = np.unique(at_least_one, return_inverse=True)
    mismatch = MISMATCH[measure](levels[:, None], levels, max(total, levels[-1]))
    table = ColumnTable(match - mismatch[level[:-1], level[:-1]], level, mismatch)
    return clipped(table, count) if clip and measure in INDEFINITE else table


def clipped(table, count):
    """The nearest table whose Gram matrix over the counted rows has no negative eigenvalue.

    Values of one count behave alike, so only the small matrix between counts has to be searched.
    """
    n_levels = table.mismatch.shape[0]
    held = np.bincount(table.level[:-1], weights=count, minlength=n_levels)
    bonus = np.bincount(table.level[:-1], weights=table.bonus * count**2, minlength=n_levels)
    root = np.sqrt(held)
    between = root[:, None] * table.mismatch * root
    between[np.diag_indices(n_levels)] += np.divide(bonus, held, out=np.zeros(n_levels), where=held > 0)
    value, vector = np.linalg.eigh(between)
    negative = value < -1e-12 * value[-1]
    inverse = np.divide(1, root, out=np.zeros(n_levels), where=root > 0)
    lift = inverse[:, None] * vector[:, negative]
    return table._replace(mismatch=table.mismatch - (lift * value[negative]) @ lift.T)


def factors(mismatch):
    """(n_levels, rank) factors and their signs, with mismatch = factors * signs @ factors.T."""
    value, vector = np.linalg.eigh(mismatch)
    kept = np.abs(value) > PRECISION * 1e-2 * max(np.abs(value).max(), 1e-300)
    return vector[:, kept] * np.sqrt(np.abs(value[kept])), np.sign(value[kept])


def cauchy_pivots(low, high):
    """Points and triangle that factor 1 / (a + b) over [low, high] to PRECISION of its diagonal."""
    grid = np.geomspace(low, high, 400)
    rest, chosen, columns = 1 / (2 * grid), [], np.empty((grid.size, 0))
    while (rest * 2 * grid).max() > PRECISION and len(chosen) < 40:
        pivot = int(np.argmax(rest * 2 * grid))
        column = (1 / (grid + grid[pivot]) - columns @ columns[pivot]) / np.sqrt(rest[pivot])
        columns = np.column_stack([columns, column])
        rest = np.maximum(rest - column**2, 0)
        chosen.append(grid[pivot])
    points = np.array(chosen)
    return points, cholesky(1 / (points[:, None] + points), lower=True)


def cauchy_factor(a, points, triangle):
    """(n, n_points) features whose inner products are 1 / (a + b)."""
    return solve_triangular(triangle, 1 / (points[:, None] + a), lower=True).T
