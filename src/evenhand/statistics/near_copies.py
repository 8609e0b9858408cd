"""Which rows are nearly the same: linked by distance, at the widest tolerance that chance does not reach.

Two rows are near if their categories and missing cells are the same and every number differs by less than a tolerance
relative to its size and the spread of its column. The tolerance is wide enough for noise of 1e-4 where rows are
otherwise so far apart that chance would link fewer than one in 25,000 of them; or else it is that of values rounded to
six or seven digits or to float32; or else nothing but equality links. Values of a grid, such as counts, ids and cents,
are the same or rounded or others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.stats import norm

if TYPE_CHECKING:
    from evenhand.statistics.near_pairs import Windows

NOISE = 1e-4
ROUNDED = (6e-6, 6e-7, 7e-8)  # to six digits, to seven digits, to float32
CHANCE_LINKS = 1 / 50_000
MOST_PAIRS = 1_000_000
TAIL = 500
FEWEST_PAIRS = 100
MOST_DECIMALS = 6
COARSE_UNIT = 0.005
LAST_BITS = 1e-14
GRID_SHARE = 0.1
CELL = 16.0
SLACK = 1.01
REACH = 2.0
MOST_POWER = 8.0
BULK = {share: 2 * norm.isf(share) for share in (0.25, 0.05, 0.005)}  # of both tails, and how far apart they are
TINY = 1e-12
BYTES_OF_A_NUMBER = 8


class NumberColumns(Protocol):
    """Columns of numbers by their place, each read when it is asked for; NaN where a cell is missing."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int) -> np.ndarray: ...


@dataclass(frozen=True)
class _Rows:
    """Different rows in the order of their hashes: numbers without gaps, and the block that near rows share.

    Only rows that share their block with another are in `X`, `grid`, `blocks` and `places`, their numbers among all
    `n_rows`; the columns are described over all.
    """

    X: np.ndarray
    blocks: np.ndarray
    spread: np.ndarray
    bulk: np.ndarray
    grid: np.ndarray
    unit: np.ndarray
    places: np.ndarray
    n_rows: int
    columns: Sequence[Callable[[int], np.ndarray]]
    distances: dict[bytes, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class _Level:
    """How far near values may differ, relative to their size and to a scale of their column."""

    tolerance: float
    scale: np.ndarray


@dataclass(frozen=True)
class _Pairs:
    """A sample of the pairs of rows in one block, and how many pairs each stands for."""

    left: np.ndarray
    right: np.ndarray
    weight: np.ndarray


def near_links(columns: NumberColumns, blocks: np.ndarray, contents: np.ndarray) -> np.ndarray:
    """For each row the least content hash among the rows it is linked with, by equality or as a near copy.

    `columns` hold numbers, `blocks` a hash of all that near copies have in common, `contents` one of all.
    """
    different, first, place = np.unique(contents, return_index=True, return_inverse=True)
    if len(different) < 2 or not len(columns):
        return contents
    rows = _prepared(columns, first, blocks[first])
    if rows is None:
        return contents
    return different[_roots(rows)][place]


def _prepared(columns: NumberColumns, first: np.ndarray, blocks: np.ndarray) -> _Rows | None:
    """Rows with what they must share in `blocks`: missing cells, and values of grids that no tolerance bridges.

    A row that shares its block with no other is near to none, whatever its numbers: it is set aside as soon as that is
    seen. None where no row or no column is left to compare.
    """
    shared = _Shared(_with_gaps(columns, first, blocks))
    found = []
    for k in range(len(columns)) if len(shared.places) else ():
        column = columns[k][first]
        is_there = np.isfinite(column)
        spread, bulk, unit = _described(column if is_there.all() else column[is_there])
        if not spread:
            continue
        column[~is_there] = 0.0
        if unit and (points := _points_apart(column, spread, unit)) is not None:
            shared.split_by(points)
        found.append((k, spread, bulk, unit))
    if not len(shared.places) or not found:
        return None
    varies, spreads, bulks, units = (np.array(each) for each in zip(*found, strict=True))
    X, grid = np.empty((len(shared.places), len(varies))), np.zeros((len(shared.places), len(varies)), dtype=np.bool_)
    for j, k in enumerate(varies):
        X[:, j] = _filled(columns, first[shared.places], k)
        if units[j]:
            grid[:, j] = _is_close(np.round(X[:, j], round(-np.log10(units[j]))), X[:, j])
    some = [partial(_first_filled, columns, first, k) for k in varies]
    return _Rows(X, shared.blocks, spreads, bulks, grid, units, shared.places, len(first), some)


class _Shared:
    """The rows that share their block with another, and their blocks, as these are split further."""

    def __init__(self, blocks: np.ndarray) -> None:
        self.places, self.blocks = np.arange(len(blocks)), blocks
        self._set_aside()

    def split_by(self, values: np.ndarray) -> None:
        """Rows with different values, out of all rows, are no longer of one block."""
        self.blocks = _hashed(self.blocks, (values[self.places] + 0.0)[:, None])
        self._set_aside()

    def _set_aside(self) -> None:
        self.blocks = np.unique(self.blocks, return_inverse=True)[1]
        is_shared = np.bincount(self.blocks)[self.blocks] > 1
        self.places, self.blocks = self.places[is_shared], self.blocks[is_shared]
        self.blocks = np.unique(self.blocks, return_inverse=True)[1]


def _with_gaps(columns: NumberColumns, first: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """One number for each different row of a number and of which cells are missing or infinite."""
    gaps = []
    for k in range(len(columns)):
        column = columns[k]
        if np.isfinite(column).all():
            continue
        column = column[first]
        found = np.isnan(column).astype(np.uint8)
        found[np.isposinf(column)] = 2
        found[np.isneginf(column)] = 3
        gaps.append(found)
    return _hashed(blocks, np.column_stack(gaps) if gaps else np.empty((len(first), 0), dtype=np.uint8))


def _filled(columns: NumberColumns, rows: np.ndarray, k: int) -> np.ndarray:
    """Some rows of a column, with 0 where it is missing or infinite."""
    column = columns[k][rows]
    column[~np.isfinite(column)] = 0.0
    return column


def _first_filled(columns: NumberColumns, first: np.ndarray, k: int, n_rows: int) -> np.ndarray:
    return _filled(columns, first[:n_rows], k)


def _points_apart(column: np.ndarray, spread: float, unit: float) -> np.ndarray | None:
    """The points of a grid that the values stand on, if no tolerance reaches from one point to the next."""
    tolerance = 10 * NOISE * np.hypot(column, spread)
    if tolerance.max() >= unit / 4:
        return None
    points = np.round(column, round(-np.log10(unit)))
    return points if bool((np.abs(column - points) <= 2 * tolerance).all()) else None


def _hashed(blocks: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """One number for each different row of a number and other columns; what is the same in all rows is passed by."""
    columns = np.compress((columns != columns[:1]).any(axis=0), columns, axis=1)
    if not columns.shape[1]:
        return np.unique(blocks, return_inverse=True)[1].astype(np.int64)
    beside = _as_one(np.ascontiguousarray(columns))
    first, second = (np.unique(each, return_inverse=True)[1].astype(np.int64) for each in (blocks, beside))
    return first * (second.max() + 1) + second


def _as_one(columns: np.ndarray) -> np.ndarray:
    """The bytes of each row as one value, in the order of bytes; as numbers, which sort faster, where they are few."""
    width = columns.shape[1] * columns.itemsize
    if width > BYTES_OF_A_NUMBER:
        return columns.view(np.dtype((np.void, width))).ravel()
    padded = np.zeros((len(columns), BYTES_OF_A_NUMBER), dtype=np.uint8)
    padded[:, :width] = columns.view(np.uint8).reshape(len(columns), width)
    return padded.view(">u8").ravel().astype(np.uint64)


def _described(values: np.ndarray) -> tuple[float, float, float]:
    """The standard deviation of a column, that of its bulk, and the unit of its grid; 0 without one."""
    if not len(values) or values.min() == values.max():
        return 0.0, 0.0, 0.0
    ordered = np.sort(values)
    largest = float(np.abs(ordered[[0, -1]]).max())
    spread = max(float((ordered / largest).std()), TINY) * largest
    ends = (np.quantile(ordered, [share, 1 - share]) / width for share, width in BULK.items())
    bulk = next((float(high - low) for low, high in ends if high > low), spread)
    filled = ordered[ordered != 0]
    shares = (np.mean(_is_close(np.round(filled, decimals), filled)) for decimals in range(MOST_DECIMALS + 1))
    unit = next((10.0**-decimals for decimals, share in enumerate(shares) if share >= GRID_SHARE), 0.0)
    return spread, min(spread, bulk), unit


def _is_close(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which values are points of a grid but for the last bits."""
    return np.abs(points - values) <= LAST_BITS * np.abs(values)


def _levels(rows: _Rows) -> Iterator[_Level]:
    """From wide to narrow: noise in both of two copies and in one, relative to all and to the bulk; the roundings."""
    width = NOISE * float(norm.isf(NOISE / (2 * rows.X.shape[1])))
    for scale in (rows.spread, rows.bulk):
        for tolerance in (np.sqrt(2) * width, width):
            yield _Level(tolerance, scale)
    for tolerance in ROUNDED:
        yield _Level(tolerance, rows.bulk)


def _roots(rows: _Rows) -> np.ndarray:
    """For each row the first row that it is linked with.

    Where pairs just outside the tolerance make links by chance likely, their rows are linked by the next narrower one.
    """
    from evenhand.statistics.near_pairs import MARK, UNITE, roots_of, scan

    parent, pairs, limit = np.arange(len(rows.X)), _sampled_pairs(rows), CHANCE_LINKS * rows.n_rows
    for level in _levels(rows) if len(pairs.left) else ():
        n_inside, power = _chance(rows, pairs, level)
        if n_inside > limit:
            continue
        compared = rows.X, rows.grid, rows.unit, level.scale, level.tolerance
        windows = _windows(rows, pairs, level)
        trial, crowded = parent.copy(), np.zeros(len(parent), dtype=np.bool_)
        scan(compared, 1.0, UNITE, windows, trial, crowded)
        scan(compared, REACH, MARK, windows, trial, crowded)
        if crowded.sum() / 2 <= limit * np.expm1(min(power, MOST_POWER) * np.log(REACH)):
            parent = trial
            break
        scan(compared, 1.0, UNITE, windows, parent, crowded)
    roots = np.arange(rows.n_rows)
    roots[rows.places] = rows.places[roots_of(parent)]
    return roots


def _sampled_pairs(rows: _Rows) -> _Pairs:
    """Pairs of rows of one block; the order of hashes inside of blocks is a random one."""
    order = np.argsort(rows.blocks, kind="stable")
    ordered = rows.blocks[order]
    sizes = np.bincount(rows.blocks)[ordered]
    n_lags = int(np.clip(MOST_PAIRS // rows.n_rows, 1, rows.n_rows - 1))
    left, right = [], []
    for lag in range(1, min(n_lags, len(ordered) - 1) + 1):
        found = np.flatnonzero(ordered[lag:] == ordered[:-lag])
        left.append(found)
        right.append(found + lag)
    places, others = np.concatenate(left), np.concatenate(right)
    n = sizes[places].astype(float)
    n_near = np.minimum(n_lags, n - 1)
    drawn = n_near * n - n_near * (n_near + 1) / 2
    return _Pairs(order[places], order[others], n * (n - 1) / 2 / drawn)


def _chance(rows: _Rows, pairs: _Pairs, level: _Level) -> tuple[float, float]:
    """How many pairs chance has within the tolerance, and the power of the distance that they grow by.

    Where values of grids keep nearly all pairs of the sample apart, and where few rows share a block, the distances in
    the other columns are those of any rows, and taken to be independent of the grids and blocks.
    """
    from evenhand.statistics.near_pairs import are_other_values, pair_distances

    tolerance, scale = level.tolerance, level.scale
    is_kept = ~are_other_values(rows.X, rows.grid, rows.unit, scale, tolerance, pairs.left, pairs.right)
    far = pair_distances(rows.X, scale, pairs.left[is_kept], pairs.right[is_kept])
    if (far > tolerance).sum() >= FEWEST_PAIRS:
        return chance_pairs(far, pairs.weight[is_kept], tolerance)
    if not (rows.unit < COARSE_UNIT).any():
        return float(pairs.weight.sum()) * _share_within(rows, pairs, level), 0.0
    elsewhere = _free_distances(rows, pairs, level)
    share = (is_kept.sum() + 1) / (len(is_kept) + 1)
    return chance_pairs(elsewhere, np.full(len(elsewhere), share * pairs.weight.sum() / len(elsewhere)), tolerance)


def _share_within(rows: _Rows, pairs: _Pairs, level: _Level) -> float:
    """The share of pairs near in all columns, as if half of these were independent and the others followed."""
    share, (column_of, left, right) = 1.0, _any_pairs(rows, pairs)
    for j, scale in enumerate(level.scale):
        a, b = column_of(j)[left], column_of(j)[right]
        is_near = np.abs(a - b) <= level.tolerance * np.hypot(np.maximum(np.abs(a), np.abs(b)), scale)
        share *= (is_near.sum() + 1) / (len(left) + 1)
    return float(np.sqrt(share))


def _free_distances(rows: _Rows, pairs: _Pairs, level: _Level) -> np.ndarray:
    """For each pair the greatest difference of a column without a coarse grid, as pair_distances gives it."""
    asked = level.scale.tobytes()
    if asked not in rows.distances:
        column_of, left, right = _any_pairs(rows, pairs)
        worst = np.zeros(len(left))
        for j in map(int, np.flatnonzero(rows.unit < COARSE_UNIT)):
            a, b = column_of(j)[left], column_of(j)[right]
            np.maximum(worst, (a - b) ** 2 / (np.maximum(a * a, b * b) + level.scale[j] ** 2), out=worst)
        rows.distances[asked] = np.sqrt(worst)
    return rows.distances[asked]


def _any_pairs(rows: _Rows, pairs: _Pairs) -> tuple[Callable[[int], np.ndarray], np.ndarray, np.ndarray]:
    """The sampled pairs, or where these are few some of whatever blocks, and the columns that they are pairs of."""
    if len(pairs.left) >= FEWEST_PAIRS:
        return (lambda j: rows.X[:, j]), pairs.left, pairs.right
    n_rows = min(rows.n_rows, MOST_PAIRS)
    n_lags = int(np.clip(MOST_PAIRS // 50 // n_rows, 1, n_rows - 1))
    left = [np.arange(n_rows - lag) for lag in range(1, n_lags + 1)]
    right = [each + lag for lag, each in enumerate(left, start=1)]
    return (lambda j: rows.columns[j](n_rows)), np.concatenate(left), np.concatenate(right)


def chance_pairs(distances: np.ndarray, weights: np.ndarray, tolerance: float) -> tuple[float, float]:
    """How many pairs chance has within the tolerance, and their power, from how distances above it thin out.

    The number of pairs within a distance grows as its power; the power is fitted by maximum likelihood to the 500 pairs
    next above the tolerance, and taken a standard error lower. Pairs below are copies, and not looked at.
    """
    above = np.flatnonzero(distances > tolerance)
    n_nearest = min(TAIL, len(above))
    nearest = above[np.argpartition(distances[above], n_nearest - 1)[:n_nearest]] if n_nearest else above
    if not len(nearest):
        return 0.0, 0.0
    logs = np.log(distances[nearest] / tolerance)
    edge, powers = logs.max() * (1 + 1e-9), np.geomspace(0.05, 60, 300)
    fits = len(logs) * (np.log(powers) - edge * powers - np.log1p(-np.exp(-edge * powers))) + powers * logs.sum()
    power = powers[np.argmax(fits)] * max(1 - 1 / np.sqrt(len(logs)), 0.1)
    return float(weights[nearest].sum() / np.expm1(min(edge * power, 700.0))), float(power)


def _windows(rows: _Rows, pairs: _Pairs, level: _Level) -> "Windows":
    """The rows by block, by cells of one key and by another one: near rows are neighbours in both."""
    (first, first_width), (second, width) = _sort_keys(rows, pairs, level)
    cells = np.floor(first / (CELL * first_width))
    order = np.lexsort((second, cells, rows.blocks))
    block, cell = rows.blocks[order], cells[order]
    is_new = np.r_[True, (block[1:] != block[:-1]) | (cell[1:] != cell[:-1])]
    start = np.r_[np.flatnonzero(is_new), len(order)]
    heads = start[:-1]
    has_next = np.r_[(block[heads[1:]] == block[heads[:-1]]) & (cell[heads[1:]] == cell[heads[:-1]] + 1), False]
    is_at_edge = (cell + 1) * CELL * first_width - first[order] <= first_width
    return order, second[order], np.cumsum(is_new) - 1, start, has_next, is_at_edge, width


def _sort_keys(rows: _Rows, pairs: _Pairs, level: _Level) -> list[tuple[np.ndarray, float]]:
    """The two keys, out of columns and their mixtures, that leave the fewest pairs in one window."""
    few = slice(None, None, max(len(pairs.left) // 100_000, 1))
    left, right, weight = pairs.left[few], pairs.right[few], pairs.weight[few]

    def within(key: np.ndarray, width: float) -> np.ndarray:
        return np.abs(key[left] - key[right]) <= width

    def best(reached: np.ndarray) -> tuple[np.ndarray, float]:
        found, least = None, np.inf
        for key, width in _candidate_keys(rows, level):
            cost = float(weight[reached & within(key, width)].sum())
            if found is None or cost < least:
                found, least = (key, width), cost
        assert found is not None
        return found

    first = best(np.ones(len(left), dtype=bool))
    return [first, best(within(first[0], CELL * first[1]))]


def _candidate_keys(rows: _Rows, level: _Level) -> Iterator[tuple[np.ndarray, float]]:
    """Keys with the greatest difference between near rows: each column on a scale that makes its tolerance even,
    and mixtures of all, which spread rows out where most values of each column are alike."""
    n_columns = rows.X.shape[1]
    shares = np.random.default_rng(0).uniform(0.5, 1, (2, n_columns)) * np.where(
        np.arange(n_columns) % 2, 1, [[1], [-1]]
    )
    mixed = np.zeros((2, len(rows.X)))
    for j in range(n_columns):
        key = np.arcsinh(rows.X[:, j] / level.scale[j])
        mixed += shares[:, j : j + 1] * key
        yield key, SLACK * REACH * level.tolerance
    for key, share in zip(mixed, shares, strict=True):
        yield key, SLACK * REACH * level.tolerance * float(np.abs(share).sum())
