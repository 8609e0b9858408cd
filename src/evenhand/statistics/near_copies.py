"""Which rows are nearly the same: linked by distance, at the widest tolerance that chance does not reach.

Two rows are near if their categories and missing cells are the same and every number differs by less than a tolerance
relative to its size and the spread of its column. The tolerance is wide enough for noise of 1e-4 where rows are
otherwise so far apart that chance would link fewer than one in 25,000 of them; or else it is that of values rounded to
six or seven digits or to float32; or else nothing but equality links. Values of a grid, such as counts, ids and cents,
are the same or rounded or others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
BULK = (0.25, 0.05, 0.005)
TINY = 1e-12
BYTES_OF_A_NUMBER = 8


@dataclass(frozen=True)
class _Rows:
    """Different rows in the order of their hashes: numbers without gaps, and the block that near rows share."""

    X: np.ndarray
    blocks: np.ndarray
    spread: np.ndarray
    bulk: np.ndarray
    grid: np.ndarray
    unit: np.ndarray


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


def near_links(numbers: np.ndarray, blocks: np.ndarray, contents: np.ndarray) -> np.ndarray:
    """For each row the least content hash among the rows it is linked with, by equality or as a near copy.

    `numbers` has NaN for missing cells, `blocks` a hash of all that near copies have in common, `contents` one of all.
    """
    different, first, place = np.unique(contents, return_index=True, return_inverse=True)
    if len(different) < 2 or numbers.shape[1] == 0:
        return contents
    rows = _prepared(numbers[first], blocks[first])
    if rows.X.shape[1] == 0:
        return contents
    return different[_roots(rows)][place]


def _prepared(X: np.ndarray, blocks: np.ndarray) -> _Rows:
    """Rows with what they must share in `blocks`: missing cells, and values of grids that no tolerance bridges."""
    gaps = np.zeros(X.shape, dtype=np.uint8)
    for k, column in enumerate(X.T):
        gaps[np.isnan(column), k] = 1
        gaps[np.isposinf(column), k] = 2
        gaps[np.isneginf(column), k] = 3
    blocks = _hashed(blocks, gaps)
    described = [_described(X[gaps[:, j] == 0, j]) for j in range(X.shape[1])]
    spread, bulk, unit = np.array(described, dtype=float).T
    varies = np.flatnonzero(spread)
    X, spread, bulk, unit = np.take(X, varies, axis=1), spread[varies], bulk[varies], unit[varies]
    for k, place in enumerate(varies):
        X[gaps[:, place] > 0, k] = 0.0
    grid = np.zeros(X.shape, dtype=np.bool_)
    for j in np.flatnonzero(unit):
        points = np.round(X[:, j], round(-np.log10(unit[j])))
        grid[:, j] = _is_close(points, X[:, j])
        tolerance = 10 * NOISE * np.hypot(X[:, j], spread[j])
        if tolerance.max() < unit[j] / 4 and (np.abs(X[:, j] - points) <= 2 * tolerance).all():
            blocks = _hashed(blocks, (points + 0.0)[:, None])
    return _Rows(X, np.unique(blocks, return_inverse=True)[1], spread, bulk, grid, unit)


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
    ends = [np.quantile(ordered, [share, 1 - share]) / (2 * norm.isf(share)) for share in BULK]
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

    parent, pairs, limit = np.arange(len(rows.X)), _sampled_pairs(rows.blocks), CHANCE_LINKS * len(rows.X)
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
    return roots_of(parent)


def _sampled_pairs(blocks: np.ndarray) -> _Pairs:
    """Pairs of rows of one block; the order of hashes inside of blocks is a random one."""
    order = np.argsort(blocks, kind="stable")
    ordered = blocks[order]
    sizes = np.bincount(blocks)[ordered]
    n_lags = int(np.clip(MOST_PAIRS // len(blocks), 1, len(blocks) - 1))
    left, right = [], []
    for lag in range(1, n_lags + 1):
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
    free = rows.unit < COARSE_UNIT
    if (far > tolerance).sum() >= FEWEST_PAIRS:
        return chance_pairs(far, pairs.weight[is_kept], tolerance)
    left, right = pairs.left, pairs.right
    if len(left) < FEWEST_PAIRS:
        left, right = _any_pairs(len(rows.X))
    if not free.any():
        return float(pairs.weight.sum()) * _share_within(rows.X, level, left, right), 0.0
    elsewhere = pair_distances(np.ascontiguousarray(rows.X[:, free]), scale[free], left, right)
    share = (is_kept.sum() + 1) / (len(is_kept) + 1)
    return chance_pairs(elsewhere, np.full(len(left), share * pairs.weight.sum() / len(left)), tolerance)


def _share_within(X: np.ndarray, level: _Level, left: np.ndarray, right: np.ndarray) -> float:
    """The share of pairs near in all columns, as if half of these were independent and the others followed."""
    share = 1.0
    for j, scale in enumerate(level.scale):
        a, b = X[left, j], X[right, j]
        is_near = np.abs(a - b) <= level.tolerance * np.hypot(np.maximum(np.abs(a), np.abs(b)), scale)
        share *= (is_near.sum() + 1) / (len(left) + 1)
    return float(np.sqrt(share))


def _any_pairs(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Some pairs of rows, of whatever blocks."""
    n_lags = int(np.clip(MOST_PAIRS // 50 // n_rows, 1, n_rows - 1))
    left = [np.arange(n_rows - lag) for lag in range(1, n_lags + 1)]
    return np.concatenate(left), np.concatenate([each + lag for lag, each in enumerate(left, start=1)])


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
