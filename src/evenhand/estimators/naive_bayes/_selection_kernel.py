"""Search for the columns of a naive Bayes that describe the classes shortest, compiled."""

from math import lgamma

import numpy as np
from numba import njit


@njit(cache=True)
def subset_nats(n_columns, n_chosen):
    """Give the nats that name a subset: its size, then its members."""
    binomial = lgamma(n_columns + 1.0) - lgamma(n_chosen + 1.0) - lgamma(n_columns - n_chosen + 1.0)
    return np.log(n_columns + 1.0) + binomial


@njit(cache=True)
def class_nats(joint, codes, table, share, classes, weights):
    """Give the weighted nats of the true classes, -log P(class | row).

    The joint log-probabilities are taken with `share` times the log-probabilities of one column's codes added.
    """
    nats = 0.0
    for i in range(joint.shape[0]):
        own, code = classes[i], codes[i]
        true = joint[i, own] + share * table[code, own]
        others = 0.0
        for c in range(joint.shape[1]):
            if c != own:
                others += np.exp(min(joint[i, c] + share * table[code, c] - true, 700.0))
        nats += weights[i] * np.log1p(others)
    return nats


@njit(cache=True)
def move_joint(joint, codes, table, share):
    """Add `share` times the log-probabilities of one column's codes to the joint log-probabilities."""
    for i in range(codes.size):
        for c in range(joint.shape[1]):
            joint[i, c] += share * table[codes[i], c]


@njit(cache=True)
def search_subset(order, codes, tables, prior, classes, weights, credit):
    """Add and drop columns in the given order for as long as the description gets shorter.

    Each improving model adds its compression, 1 - length / length without columns, to the credit of its columns.
    Returns the chosen columns, their description length and the compression of all models.
    """
    n_columns = codes.shape[0]
    chosen = np.zeros(n_columns, np.bool_)
    joint = np.zeros((codes.shape[1], prior.size)) + prior
    length = class_nats(joint, codes[0], tables[0], 0.0, classes, weights) + subset_nats(n_columns, 0)
    empty, total, n_chosen, improved = length, 0.0, 0, True
    while improved:
        improved = False
        for j in order:
            sign = -1.0 if chosen[j] else 1.0
            now = class_nats(joint, codes[j], tables[j], sign, classes, weights)
            now += subset_nats(n_columns, n_chosen + int(sign))
            if now < length - 1e-6:
                move_joint(joint, codes[j], tables[j], sign)
                length, improved = now, True
                chosen[j], n_chosen = not chosen[j], n_chosen + int(sign)
                compression = 1.0 - length / empty
                total += compression
                credit[chosen] += compression
    return chosen, length, total


@njit(cache=True)
def single_lengths(codes, tables, prior, classes, weights):
    """Give the nats of the true classes for each column alone."""
    start = np.zeros((codes.shape[1], prior.size)) + prior
    nats = np.empty(codes.shape[0])
    for j in range(codes.shape[0]):
        nats[j] = class_nats(start, codes[j], tables[j], 1.0, classes, weights)
    return nats
