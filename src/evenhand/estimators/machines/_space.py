"""A similarity measure over coded columns, laid out as the look-up tables that `_dual` walks."""

import numpy as np
from sklearn.utils import gen_batches

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.machines._dual import Geometry, scores
from evenhand.estimators.machines._tables import (
    PRECISION,
    WIDEST_FULL_TABLE,
    cauchy_factor,
    cauchy_pivots,
    column_table,
    factors,
)

REACH = 1.5
ROWS_AT_ONCE = 2**18


@named_at(ESTIMATORS)
class TableSpace:
    """Tables of every column, for rows given as codes; code n_values stands for a value never counted."""

    def __init__(self, measure, counts, total, column_weights):
        share = column_weights if measure == "lin" else column_weights / column_weights.sum()
        parts = [column_table(measure, count, total, clip=True) for count in counts]
        n_values = np.array([count.size for count in counts])
        ranked = np.array([part.mismatch.shape[0] > 1 or part.mismatch[0, 0] != 0 for part in parts])
        full = ranked & (n_values <= WIDEST_FULL_TABLE)
        self.measure = measure
        self.order = np.concatenate([np.flatnonzero(full), np.flatnonzero(~full)])
        self.start = np.cumsum(np.append(0, n_values[self.order] + 1))[:-1]
        self.stop = self.start + n_values[self.order]
        self.n_cells = int((n_values + 1).sum())
        self.width = (n_values + 1)[self.order][: full.sum()]
        self.cost = np.zeros(self.n_cells)
        self.diagonal = np.zeros(self.n_cells)
        self._lay_full([parts[k] for k in self.order[: full.sum()]], share[self.order])
        self._lay_factored([parts[k] for k in self.order], share[self.order])
        if measure == "lin":
            self._lay_costs([counts[k] for k in self.order], total, share[self.order])

    def _lay_full(self, parts, share):
        tables = [weight * part.full for part, weight in zip(parts, share, strict=False)]
        self.table = np.concatenate([table.ravel() for table in tables]) if tables else np.zeros(0)
        self.row_start = np.zeros(self.n_cells, dtype=np.int64)
        used = 0
        for first, table in zip(self.start, tables, strict=False):
            n_rows, n_cells = table.shape
            self.row_start[first : first + n_rows] = used + n_cells * np.arange(n_rows)
            used += table.size

    def _lay_factored(self, parts, share):
        self.rank = np.zeros(len(parts), dtype=np.int64)
        self.factor_start = np.zeros(self.n_cells, dtype=np.int64)
        pieces, signs, used = [], [], 0
        for k in range(self.width.size, len(parts)):
            part, first = parts[k], self.start[k]
            self.diagonal[first : first + part.bonus.size] = share[k] * part.bonus
            factor, sign = factors(share[k] * part.mismatch)
            self.rank[k] = sign.size
            self.factor_start[first : first + part.level.size] = used + sign.size * np.arange(part.level.size)
            pieces.append(factor[part.level].ravel())
            signs.append(sign)
            used += pieces[-1].size
        self.factor = np.concatenate([np.zeros(0), *pieces])
        self.sign = np.concatenate([np.zeros(self.n_cells), *signs])
        self.state_start = self.n_cells + np.cumsum(np.append(0, self.rank))[:-1]

    def _lay_costs(self, counts, total, share):
        for first, count, weight in zip(self.start, counts, share, strict=True):
            held = np.append(np.maximum(count, 1.0), 1.0)
            self.cost[first : first + held.size] = -weight * np.log(np.minimum(held / total, 1.0))

    def learn_blend(self, codes):
        """Fix the copies of the tables that stand for lin's pair-dependent weight, from the rows to be fitted."""
        if self.measure == "lin":
            cost = np.maximum(self.row_cost(self.index(codes)), PRECISION)
            self.points, self.triangle = cauchy_pivots(cost.min() / REACH, cost.max() * REACH)
        return self

    def index(self, codes):
        """(n_rows, n_columns) cells of coded rows, in the order of the tables."""
        dtype = np.uint16 if self.n_cells < 2**16 else np.uint32
        out = np.empty((codes[0].size, self.order.size), dtype=dtype)
        for position, (k, first) in enumerate(zip(self.order, self.start, strict=True)):
            out[:, position] = codes[k] + first
        return out

    def row_cost(self, index):
        return sum(self.cost[index[:, k]] for k in range(index.shape[1]))

    def blend(self, index):
        if self.measure != "lin":
            return np.ones((index.shape[0], 1))
        out = np.empty((index.shape[0], self.points.size))
        for rows in gen_batches(index.shape[0], ROWS_AT_ONCE):
            out[rows] = cauchy_factor(np.maximum(self.row_cost(index[rows]), PRECISION), self.points, self.triangle)
        return out

    def geometry(self, codes):
        index = self.index(codes)
        return Geometry(
            index,
            self.blend(index),
            self.table,
            self.row_start,
            self.start,
            self.stop,
            self.width,
            self.diagonal,
            self.factor,
            self.factor_start,
            self.sign,
            self.state_start,
            self.rank,
            int(self.n_cells + self.rank.sum()),
        )

    def scores(self, codes, weights):
        return scores(self.geometry(codes), weights)
