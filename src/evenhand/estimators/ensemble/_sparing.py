"""Fewer members: those whose leaving changes the figure by less than a share of its own error."""

import numpy as np

N_BLOCKS = 10


def sparing(weights, weights_without, figure_of, slack):
    """Return weights of fewer models, the least weighty tried first, whose figure is within `slack` of that of all.

    `weights_without` gives the weights of the models that a mask leaves, `figure_of` what weights come to.
    """
    least, left = figure_of(weights) - slack, weights > 0
    for place in np.argsort(weights, kind="stable"):
        if not left[place] or left.sum() == 1:
            continue
        left[place] = False
        tried = weights_without(left)
        if figure_of(tried) >= least:
            weights = tried
        else:
            left[place] = True
    return weights


def standard_error(figure_of_rows, strata):
    """Return the standard error of a figure by leaving out one of ten blocks of rows at a time (jackknife).

    Each block has its share of every stratum; strata of fewer rows than blocks are in none of some.
    """
    block, counts = np.empty(len(strata), dtype=int), 0
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        block[rows] = (counts + np.arange(len(rows))) % N_BLOCKS
        counts += len(rows)
    figures = np.array([figure_of_rows(block != each) for each in range(min(N_BLOCKS, len(strata)))])
    known = figures[np.isfinite(figures)]
    return float(np.sqrt((len(known) - 1) * known.var())) if len(known) > 1 else 0.0
