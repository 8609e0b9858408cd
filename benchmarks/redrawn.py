"""Tables drawn anew and quick learners on them, so that what a procedure is expected to score is known.

Three generators of two classes: "linear" (normal classes), "interactions" (products, squares) and "steps" (heavy tails,
thresholds, noise in the labels). Forty learners in closed form or nearly: linear discriminants, logistic regression,
naive Bayes, quadratic discriminants, neighbours, shallow trees, random features; some alike, some much worse.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

N_FEATURES = 12
GENERATORS = ("linear", "interactions", "steps")
PROTOTYPES = 800
N_BINS = 16


class Population:
    """Rows of one generator with the asked share of positives."""

    def __init__(self, name, share):
        self.name, self.share = name, share
        score = self._score(self._features(np.random.default_rng(0), 200_000))
        low, high = -30.0, 30.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if expit(score + middle).mean() < share else (low, middle)
        self.intercept = (low + high) / 2

    def _features(self, draw, n):
        x = draw.normal(size=(n, N_FEATURES))
        if self.name == "linear":
            for j in range(1, N_FEATURES):
                x[:, j] = 0.5 * x[:, j - 1] + np.sqrt(0.75) * x[:, j]
        if self.name == "steps":
            x = x / np.sqrt(draw.chisquare(3, size=(n, 1)) / 3)
        return x

    def _score(self, x):
        if self.name == "linear":
            return x @ (1.3 * 0.7 ** np.arange(N_FEATURES))
        if self.name == "interactions":
            curved = 1.0 * x[:, 0] * x[:, 1] + 0.7 * (x[:, 2] ** 2 - 1)
            return curved + 0.9 * x[:, 3] + 0.5 * x[:, 4] - 0.5 * x[:, 5] + 0.3 * x[:, 6]
        steps = 1.5 * (x[:, 0] > 0.3) + 1.2 * (x[:, 1] < -0.2) + 1.0 * (np.abs(x[:, 2]) > 1)
        return steps + 0.8 * (x[:, 3] > 0) + 0.4 * np.tanh(x[:, 4]) + 0.3 * np.tanh(x[:, 5])

    def rows(self, draw, n):
        """n rows as they come."""
        x = self._features(draw, n)
        chance = expit(self._score(x) + self.intercept)
        if self.name == "steps":
            chance = 0.95 * chance + 0.05 * self.share
        return x, draw.random(n) < chance

    def by_class(self, draw, n):
        """n rows of each class."""
        parts = {True: [], False: []}
        while any(sum(map(len, each)) < n for each in parts.values()):
            x, y = self.rows(draw, int(n / min(self.share, 1 - self.share) / 2) + 500)
            for k, each in parts.items():
                each.append(x[y == k])
        ups, downs = (np.concatenate(parts[k])[:n] for k in (True, False))
        return np.concatenate([ups, downs]), np.arange(2 * n) < n


def stratified(draw, y, n_folds):
    """The fold of every row, classes spread evenly."""
    fold = np.empty(len(y), dtype=int)
    for k in (True, False):
        rows = draw.permutation(np.flatnonzero(y == k))
        fold[rows] = np.arange(len(rows)) % n_folds
    return fold


@dataclass(frozen=True)
class Learner:
    """A kind of model with one number to set, on some of the columns."""

    kind: str
    value: float
    columns: str = "all"


COLUMNS = {
    "all": np.arange(12),
    "noisy": np.arange(24),
    "eight": np.arange(8),
    "even": np.arange(0, 12, 2),
    "four": np.arange(4),
    "late": np.arange(4, 12),
    "two": np.arange(10, 12),
}
LEARNERS = [
    Learner(*each)
    for each in [
        ("logistic", 1.0), ("lda", 0.01), ("nb", 0.0), ("tree", 4), ("knn", 15),
        ("qda", 0.1), ("lda", 0.01, "noisy"), ("logistic", 1.0, "eight"), ("tree", 2), ("knn", 50),
        ("features", 1.0), ("nb", 0.0, "eight"), ("lda", 0.01, "even"), ("qda", 0.5), ("logistic", 30.0),
        ("lda", 0.5), ("tree", 3, "eight"), ("lda", 0.01, "late"), ("nb", 0.0, "two"),
        ("logistic", 1.0, "noisy"), ("logistic", 1.0, "four"), ("lda", 0.01, "eight"), ("lda", 0.1),
        ("lda", 0.01, "four"), ("nb", 0.0, "noisy"), ("nb", 0.0, "even"), ("nb", 0.0, "four"), ("qda", 0.1, "eight"),
        ("qda", 0.1, "four"),
        ("qda", 0.9), ("features", 10.0), ("features", 1.0, "eight"), ("features", 1.0, "four"), ("knn", 15, "four"),
        ("tree", 6), ("lda", 0.9), ("logistic", 1.0, "late"), ("qda", 0.1, "late"), ("lda", 0.01, "two"),
        ("nb", 0.0, "late"),
    ]
]  # fmt: skip


def with_noise(x, seed):
    """The rows with as many columns of noise."""
    return np.hstack([x, np.random.default_rng(seed).normal(size=x.shape)])


def scores_by(learner, x, y, held, seed=0):
    """The log odds that a learner gives held rows after training on x and y."""
    columns = COLUMNS[learner.columns]
    x, held = x[:, columns], held[:, columns]
    centre, spread = x.mean(axis=0), x.std(axis=0)
    x, held = np.clip((x - centre) / spread, -6, 6), np.clip((held - centre) / spread, -6, 6)
    return KINDS[learner.kind](learner.value, x, y, held, seed)


def _lda(shrink, x, y, held, seed):
    up, down = x[y].mean(axis=0), x[~y].mean(axis=0)
    rest = np.where(y[:, None], x - up, x - down)
    spread = rest.T @ rest / len(x)
    spread = (1 - shrink) * spread + shrink * np.trace(spread) / len(spread) * np.eye(len(spread))
    weights = np.linalg.solve(spread, up - down)
    return (held - (up + down) / 2) @ weights + np.log(y.mean() / (1 - y.mean()))


def _logistic(penalty, x, y, held, seed):
    rows = np.column_stack([np.ones(len(x)), x])
    weights = np.zeros(rows.shape[1])
    weights[0] = np.log(y.mean() / (1 - y.mean()))
    ridge = penalty * np.diag(np.r_[0, np.ones(x.shape[1])])
    for _ in range(7):
        chance = expit(rows @ weights)
        curved = rows.T @ (rows * (chance * (1 - chance) + 1e-9)[:, None]) + ridge
        weights = weights + np.linalg.solve(curved, rows.T @ (y - chance) - ridge @ weights)
    return held @ weights[1:] + weights[0]


def _nb(_, x, y, held, seed):
    odds = np.full(len(held), np.log(y.mean() / (1 - y.mean())))
    for part, sign in ((x[y], 1), (x[~y], -1)):
        spread = part.var(axis=0) + 0.05
        odds += sign * -0.5 * (((held - part.mean(axis=0)) ** 2 / spread) + np.log(spread)).sum(axis=1)
    return odds


def _qda(shrink, x, y, held, seed):
    odds = np.full(len(held), np.log(y.mean() / (1 - y.mean())))
    for part, sign in ((x[y], 1), (x[~y], -1)):
        rest = part - part.mean(axis=0)
        spread = (1 - shrink) * rest.T @ rest / len(part) + (shrink + 0.01) * np.eye(x.shape[1])
        lower = np.linalg.inv(np.linalg.cholesky(spread))
        far = (((held - part.mean(axis=0)) @ lower.T) ** 2).sum(axis=1)
        odds += sign * (-0.5 * far + np.log(np.diag(lower)).sum())
    return odds


def _knn(n_neighbors, x, y, held, seed):
    x, y = x[:PROTOTYPES].astype(np.float32), y[:PROTOTYPES]
    held = held.astype(np.float32)
    far = (x**2).sum(axis=1) - 2 * held @ x.T
    k = min(int(n_neighbors), len(x) - 1)
    nearest = np.argpartition(far, k, axis=1)[:, :k]
    share = (y[nearest].sum(axis=1) + y.mean()) / (k + 1)
    return np.log(share / (1 - share)) if 0 < y.mean() < 1 else np.zeros(len(held))


def _tree(depth, x, y, held, seed):
    """A tree grown level by level over sixteen bins a column, by Gini's index, with five rows or more in a leaf."""
    edges = np.quantile(x, np.arange(1, N_BINS) / N_BINS, axis=0)
    bins, asked = (
        np.column_stack([np.searchsorted(e, v) for e, v in zip(edges.T, each.T, strict=True)]) for each in (x, held)
    )
    node, there = np.zeros(len(x), dtype=int), np.zeros(len(held), dtype=int)
    for level in range(int(depth)):
        column, cut = _cuts(bins, y, node, 2**level)
        node = 2 * node + (bins[np.arange(len(x)), column[node]] > cut[node])
        there = 2 * there + (asked[np.arange(len(held)), column[there]] > cut[there])
    ups, counts = (np.bincount(node, weights=w, minlength=2 ** int(depth)) for w in (y, np.ones(len(y))))
    share = np.clip((ups + y.mean()) / (counts + 1), 1e-3, 1 - 1e-3)[there]
    return np.log(share / (1 - share))


def _cuts(bins, y, node, n_nodes):
    """The column and bin that part each node best; a node that cannot be parted keeps its rows together."""
    gains = np.empty((n_nodes, bins.shape[1], N_BINS))
    for j in range(bins.shape[1]):
        cell = node * N_BINS + bins[:, j]
        n, ups = (np.bincount(cell, weights=w, minlength=n_nodes * N_BINS) for w in (np.ones(len(y)), y))
        n, ups = (each.reshape(n_nodes, N_BINS).cumsum(axis=1) for each in (n, ups))
        rest, rest_ups = n[:, -1:] - n, ups[:, -1:] - ups
        gain = ups**2 / np.maximum(n, 1) + rest_ups**2 / np.maximum(rest, 1)
        gains[:, j] = np.where((n >= 5) & (rest >= 5), gain, -1.0)
    best = gains.reshape(n_nodes, -1).argmax(axis=1)
    column, cut = best // N_BINS, best % N_BINS
    return column, np.where(gains.reshape(n_nodes, -1).max(axis=1) < 0, N_BINS, cut)


def _features(penalty, x, y, held, seed):
    draw = np.random.default_rng(7)
    aims, shifts = draw.normal(size=(x.shape[1], 60)) * 0.4, draw.uniform(0, 2 * np.pi, 60)
    rows, asked = np.cos(x @ aims + shifts), np.cos(held @ aims + shifts)
    centre = rows.mean(axis=0)
    rows, asked = rows - centre, asked - centre
    weights = np.linalg.solve(rows.T @ rows + penalty * np.eye(60), rows.T @ (y - y.mean()))
    share = np.clip(asked @ weights + y.mean(), 1e-3, 1 - 1e-3)
    return np.log(share / (1 - share))


KINDS = {"lda": _lda, "logistic": _logistic, "nb": _nb, "qda": _qda, "knn": _knn, "tree": _tree, "features": _features}


def out_of_fold(x, y, n_folds, learners, draw):
    """The fold of every row, and the log odds that every learner gives it without having seen it."""
    fold = stratified(draw, y, n_folds)
    x = with_noise(x, int(draw.integers(1 << 30)))
    odds = np.empty((len(y), len(learners)))
    for k in range(n_folds):
        training, held = fold != k, fold == k
        for j, learner in enumerate(learners):
            odds[held, j] = scores_by(learner, x[training], y[training], x[held])
    return fold, odds


def on_new_rows(x, y, new, learners, draw):
    """The log odds that learners trained on all rows give new ones."""
    x, new = (with_noise(each, int(draw.integers(1 << 30))) for each in (x, new))
    return np.column_stack([scores_by(learner, x, y, new) for learner in learners])
