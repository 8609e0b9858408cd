"""Entropy cuts with the minimum-description-length stop, compiled."""

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
def _runs(values, classes, weights, n_classes):
    """Give the distinct values (sorted input) and the class weights up to and including each."""
    distinct = np.empty(values.size)
    sums = np.zeros((values.size + 1, n_classes))
    n = 0
    for i in range(values.size):
        if n == 0 or values[i] != distinct[n - 1]:
            distinct[n] = values[i]
            n += 1
            sums[n] = sums[n - 1]
        sums[n, classes[i]] += weights[i]
    return distinct[:n], sums[: n + 1]


@njit(cache=True)
def _pure_class(sums, i):
    """Give the only class of the i-th distinct value, or -1."""
    found = -1
    for c in range(sums.shape[1]):
        if sums[i + 1, c] > sums[i, c]:
            if found >= 0:
                return -1
            found = c
    return found


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
    """Tell whether the gain of a cut exceeds the length of its description."""
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
def entropy_cuts(values, classes, weights, n_classes, logs):
    """Give the accepted cut points of sorted values, each half-way between two neighbouring values, rising."""
    distinct, sums = _runs(values, classes, weights, n_classes)
    pure = np.array([_pure_class(sums, i) for i in range(distinct.size)])
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
