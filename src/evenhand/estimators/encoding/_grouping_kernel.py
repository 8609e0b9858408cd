"""Greedy merging of values by the length of the description of their class counts, compiled."""

from math import lgamma

import numpy as np
from numba import njit


@njit(cache=True)
def _length(counts):
    """Give the nats that describe the classes of one group: which class counts, then which row has which class."""
    n, n_classes = counts.sum(), counts.size
    nats = lgamma(n + n_classes) - lgamma(n_classes)  # log C(n + J - 1, J - 1) + log n!
    for count in counts:
        nats -= lgamma(count + 1.0)
    return nats


@njit(cache=True)
def _saving(counts, lengths, a, b):
    return lengths[a] + lengths[b] - _length(counts[a] + counts[b])


@njit(cache=True)
def _best_pair(savings, alive):
    best, a_best, b_best = -np.inf, -1, -1
    for a in range(alive.size):
        if alive[a]:
            for b in range(a + 1, alive.size):
                if alive[b] and savings[a, b] > best + 1e-9:
                    best, a_best, b_best = savings[a, b], a, b
    return a_best, b_best


@njit(cache=True)
def _all_savings(counts, lengths):
    savings = np.zeros((len(counts), len(counts)))
    for a in range(len(counts)):
        for b in range(a + 1, len(counts)):
            savings[a, b] = _saving(counts, lengths, a, b)
    return savings


@njit(cache=True)
def merge_path(counts):
    """Merge the two groups that save most until one is left; give the pairs and the saving of each merge."""
    counts = counts.copy()
    lengths = np.array([_length(row) for row in counts])
    savings, alive = _all_savings(counts, lengths), np.ones(len(counts), np.bool_)
    pairs, saved = np.empty((len(counts) - 1, 2), np.int64), np.empty(len(counts) - 1)
    for step in range(len(pairs)):
        a, b = _best_pair(savings, alive)
        pairs[step], saved[step] = (a, b), savings[a, b]
        counts[a] += counts[b]
        lengths[a], alive[b] = _length(counts[a]), False
        for other in range(len(counts)):
            if alive[other] and other != a:
                savings[min(a, other), max(a, other)] = _saving(counts, lengths, a, other)
    return pairs, saved
