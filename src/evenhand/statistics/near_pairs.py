"""Rows whose columns all differ by no more than a tolerance, found in windows of two sort keys and then verified."""

import numpy as np
from numba import njit

Compared = tuple[
    np.ndarray, np.ndarray, np.ndarray, np.ndarray, float
]  # numbers, their grids, units, scales, tolerance
Windows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]
UNITE, MARK = 0, 1
FINEST = 0.005  # values of a coarser grid, such as counts, ids and cents, differ in content whenever they differ
COARSE = 16.0  # and those of a finer one if no more than so many of its points lie inside the tolerance
TINY, CLOSE = 1e-300, 1e-6


@njit(cache=True, nogil=True)
def pair_distances(X: np.ndarray, scale: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """For each pair the greatest difference of a column, relative to the size of its values and its spread."""
    found = np.zeros(len(left))
    for p in range(len(left)):
        worst = 0.0
        for j in range(X.shape[1]):
            a, b = X[left[p], j], X[right[p], j]
            gap = (a - b) ** 2 / (max(a * a, b * b) + scale[j] ** 2)
            worst = max(worst, gap)
        found[p] = np.sqrt(worst)
    return found


@njit(cache=True, nogil=True)
def are_other_values(
    X: np.ndarray,
    grid: np.ndarray,
    unit: np.ndarray,
    scale: np.ndarray,
    tolerance: float,
    left: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """For each pair whether a column with a grid has two different values of it."""
    found = np.zeros(len(left), dtype=np.bool_)
    for p in range(len(left)):
        for j in range(X.shape[1]):
            if _is_other(X, grid, unit, scale, tolerance, left[p], right[p], j):
                found[p] = True
                break
    return found


@njit(cache=True, nogil=True)
def _is_other(
    X: np.ndarray, grid: np.ndarray, unit: np.ndarray, scale: np.ndarray, tolerance: float, i: int, k: int, j: int
) -> bool:
    """Whether two values of a column's grid differ, and neither is what the other is rounded to."""
    a, b = X[i, j], X[k, j]
    if unit[j] == 0.0 or abs(a - b) < unit[j] / 2 or not (grid[i, j] and grid[k, j]):
        return False
    if unit[j] < FINEST and (unit[j] * COARSE / tolerance) ** 2 <= max(a * a, b * b) + scale[j] ** 2:
        return False
    return not (_is_rounded(a, b) or _is_rounded(b, a))


@njit(cache=True, nogil=True)
def _is_rounded(value: float, other: float) -> bool:
    """Whether the other is the value as float32 or to six or seven digits."""
    if np.float64(np.float32(value)) == other:
        return True
    for n_digits in (6, 7):
        last = 10.0 ** (np.floor(np.log10(max(abs(value), TINY))) + 1 - n_digits)
        n_units = other / last
        if abs(n_units - np.rint(n_units)) <= CLOSE and abs(value - other) <= last * (0.5 + CLOSE):
            return True
    return False


@njit(cache=True, nogil=True)
def _are_near(
    X: np.ndarray, grid: np.ndarray, unit: np.ndarray, scale: np.ndarray, tolerance: float, reach: float, i: int, k: int
) -> bool:
    limit = (tolerance * reach) ** 2
    for j in range(X.shape[1]):
        a, b = X[i, j], X[k, j]
        if (a - b) ** 2 > limit * (max(a * a, b * b) + scale[j] ** 2):
            return False
        if _is_other(X, grid, unit, scale, tolerance, i, k, j):
            return False
    return True


@njit(cache=True, nogil=True)
def root_of(parent: np.ndarray, i: int) -> int:
    """The row that stands for the rows linked with row i."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True, nogil=True)
def roots_of(parent: np.ndarray) -> np.ndarray:
    """For each row the row that stands for those linked with it."""
    found = np.empty_like(parent)
    for i in range(len(parent)):
        found[i] = root_of(parent, i)
    return found


@njit(cache=True, nogil=True)
def _visit(
    compared: Compared, reach: float, mode: int, parent: np.ndarray, crowded: np.ndarray, i: int, k: int
) -> None:
    first, second = root_of(parent, i), root_of(parent, k)
    is_settled = crowded[i] or crowded[k] if mode == UNITE else crowded[i] and crowded[k]
    if first == second or is_settled or not _are_near(*compared, reach, i, k):
        return
    if mode == UNITE:
        parent[max(first, second)] = min(first, second)
    else:
        crowded[i] = crowded[k] = True


@njit(cache=True, nogil=True)
def scan(
    compared: Compared, reach: float, mode: int, windows: Windows, parent: np.ndarray, crowded: np.ndarray
) -> None:
    """Unite the near pairs of rows, or mark the rows that have a near one among the rows they are not linked with."""
    order, second, group_of, start, has_next, is_at_edge, width = windows
    for place in range(len(order)):
        i, group = order[place], group_of[place]
        other = place + 1
        while other < start[group + 1] and second[other] - second[place] <= width:
            _visit(compared, reach, mode, parent, crowded, i, order[other])
            other += 1
        if has_next[group] and is_at_edge[place]:
            low, high = start[group + 1], start[group + 2]
            other = low + np.searchsorted(second[low:high], second[place] - width)
            while other < high and second[other] - second[place] <= width:
                _visit(compared, reach, mode, parent, crowded, i, order[other])
                other += 1
