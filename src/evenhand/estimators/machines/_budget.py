"""What fits cost, estimated from smaller ones, and samples that keep rare classes."""

import numpy as np
from scipy.stats import rankdata

FEWEST_OF_A_CLASS = 100
CACHE_MB, BYTES_OF_A_CELL = 500, 4
LEAST_POWER = 1.5


def cost_at(n_rows, pilots):
    """Seconds of an exact fit on so many rows, from the rows, seconds and support vectors of smaller ones.

    The cost grows with a power of the rows, that of the last three pilots, while LIBSVM's cache holds the columns of
    all support vectors, and with their cube from there on, as columns are then computed again and again.
    """
    rows, seconds, held = np.array(pilots[-3:], dtype=float).T
    power = 2.0 if len(rows) < 2 else np.polyfit(np.log(rows), np.log(np.maximum(seconds, 1e-9)), 1)[0]
    outgrown = max(np.sqrt(CACHE_MB * 2**20 / BYTES_OF_A_CELL * rows[-1] / max(held[-1], 1)), rows[-1])
    inside = min(n_rows, outgrown)
    grown = (inside / rows[-1]) ** np.clip(power, LEAST_POWER, 3.0)
    return float(seconds[-1] * grown * (n_rows / inside) ** 3.0)


def evenly_drawn(y, n_rows, rng):
    """Places of about so many rows, as many of each class where it has twice as many, so that rare rows are reached."""
    codes = np.unique(y)
    each = int(np.ceil(n_rows / len(codes)))
    members = [rng.permutation(np.flatnonzero(y == code)) for code in codes]
    kept = [rows[: max(min(len(rows) // 2, each), 1)] for rows in members]
    most = int(np.argmax([len(rows) for rows in members]))
    kept[most] = members[most][: max(n_rows - sum(map(len, kept)) + len(kept[most]), 1)]
    return np.sort(np.concatenate(kept))


def drawn(y, n_rows, rng, among=None):
    """Places of about so many rows: of each class its share, and a hundred rows, or half of them if there are fewer."""
    order = rng.permutation(len(y)) if among is None else among
    labels, kept = y[order], []
    for code in np.unique(labels):
        members = order[labels == code]
        share = int(np.ceil(n_rows * len(members) / len(order)))
        kept.append(members[: max(share, min(FEWEST_OF_A_CLASS, int(np.ceil(len(members) / 2))))])
    return np.sort(np.concatenate(kept))


def area(y, scores):
    """The area under the ROC curve, averaged over classes against the rest where there are more than two."""
    columns = scores[:, None] if scores.ndim == 1 else scores
    codes = [1] if scores.ndim == 1 else range(columns.shape[1])
    found = []
    for place, code in enumerate(codes):
        is_class = y == code
        n_class, n_rest = is_class.sum(), (~is_class).sum()
        if n_class and n_rest:
            ranks = rankdata(columns[:, place])[is_class].sum()
            found.append((ranks - n_class * (n_class + 1) / 2) / (n_class * n_rest))
    return float(np.mean(found)) if found else 0.5


def kernel_width(X, gamma):
    """What gamma comes to on these rows, as scikit-learn's SVC has it."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return float(gamma)
    spread = X.var() if isinstance(X, np.ndarray) else (X.data @ X.data) / np.prod(X.shape) - X.mean() ** 2
    return 1.0 / (X.shape[1] * spread) if spread != 0 else 1.0
