"""How far a column has moved: effect sizes of drift between counts of the same categories or bins, with intervals."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import gamma, norm

from evenhand.statistics.auc import wilson_interval
from evenhand.statistics.records import Interval

FLOOR = 0.001


@dataclass(frozen=True)
class Drift:
    """An effect size, its interval, what sampling alone is expected to give, and how often it gives as much."""

    value: float
    interval: Interval
    noise: float
    p_value: float

    @property
    def effect(self) -> float:
        """The value without what sampling adds to it, so that few rows do not look like a shift."""
        return max(0.0, self.value - self.noise)


def quantile_edges(reference: np.ndarray, *, n_bins: int = 10) -> np.ndarray:
    """Return the inner edges of bins that hold about as many reference values each; fewer where values repeat."""
    known = reference[~np.isnan(reference)]
    if known.size == 0:
        raise ValueError("Bins need known values, but every reference value is missing. Compare the shares of missing.")
    return np.unique(np.quantile(known, np.linspace(0, 1, n_bins + 1)[1:-1]))


def counts_between(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return how many values fall between edges; the last count is of missing values.

    A value on an edge counts below it.
    """
    return _counts(np.asarray(values, dtype=float), edges)


def _counts(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    codes = np.where(np.isnan(values), edges.size + 1, np.searchsorted(edges, np.nan_to_num(values), side="left"))
    return np.bincount(codes, minlength=edges.size + 2)


def _shares(counts: np.ndarray) -> np.ndarray:
    """Return shares, each raised by the same FLOOR so that an empty cell has a finite logarithm.

    Half a row, which is usual, would be a smaller share of more rows: the same shift would then grow with them.
    """
    counts = np.asarray(counts, dtype=float)
    padded = counts / counts.sum(axis=-1, keepdims=True) + FLOOR
    return padded / padded.sum(axis=-1, keepdims=True)


def stability_index(reference: np.ndarray, current: np.ndarray) -> np.ndarray | float:
    """Return the population stability index, sum of (q - p) log(q / p) over cells."""
    p, q = _shares(reference), _shares(current)
    return ((q - p) * np.log(q / p)).sum(axis=-1)


def jensen_shannon(reference: np.ndarray, current: np.ndarray) -> np.ndarray | float:
    """Return the Jensen-Shannon divergence in bits: 0 for equal shares, at most 1."""
    p, q = _shares(reference), _shares(current)
    middle = (p + q) / 2
    return ((p * np.log2(p / middle) + q * np.log2(q / middle)).sum(axis=-1)) / 2


MEASURES = {"psi": stability_index, "jensen_shannon": jensen_shannon}


def drift(
    reference: np.ndarray, current: np.ndarray, *, level: float = 0.95, n_draws: int = 2000, seed: int = 0
) -> dict[str, Drift]:
    """Return an effect size of drift between two vectors of counts with a bootstrap interval, by each measure.

    The plain figure grows through sampling alone, about with (cells - 1) (1/n + 1/m), and draws from the seen shares
    grow by as much again; the interval reflects the draws about the figure, which takes both off, and is cut at 0. How
    much sampling gives is estimated by draws of both from their pooled shares, whose tail is taken for a gamma's.
    """
    reference, current = np.asarray(reference), np.asarray(current)
    draw, rows = np.random.default_rng(seed), (int(reference.sum()), int(current.sum()))
    seen, pooled = (reference / rows[0], current / rows[1]), (reference + current) / sum(rows)
    drawn = [draw.multinomial(n, shares, n_draws) for n, shares in zip(rows, seen, strict=True)]
    by_chance = [draw.multinomial(n, pooled, n_draws) for n in rows]
    found = {}
    for name, of in MEASURES.items():
        value, chance = float(of(reference, current)), np.asarray(of(*by_chance))
        low, high = np.quantile(of(*drawn), [0.5 - level / 2, 0.5 + level / 2])
        interval = Interval(max(0.0, float(2 * value - high)), max(0.0, float(2 * value - low)), level)
        found[name] = Drift(value, interval, float(chance.mean()), _tail(chance, value))
    return found


def _tail(drawn: np.ndarray, value: float) -> float:
    mean, variance = float(drawn.mean()), float(drawn.var(ddof=1))
    if variance <= 0:
        return 1.0
    return float(gamma.sf(value, mean**2 / variance, scale=variance / mean))


def odds_shift(before: tuple[int, int], after: tuple[int, int], *, level: float = 0.95) -> tuple[float, Interval]:
    """Return by how many times the odds of a share have changed, with Woolf's interval; each is (rows, of all rows).

    Half a row is added to each of the four counts. Unlike a difference, it reports rare classes too.
    """
    counts = [count + 0.5 for part, whole in (after, before) for count in (part, whole - part)]
    logarithm = np.log(counts[0] / counts[1]) - np.log(counts[2] / counts[3])
    reach = norm.ppf(0.5 + level / 2) * np.sqrt(sum(1 / count for count in counts))
    return float(np.exp(logarithm)), Interval(float(np.exp(logarithm - reach)), float(np.exp(logarithm + reach)), level)


def share_shifts(reference: np.ndarray, current: np.ndarray, *, level: float = 0.95) -> list[tuple[float, Interval]]:
    """Return for each cell the change of its share and Newcombe's interval, built from the two Wilson intervals."""
    before, after = np.asarray(reference, dtype=float), np.asarray(current, dtype=float)
    pairs = zip(before / before.sum(), after / after.sum(), strict=True)
    return [(float(q - p), _newcombe(p, before.sum(), q, after.sum(), level)) for p, q in pairs]


def _newcombe(p: float, n: float, q: float, m: float, level: float) -> Interval:
    old, new = wilson_interval(p, n, level=level), wilson_interval(q, m, level=level)
    down = np.hypot(q - new.low, old.high - p)
    up = np.hypot(new.high - q, p - old.low)
    return Interval(float(q - p - down), float(q - p + up), level)
