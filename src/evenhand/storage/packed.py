"""A matrix in parts that take little room: numbers as what was done to those of the table, categories as small codes.

It is made dense, sparse, or dense for some rows or columns at a time, and is then what it was before, bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

CELLS_AT_ONCE = 2**23
EVERY = slice(None)
Steps = tuple[tuple[str, np.ndarray], ...]
Rows = slice | np.ndarray
DONE: dict[str, Callable[..., Any]] = {
    "minus": np.subtract, "over": np.divide, "times": np.multiply, "plus": np.add,
}  # fmt: skip


@dataclass(frozen=True)
class Plain:
    """Columns as they are, of whatever type holds them."""

    values: np.ndarray

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    def dense(self, rows: Rows, columns: slice) -> np.ndarray:
        """Some rows and columns as float64."""
        return np.asarray(self.values[rows][:, columns], dtype=np.float64)

    def taken(self, rows: np.ndarray) -> "Plain":
        """Some of the rows."""
        return Plain(self.values[rows])


@dataclass(frozen=True)
class Dummies:
    """Blocks of dummies, a code of a block in each row: which of its columns is not 0; the width where none is."""

    codes: np.ndarray
    widths: tuple[int, ...]
    value: float = 1.0

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[0])

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(self.widths)

    def dense(self, rows: Rows, columns: slice) -> np.ndarray:
        """Some rows and columns as float64."""
        codes = self.codes[rows]
        first, last, _ = columns.indices(self.width)
        out = np.zeros((len(codes), max(last - first, 0)))
        start = 0
        for j, width in enumerate(self.widths):
            if start < last and start + width > first:
                places = codes[:, j].astype(np.intp) + start
                is_there = (codes[:, j] < width) & (places >= first) & (places < last)
                out[np.flatnonzero(is_there), places[is_there] - first] = self.value
            start += width
        return out

    def taken(self, rows: np.ndarray) -> "Dummies":
        """Some of the rows."""
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True)
class ScaledMatrix:
    """Numbers of a table after steps that treat each column by one number; `source` is mapped from a file.

    `content` is a digest of what comes out, so that a matrix of other numbers never has the digest of this one.
    """

    source: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    steps: Steps
    content: str

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def dense(self, rows: Rows, columns: slice) -> np.ndarray:
        """Some rows and columns as float64."""
        taken, own = self.rows[rows], self.columns[columns]
        return after_steps(np.array(self.source[taken][:, own]), self.steps, columns)

    def taken(self, rows: np.ndarray) -> "ScaledMatrix":
        """Some of the rows; which they are stands for their content."""
        chosen = blake2b(np.ascontiguousarray(rows, dtype=np.int64).data, digest_size=16).hexdigest()
        return replace(self, rows=self.rows[rows], content=f"{self.content} {chosen}")


@dataclass(frozen=True)
class Blended:
    """Rows of another part, and below them rows made on the way from one row to another, when they are asked for.

    Made row i lies at the share `steps[i]` of the way between the two rows of `ends` that `pairs[i]` names; in the
    columns `settled` it has its line of `values`.
    """

    above: Plain | ScaledMatrix
    ends: np.ndarray
    pairs: np.ndarray
    steps: np.ndarray
    settled: np.ndarray
    values: np.ndarray

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.above.n_rows + len(self.steps)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.above.width

    def dense(self, rows: Rows, columns: slice) -> np.ndarray:
        """Some rows and columns as float64."""
        chosen = np.arange(self.n_rows)[rows] if isinstance(rows, slice) else np.asarray(rows)
        is_made = chosen >= self.above.n_rows
        if not is_made.any():
            return self.above.dense(rows, columns)
        made = self._made(chosen[is_made] - self.above.n_rows, columns)
        if is_made.all():
            return made
        out = np.empty((len(chosen), made.shape[1]))
        out[~is_made], out[is_made] = self.above.dense(chosen[~is_made], columns), made
        return out

    def _made(self, places: np.ndarray, columns: slice) -> np.ndarray:
        first, last, _ = columns.indices(self.width)
        own = np.asarray(self.ends[:, first:last], dtype=np.float64)
        start, end = own[self.pairs[places, 0]], own[self.pairs[places, 1]]
        made = start + self.steps[places][:, None] * (end - start)
        is_asked = (self.settled >= first) & (self.settled < last)
        made[:, self.settled[is_asked] - first] = self.values[places][:, is_asked]
        return np.asarray(made)

    def taken(self, rows: np.ndarray) -> Plain:
        """Some of the rows, made."""
        return Plain(self.dense(rows, EVERY))


Part = Plain | Dummies | ScaledMatrix | Blended


def after_steps(numbers: np.ndarray, steps: Steps, columns: slice = EVERY) -> np.ndarray:
    """Numbers after the steps, in place, in the order and with the operations of scikit-learn's own classes."""
    for name, given in steps:
        values = given[columns]
        if name == "fill":
            where = np.isnan(numbers)
            numbers[where] = np.broadcast_to(values, numbers.shape)[where]
        else:
            DONE[name](numbers, values, out=numbers)
    return numbers


def smallest(values: np.ndarray) -> np.ndarray:
    """The same numbers in a smaller type, if they are whole and not below 0; else as they are."""
    if values.dtype.kind not in "iu" or not values.size or values.min() < 0:
        return values
    return np.ascontiguousarray(values, dtype=np.min_scalar_type(int(values.max())))


@dataclass(frozen=True)
class Packed:
    """Parts side by side."""

    parts: Sequence[Part]

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.parts[0].n_rows, sum(part.width for part in self.parts)

    @property
    def n_bytes(self) -> int:
        """What it takes as a dense matrix."""
        return 8 * self.shape[0] * self.shape[1]

    @property
    def share_filled(self) -> float:
        """The largest share of cells that are not 0."""
        return self._most_filled / max(self.shape[1], 1)

    @property
    def codes(self) -> np.ndarray | None:
        """All columns in a type of small whole numbers, if that is how they are kept."""
        part = self.parts[0]
        is_small = len(self.parts) == 1 and isinstance(part, Plain) and part.values.dtype.kind == "u"
        return part.values if is_small and isinstance(part, Plain) else None

    def dense(self, rows: Rows = EVERY, columns: slice = EVERY) -> np.ndarray:
        """Some rows and columns as float64."""
        first, last, _ = columns.indices(self.shape[1])
        n_rows = len(range(*rows.indices(self.shape[0]))) if isinstance(rows, slice) else len(rows)
        out = np.empty((n_rows, max(last - first, 0)))
        start = 0
        for part in self.parts:
            own = slice(max(first - start, 0), min(last - start, part.width))
            if own.start < own.stop:
                goal = slice(start + own.start - first, start + own.stop - first)
                for place in _in_pieces(n_rows, own.stop - own.start):
                    out[place, goal] = part.dense(_within(rows, place), own)
            start += part.width
        return out

    def taken(self, rows: np.ndarray) -> "Packed":
        """Some of the rows, kept as the rest is."""
        return Packed([part.taken(rows) for part in self.parts])

    @property
    def table_rows(self) -> np.ndarray | None:
        """The rows of the table that numbers, but for made rows, are those of; None where no part names them."""
        found = (part.above if isinstance(part, Blended) else part for part in self.parts)
        return next((part.rows for part in found if isinstance(part, ScaledMatrix)), None)

    def csr(self) -> sparse.csr_matrix:
        """The cells that are not 0, row by row."""
        n_rows, most = self.shape[0], self._most_filled * self.shape[0]
        places = np.int32 if most < 2**31 else np.int64
        values, columns, ends = np.empty(most), np.empty(most, places), np.zeros(n_rows + 1, places)
        for rows in self.row_blocks():  # put into place one by one: joined, they would be there twice
            piece, first = self.sparse_rows(rows), int(ends[rows.start])
            values[first : first + piece.nnz], columns[first : first + piece.nnz] = piece.data, piece.indices
            ends[rows.start + 1 : rows.stop + 1] = piece.indptr[1:] + places(first)
        return sparse.csr_matrix((values[: ends[-1]], columns[: ends[-1]], ends), self.shape)

    @property
    def _most_filled(self) -> int:
        """The most cells of a row that are not 0."""
        return sum(len(part.widths) if isinstance(part, Dummies) else part.width for part in self.parts)

    def sparse_rows(self, rows: slice) -> sparse.csr_matrix:
        """The same of some rows."""
        made = [_sparse_part(part, rows) for part in self.parts]
        return made[0] if len(made) == 1 else sparse.csr_matrix(sparse.hstack(made, format="csr"))

    def row_blocks(self) -> Iterator[slice]:
        """Slices of rows that are small when dense; one of no rows where there are none."""
        yield from _in_pieces(self.shape[0], self.shape[1])


def _in_pieces(n_rows: int, width: int) -> Iterator[slice]:
    size = max(1, CELLS_AT_ONCE // max(width, 1))
    yield from (slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size))


def _within(rows: Rows, place: slice) -> Rows:
    """A piece of the rows asked for; a slice of them has no steps."""
    if not isinstance(rows, slice):
        return rows[place]
    first = rows.start or 0
    return slice(first + place.start, first + place.stop)


def _sparse_part(part: Part, rows: slice) -> sparse.csr_matrix:
    if not isinstance(part, Dummies):
        return sparse.csr_matrix(part.dense(rows, EVERY))
    codes = part.codes[rows]
    starts = np.concatenate([[0], np.cumsum(part.widths)[:-1]]).astype(np.int32)
    is_there = codes < np.asarray(part.widths)
    indices = (codes + starts)[is_there].astype(np.int32)
    ends = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))]).astype(np.int32)
    return sparse.csr_matrix((np.full(len(indices), part.value), indices, ends), (len(codes), part.width))
