"""Linear support-vector machines on a matrix in parts, of which some rows are read at a time and none is copied."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from sklearn.svm import LinearSVC
from sklearn.utils import gen_batches
from sklearn.utils.class_weight import compute_class_weight

from evenhand.estimators.machines._primal import PrimalProblem, solved
from evenhand.storage.packed import EVERY, Blended, Dummies, Packed, Part, Plain, ScaledMatrix, Steps

ROWS_AT_ONCE = 2**16
TIGHTER = 0.01  # than LIBLINEAR stops, so that what is left is its own distance from the minimum
OfEach = Callable[[slice, np.ndarray], np.ndarray | None]


class Numbers(NamedTuple):
    """Cells of a file: the missing filled, each times a number, and one added; a column has one of each."""

    source: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    fill: np.ndarray
    times: np.ndarray
    plus: np.ndarray


class Codes(NamedTuple):
    """Blocks of dummies, by which of their columns is not 0; a code of the width of its block is none of them."""

    codes: np.ndarray
    starts: np.ndarray
    widths: np.ndarray
    value: float


class Made(NamedTuple):
    """Cells of a file above, and rows below that are made once more each time they are read."""

    above: Numbers
    part: Blended


class RowsInBlocks:
    """The rows of a packed matrix, with a last column for the intercept, as the solver asks for them."""

    def __init__(self, matrix: Packed, intercept: float) -> None:
        self.n_rows, n_columns = matrix.shape
        self.n_columns, self.intercept = n_columns + 1, intercept
        self.parts, start = [], 0
        for part in matrix.parts:
            self.parts.append((_read(part), slice(start, start + part.width)))
            start += part.width

    def swept(self, weights: np.ndarray, of_each: OfEach) -> np.ndarray:
        """The sum of all rows, each by the number that it gets for its product with the weights."""
        total = np.zeros(self.n_columns)
        for block in gen_batches(self.n_rows, ROWS_AT_ONCE):
            products = np.full(block.stop - block.start, self.intercept * weights[-1])
            for each, columns in self.parts:
                part, first = _at(each, block)
                times = _numbers_times if isinstance(part, Numbers) else _codes_times
                times(part, weights[columns], first, products)
            if (given := of_each(block, products)) is not None:
                self._add(given, block, False, total)
        return total

    def squares(self, of_each: Callable[[slice], np.ndarray]) -> np.ndarray:
        """The sum of the squares of each column, each by the number that its row gets."""
        total = np.zeros(self.n_columns)
        for block in gen_batches(self.n_rows, ROWS_AT_ONCE):
            self._add(of_each(block), block, True, total)
        return total

    def _add(self, given: np.ndarray, block: slice, is_squared: bool, total: np.ndarray) -> None:
        for each, columns in self.parts:
            own = np.zeros(columns.stop - columns.start)
            part, first = _at(each, block)
            summed = _numbers_summed if isinstance(part, Numbers) else _codes_summed
            summed(part, given, first, is_squared, own)
            total[columns] += own
        total[-1] += given.sum() * (self.intercept**2 if is_squared else self.intercept)


def fitted_by_blocks(
    estimator: LinearSVC, matrix: Packed, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> LinearSVC:
    """A linear machine at the minimum that LIBLINEAR looks for, of several classes one against the rest."""
    classes = np.unique(y)
    weights = compute_class_weight(estimator.class_weight, classes=classes, y=y)
    rows = RowsInBlocks(matrix, estimator.intercept_scaling if estimator.fit_intercept else 0.0)
    found = []
    for k in [1] if len(classes) == 2 else range(len(classes)):
        is_one = y == classes[k]
        other = weights[0] if len(classes) == 2 else 1.0  # as LIBLINEAR weighs the rest of several classes
        cost = _costs(estimator.C, is_one, (other, weights[k]), sample_weight)
        rarer = max(min(is_one.sum(), len(y) - is_one.sum()), 1) / len(y)
        side = np.where(is_one, np.int8(1), np.int8(-1))
        found.append(solved(PrimalProblem(rows, side, cost), TIGHTER * estimator.tol * rarer, estimator.max_iter))
    if not np.isfinite([one.left for one in found]).all():
        raise ValueError("Input X contains NaN or infinity.")
    coef = np.array([one.weights for one in found])
    estimator.classes_, estimator.n_features_in_ = classes, matrix.shape[1]
    estimator.coef_ = coef[:, :-1].copy()
    estimator.intercept_ = rows.intercept * coef[:, -1] if estimator.fit_intercept else 0.0
    estimator.n_iter_ = max(one.n_steps for one in found)
    estimator.solved_by_ = "evenhand"
    return estimator


def _costs(C: float, is_one: np.ndarray, weights: tuple[float, float], sample_weight: np.ndarray | None) -> np.ndarray:
    """What each row costs; one number for all where they cost the same."""
    other, own = weights
    if sample_weight is None and own == other:
        return np.broadcast_to(C * own, is_one.shape)
    return C * np.where(is_one, own, other) * (1.0 if sample_weight is None else sample_weight)


def _read(part: Part) -> Numbers | Codes | Made:
    if isinstance(part, Dummies):
        starts = np.cumsum([0, *part.widths])[:-1]
        return Codes(np.asarray(part.codes), starts, np.array(part.widths, dtype=np.int64), float(part.value))
    return Made(_numbers_of(part.above), part) if isinstance(part, Blended) else _numbers_of(part)


def _at(read: Numbers | Codes | Made, block: slice) -> tuple[Numbers | Codes, int]:
    """What holds the rows of a block, and the place of the first there."""
    if not isinstance(read, Made):
        return read, block.start
    if block.stop <= read.part.above.n_rows:
        return read.above, block.start
    return _numbers_of(Plain(read.part.dense(block, EVERY))), 0


def _numbers_of(part: Plain | ScaledMatrix) -> Numbers:
    if isinstance(part, Plain):
        every = np.arange(part.n_rows, dtype=np.int32), np.arange(part.width)
        return Numbers(np.asarray(part.values), *every, *_at_once((), part.width))
    return Numbers(np.asarray(part.source), np.asarray(part.rows), part.columns, *_at_once(part.steps, part.width))


def _at_once(steps: Steps, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What fills a missing cell before all steps, and what the steps together multiply by and add."""
    fill, times, plus = np.full(width, np.nan), np.ones(width), np.zeros(width)
    for name, values in steps:
        if name == "fill":
            fill = np.where(np.isnan(fill), (values - plus) / np.where(times == 0, 1.0, times), fill)
        elif name in {"times", "over"}:
            by = values if name == "times" else 1 / values
            times, plus = times * by, plus * by
        else:
            plus = plus + (values if name == "plus" else -values)
    return fill, times, plus


@njit(cache=True, nogil=True)
def _numbers_times(part: Any, weights: Any, first: int, out: Any) -> None:
    """Add to each row of a block what its cells give by the weights."""
    for i in range(out.size):
        row, total = part.rows[first + i], 0.0
        for j in range(part.columns.size):
            cell = float(part.source[row, part.columns[j]])
            if np.isnan(cell):
                cell = part.fill[j]
            total += (cell * part.times[j] + part.plus[j]) * weights[j]
        out[i] += total


@njit(cache=True, nogil=True)
def _numbers_summed(part: Any, given: Any, first: int, is_squared: bool, out: Any) -> None:
    """Add the cells of a block to their columns, or their squares, each by the number of its row."""
    for i in range(given.size):
        if given[i] != 0.0:
            row = part.rows[first + i]
            for j in range(part.columns.size):
                cell = float(part.source[row, part.columns[j]])
                if np.isnan(cell):
                    cell = part.fill[j]
                cell = cell * part.times[j] + part.plus[j]
                out[j] += given[i] * cell * (cell if is_squared else 1.0)


@njit(cache=True, nogil=True)
def _codes_times(part: Any, weights: Any, first: int, out: Any) -> None:
    """Add to each row of a block the weights of its dummies."""
    for i in range(out.size):
        total = 0.0
        for j in range(part.widths.size):
            code = part.codes[first + i, j]
            if code < part.widths[j]:
                total += weights[part.starts[j] + code]
        out[i] += part.value * total


@njit(cache=True, nogil=True)
def _codes_summed(part: Any, given: Any, first: int, is_squared: bool, out: Any) -> None:
    """Add the dummies of a block to their columns, or their squares, each by the number of its row."""
    share = part.value * part.value if is_squared else part.value
    for i in range(given.size):
        if given[i] != 0.0:
            for j in range(part.widths.size):
                code = part.codes[first + i, j]
                if code < part.widths[j]:
                    out[part.starts[j] + code] += share * given[i]
