"""SMOTE on a matrix in parts: only rows of the classes that become more are looked at, and what is made takes little.

Neighbours and draws are those of imbalanced-learn, so that numbers come out the same bit for bit. A category that
several values have most votes for is drawn among these some rows at a time, by imbalanced-learn for all rows at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from imblearn.utils import check_neighbors_object, check_sampling_strategy
from numba import njit
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import check_random_state, gen_batches

from evenhand.models.sampler_lineage import NOBODY, unexplained
from evenhand.storage.packed import EVERY, Blended, Dummies, Packed, Part, Plain, ScaledMatrix

ROWS_AT_ONCE = 2**16
CELLS_AT_ONCE = 2**21


class MadeRows(NamedTuple):
    """Given rows and those made below them, their classes, and the places of the given rows that each was made of."""

    matrix: Packed
    y: np.ndarray
    parents: np.ndarray


class _Place(NamedTuple):
    """A part, its columns in the matrix, and its columns where a block of dummies is one code."""

    part: Part
    columns: slice
    codes: slice


@dataclass(frozen=True)
class MakerInParts:
    """Makes rows below those of a matrix, of which numbers and categories are in parts of their own.

    Where neighbours vote for categories, columns of two values are categories too; else a made row has the nearer of
    the two. `is_settled` are all these columns, a block of dummies being one, and `whole` the columns of numbers among
    them by name.
    """

    matrix: Packed
    neighbours: int
    seed: int
    votes: bool
    is_settled: np.ndarray
    whole: tuple[str, ...] = ()

    def bytes_needed(self, counts: np.ndarray, n_rows: int) -> int:
        """About what it takes: rows of the classes that may become more, with neighbours, and what is kept of each."""
        n_more, n_made = int(counts.sum() - counts.max()), max(n_rows - self.matrix.shape[0], 0)
        n_categories = int(self.is_settled.sum())
        return 24 * self.matrix.shape[1] * n_more + (32 + 8 * self.neighbours + 16 * n_categories) * n_made

    def made(self, y: np.ndarray, strategy: Any) -> MadeRows:
        """The rows given and, below them, those made between neighbours of one class."""
        drawn = _Drawn()
        for kind, n_wanted in check_sampling_strategy(strategy, y, "over-sampling").items():
            if n_wanted:
                self._draw(drawn, np.flatnonzero(y == kind), n_wanted)
                drawn.labels.append(np.full(n_wanted, kind, dtype=y.dtype))
        kept = np.arange(len(y), dtype=np.int32)[:, None]
        if not drawn.labels:
            return MadeRows(self.matrix, y, kept)
        parents = np.vstack(drawn.parents)
        kept = np.pad(kept, ((0, 0), (0, parents.shape[1] - 1)), constant_values=NOBODY)
        return MadeRows(self._below(drawn), np.hstack([y, *drawn.labels]), np.vstack([kept, parents]))

    def n_unexplained(self, found: MadeRows) -> int:
        """How many made rows their parents do not explain; given rows are the parts themselves."""
        n_given, n_unlike = self.matrix.shape[0], 0
        is_voted = self.is_settled
        for block in gen_batches(len(found.y) - n_given, max(1, CELLS_AT_ONCE // len(is_voted))):
            rows = np.arange(n_given + block.start, n_given + block.stop)
            places, inside = np.unique(found.parents[rows], return_inverse=True)
            local = inside.reshape(len(rows), -1)
            n_unlike += int(unexplained(coded(self.matrix, places), coded(found.matrix, rows), local, is_voted).sum())
        return n_unlike

    def _draw(self, drawn: "_Drawn", members: np.ndarray, n_wanted: int) -> None:
        """Add what is drawn for one class."""
        rows = coded(self.matrix, members)
        numbers, settled = rows[:, ~self.is_settled], rows[:, self.is_settled]
        codes = _codes_of(settled) if self.votes and settled.shape[1] else None
        seen = rows if codes is None else np.hstack([numbers, _apart(numbers, codes)])
        search = check_neighbors_object("k_neighbors", self.neighbours, additional_neighbor=1).fit(seen)
        around = search.kneighbors(seen, return_distance=False)[:, 1:]
        random = check_random_state(self.seed)
        places = random.randint(low=0, high=around.size, size=n_wanted)
        steps = random.uniform(size=n_wanted)
        bases = places // around.shape[1]
        ends = around[bases, places % around.shape[1]]
        drawn.pairs.append(np.column_stack([members[bases], members[ends]]))
        drawn.steps.append(steps)
        voters = [] if codes is None else [members[around[bases]]]
        drawn.parents.append(np.column_stack([drawn.pairs[-1], *voters]).astype(np.int32))
        if codes is None:
            drawn.settled.append(_nearer(settled, bases, ends, steps))
        else:
            drawn.settled.append(_elected(settled, codes, around[bases], random))

    def _below(self, drawn: "_Drawn") -> Packed:
        """The matrix with what was drawn below it, each part in its own form."""
        values, ends = np.vstack(drawn.settled), np.vstack(drawn.pairs)
        places, pairs = np.unique(ends, return_inverse=True)
        pairs, steps = pairs.reshape(ends.shape).astype(np.int32), np.concatenate(drawn.steps)
        own_columns, parts = np.flatnonzero(self.is_settled), list[Part]()
        for part, _, codes in _placed(self.matrix):
            is_own = (own_columns >= codes.start) & (own_columns < codes.stop)
            own, at = values[:, is_own], own_columns[is_own] - codes.start
            if isinstance(part, Dummies):
                parts.append(replace(part, codes=np.concatenate([part.codes, own.astype(part.codes.dtype)])))
            elif isinstance(part, Plain) and len(at) == part.width:
                parts.append(Plain(np.concatenate([part.values, own.astype(part.values.dtype)])))
            else:
                assert isinstance(part, Plain | ScaledMatrix)
                parts.append(Blended(part, part.dense(places, EVERY), pairs, steps, at, own))
        return Packed(parts)


@dataclass
class _Drawn:
    """What was drawn for each class: rows at both ends, the share of the way, and the values of settled columns."""

    pairs: list[np.ndarray] = field(default_factory=list)
    steps: list[np.ndarray] = field(default_factory=list)
    settled: list[np.ndarray] = field(default_factory=list)
    parents: list[np.ndarray] = field(default_factory=list)
    labels: list[np.ndarray] = field(default_factory=list)


def is_apart(matrix: Packed, is_discrete: np.ndarray) -> bool:
    """Whether each part is of numbers alone or of categories alone."""
    kinds = [is_discrete[columns] for _, columns, _ in _placed(matrix)]
    return all(kind.all() or not kind.any() for kind in kinds)


def two_valued_numbers(matrix: Packed, is_discrete: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which columns of numbers have at most two different values, and which of these two, read some rows at a time."""
    found, has_both = np.zeros((2, matrix.shape[1]), dtype=bool)
    for part, columns, _ in _placed(matrix):
        if not is_discrete[columns].any():
            found[columns], has_both[columns] = _has_two(part)
    return found, has_both


def coded(matrix: Packed, rows: np.ndarray) -> np.ndarray:
    """Some rows, a block of dummies as the one code that it is kept as."""
    made = [part.codes[rows] if isinstance(part, Dummies) else part.dense(rows, EVERY) for part in matrix.parts]
    return np.hstack(made).astype(np.float64, copy=False)


def coded_mask(matrix: Packed, mask: np.ndarray) -> np.ndarray:
    """A mark of each column for where a block of dummies is one code: that of its first column."""
    found = []
    for part, columns, _ in _placed(matrix):
        own = mask[columns]
        found.append(own[np.cumsum([0, *part.widths[:-1]])] if isinstance(part, Dummies) else own)
    return np.concatenate(found)


def _placed(matrix: Packed) -> Iterator[_Place]:
    start, first = 0, 0
    for part in matrix.parts:
        n_codes = len(part.widths) if isinstance(part, Dummies) else part.width
        yield _Place(part, slice(start, start + part.width), slice(first, first + n_codes))
        start, first = start + part.width, first + n_codes


def _has_two(part: Part) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full(part.width, np.inf), np.full(part.width, -np.inf)
    blocks = list(gen_batches(part.n_rows, max(1, CELLS_AT_ONCE // part.width)))
    for rows in blocks:
        given = part.dense(rows, EVERY)
        low, high = np.minimum(low, given.min(axis=0)), np.maximum(high, given.max(axis=0))
    found = np.ones(part.width, dtype=bool)
    for rows in blocks:
        given = part.dense(rows, EVERY)
        found &= ~np.any((given != low) & (given != high), axis=0)
        if not found.any():
            break
    return found, found & (low < high)


def _codes_of(values: np.ndarray) -> np.ndarray:
    """The place of each value among those of its column."""
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in values.T]).astype(np.int32)


def _apart(numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Dummies so large that two categories are as far apart as the median deviation of the numbers."""
    deviation = float(np.median(numbers.std(axis=0)))
    return np.asarray(OneHotEncoder(sparse_output=False).fit_transform(codes) * (deviation / np.sqrt(2)))


def _nearer(values: np.ndarray, bases: np.ndarray, ends: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Of the two values that a column has, the one that a row on the way is nearer to, as `whole_values` has it."""
    made = values[bases] + steps[:, None] * (values[ends] - values[bases])
    low, high = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
    return np.where(made - low <= high - made, low, high)


def _elected(values: np.ndarray, codes: np.ndarray, voters: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """For each line of voters the value of each category that most of them have."""
    found = np.empty((len(voters), values.shape[1]))
    for rows in gen_batches(len(voters), ROWS_AT_ONCE):
        winners = np.empty((rows.stop - rows.start, values.shape[1]), dtype=np.int64)
        _vote(codes, voters[rows], random.uniform(size=winners.shape), winners)
        found[rows] = values[winners, np.arange(values.shape[1])]
    return found


@njit(cache=True, nogil=True)
def _vote(codes: Any, voters: Any, ties: Any, winners: Any) -> None:
    """For each row and column a voter whose value no other has more votes than; ties are numbers below 1."""
    n_voters = voters.shape[1]
    votes = np.empty(n_voters, dtype=np.int64)
    for i in range(voters.shape[0]):
        for j in range(codes.shape[1]):
            most, n_most = 0, 0
            for a in range(n_voters):
                votes[a] = 0
                for b in range(n_voters):
                    if codes[voters[i, b], j] == codes[voters[i, a], j]:
                        votes[a] += 1 if b >= a else -n_voters  # each value counts where it stands first
                if votes[a] > most:
                    most, n_most = votes[a], 1
                elif votes[a] == most:
                    n_most += 1
            left = int(ties[i, j] * n_most)
            for a in range(n_voters):
                if votes[a] == most:
                    if left == 0:
                        winners[i, j] = voters[i, a]
                        break
                    left -= 1
