"""Entropy cuts, one for all or as many as pay by minimum description length, compiled."""

import numpy as np
from numba import njit


def count_logs(total):
    """Give n log2 n for n = 0 .. total, the only logarithms that unweighted rows need."""
    n = np.arange(total + 1, dtype=np.float64)
    return n * np.log2(np.maximum(n, 1.0))


@njit(cache=True)
def _xlogx(x, logs):
    if logs.size:
        return logs[int(x)]
    return x * np.log2(x) if x > 0 else 0.0


@njit(cache=True)
def _known_ends(values, borders):
    """Give the end of the known values of each class: NaN is sorted to the end."""
    ends = borders[1:].copy()
    for c in range(ends.size):
        while ends[c] > borders[c] and np.isnan(values[ends[c] - 1]):
            ends[c] -= 1
    return ends


@njit(cache=True)
def _merge(values, weights, borders):
    """Merge the sorted values of the classes, those of class c from borders[c] to borders[c + 1].

    Gives the distinct values, the class weights below each, and the class of the values of one class only, or -1.
    """
    heads, ends = borders[:-1].copy(), _known_ends(values, borders)
    distinct, pure = np.empty(values.size), np.empty(values.size, np.int64)
    sums = np.empty((values.size + 1, ends.size))
    sums[0, :] = 0.0
    n = 0
    while True:
        least = np.inf
        for c in range(ends.size):
            if heads[c] < ends[c]:
                least = min(least, values[heads[c]])
        if least == np.inf:
            return distinct[:n], sums[: n + 1], pure[:n]
        distinct[n], pure[n] = least, -2
        for c in range(ends.size):
            total, start = sums[n, c], heads[c]
            while heads[c] < ends[c] and values[heads[c]] == least:
                total += weights[heads[c]]
                heads[c] += 1
            sums[n + 1, c] = total
            if heads[c] > start:
                pure[n] = c if pure[n] == -2 else -1
        n += 1


@njit(cache=True)
def _bits(sums, low, high, logs):
    """Give the weight, the entropy times the weight, and the number of classes of the values low .. high - 1."""
    weight, bits, present = 0.0, 0.0, 0
    for c in range(sums.shape[1]):
        count = sums[high, c] - sums[low, c]
        if count > 0:
            weight += count
            bits -= _xlogx(count, logs)
            present += 1
    return weight, bits + _xlogx(weight, logs), present


@njit(cache=True)
def _best_cut(sums, pure, low, high, logs):
    """Give the position between low and high whose two sides have the least entropy together, 0 if there is none."""
    best, least = 0, np.inf
    for i in range(low + 1, high):
        if pure[i] >= 0 and pure[i] == pure[i - 1]:
            continue  # the least entropy is always at a border between classes
        bits = _bits(sums, low, i, logs)[1] + _bits(sums, i, high, logs)[1]
        if bits < least - 1e-9:
            best, least = i, bits
    return best


@njit(cache=True)
def _pays(sums, low, cut, high, logs):
    """Return whether the gain of a cut exceeds the length of its description."""
    n, bits, k = _bits(sums, low, high, logs)
    n_left, bits_left, k_left = _bits(sums, low, cut, logs)
    n_right, bits_right, k_right = _bits(sums, cut, high, logs)
    if n <= 1 or n_left <= 0 or n_right <= 0:
        return False
    gain = (bits - bits_left - bits_right) / n
    choices = np.log2(3.0**k - 2) if k < 600 else k * np.log2(3.0)
    delta = choices - (k * bits / n - k_left * bits_left / n_left - k_right * bits_right / n_right)
    return gain > (np.log2(n - 1) + delta) / n


@njit(cache=True)
def entropy_cuts(values, weights, borders, logs):
    """Give the accepted cut points, each half-way between two neighbouring values, rising.

    The values of class c, sorted, stand from borders[c] to borders[c + 1], NaN last.
    """
    distinct, sums, pure = _merge(values, weights, borders)
    cuts = [0.0][:0]
    waiting = [(0, distinct.size)]
    while waiting:
        low, high = waiting.pop()
        cut = _best_cut(sums, pure, low, high, logs) if high - low > 1 else 0
        if cut > 0 and _pays(sums, low, cut, high, logs):
            cuts.append((distinct[cut - 1] + distinct[cut]) / 2)
            waiting.append((low, cut))
            waiting.append((cut, high))
    return np.sort(np.array(cuts))


@njit(cache=True)
def best_cut(values, weights, borders, logs):
    """Give the one cut point with the largest information gain, half-way between two values; empty where none gains.

    The values of class c, sorted, stand from borders[c] to borders[c + 1], NaN last.
    """
    distinct, sums, pure = _merge(values, weights, borders)
    cut = _best_cut(sums, pure, 0, distinct.size, logs) if distinct.size > 1 else 0
    if cut == 0:
        return np.empty(0)
    whole = _bits(sums, 0, distinct.size, logs)[1]
    parts = _bits(sums, 0, cut, logs)[1] + _bits(sums, cut, distinct.size, logs)[1]
    if whole - parts <= 1e-9 * max(whole, 1.0):
        return np.empty(0)
    return np.array([(distinct[cut - 1] + distinct[cut]) / 2])
