"""Areas under the ROC and the precision-recall curve of many sums at once on a fine grid, and of one sum exactly."""

import numpy as np
from numba import njit

N_LEVELS = 1 << 14


def exact_auc(scores, positive, weight):
    """Weighted area under the ROC curve; a tie of a positive and a negative counts one half."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    ups = np.add.reduceat(np.where(positive, weight, 0.0)[order], starts)
    downs = np.add.reduceat(np.where(positive, 0.0, weight)[order], starts)
    below = np.cumsum(downs) - downs
    return float(ups @ (below + downs / 2) / (ups.sum() * downs.sum()))


@njit(cache=True, nogil=True)
def _fill_credit(level, signed, n_positive, mass, credit):
    """Write into `credit` the weight of positives above each level, plus half of those on it; return the whole."""
    mass[:] = 0.0
    for row in range(n_positive):
        mass[level[row]] += signed[row]
    above = 0.0
    for step in range(mass.size - 1, -1, -1):
        credit[step] = above + 0.5 * mass[step]
        above += mass[step]
    return above


@njit(cache=True, nogil=True)
def _collect(level, signed, n_positive, credit):
    """Sum the credit of the negatives; four sums run side by side, which hides the latency of each addition."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    row = n_positive
    while row + 3 < level.size:
        first -= signed[row] * credit[level[row]]
        second -= signed[row + 1] * credit[level[row + 1]]
        third -= signed[row + 2] * credit[level[row + 2]]
        fourth -= signed[row + 3] * credit[level[row + 3]]
        row += 4
    while row < level.size:
        first -= signed[row] * credit[level[row]]
        row += 1
    return first + second + third + fourth


@njit(cache=True, nogil=True)
def _average_precision(level, signed, n_positive, ups, downs):
    """Average precision with the rows of one level tied; `ups` and `downs` receive the weights on each level."""
    ups[:] = 0.0
    downs[:] = 0.0
    for row in range(n_positive):
        ups[level[row]] += signed[row]
    for row in range(n_positive, level.size):
        downs[level[row]] -= signed[row]
    found, flagged, total = 0.0, 0.0, 0.0
    for step in range(ups.size - 1, -1, -1):
        found += ups[step]
        flagged += ups[step] + downs[step]
        if ups[step] > 0:
            total += ups[step] * found / flagged
    return total / found


@njit(cache=True, nogil=True)
def screened_areas(total, library, ranges, candidates, signed, by_precision):
    """Area under the ROC curve of `total + library[c]` for every candidate c, ties counted within a level of the grid.

    With `by_precision` the average precision instead. Rows are ordered positives first; `signed` is a row's weight,
    negative for a negative row; `ranges` holds the least and greatest score of each model. The error of one ROC area is
    at most half the share of the pairs that fall on one level: 3e-5 for scores spread evenly over their range, and in
    practice a tenth of that.
    """
    level = np.empty(total.size, np.uint16)
    mass = np.empty(N_LEVELS, np.float64)
    other = np.empty(N_LEVELS, np.float64)
    credit = np.empty(N_LEVELS, np.float32)
    areas = np.empty(candidates.size)
    n_positive = int((signed > 0).sum())
    bottom, top, negatives = total.min(), total.max(), -signed[n_positive:].sum()
    for place in range(candidates.size):
        chosen = candidates[place]
        member, low = library[chosen], bottom + ranges[chosen, 0]
        width = top + ranges[chosen, 1] - low
        scale = np.float32(0.9999 * N_LEVELS / width) if width > 0 else np.float32(0.0)
        for row in range(total.size):
            level[row] = np.uint16(np.int32(max((total[row] + member[row] - low) * scale, np.float32(0.0))))
        if by_precision:
            areas[place] = _average_precision(level, signed, n_positive, mass, other)
        else:
            positives = _fill_credit(level, signed, n_positive, mass, credit)
            areas[place] = _collect(level, signed, n_positive, credit) / (positives * negatives)
    return areas
