"""How far a column has moved: effect sizes of drift between counts of the same categories or bins, with intervals."""

from dataclasses import dataclass

import numpy as np

from evenhand._statistics_area import wilson_interval
from evenhand._statistics_records import Interval


@dataclass(frozen=True)
class Drift:
    """An effect size, its interval, and the value that sampling alone would be expected to give."""

    value: float
    interval: Interval
    noise: float


def binned_counts(reference: np.ndarray, current: np.ndarray, *, n_bins: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return how many values of each fall between the reference's quantiles; the last count is of missing values."""
    reference, current = np.asarray(reference, dtype=float), np.asarray(current, dtype=float)
    known = reference[~np.isnan(reference)]
    if known.size == 0:
        raise ValueError("Bins need known values, but every reference value is missing. Compare the shares of missing.")
    edges = np.unique(np.quantile(known, np.linspace(0, 1, n_bins + 1)[1:-1]))
    return _counts(reference, edges), _counts(current, edges)


def _counts(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    codes = np.where(np.isnan(values), edges.size + 1, np.searchsorted(edges, np.nan_to_num(values), side="left"))
    return np.bincount(codes, minlength=edges.size + 2)


def _shares(counts: np.ndarray) -> np.ndarray:
    """Return shares with half a row added to every cell, so that an empty one has a finite logarithm."""
    padded = np.asarray(counts, dtype=float) + 0.5
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


MEASURES = {"psi": (stability_index, 1.0), "jensen_shannon": (jensen_shannon, 1 / (8 * np.log(2)))}


def drift(
    reference: np.ndarray,
    current: np.ndarray,
    *,
    measure: str = "psi",
    level: float = 0.95,
    n_draws: int = 2000,
    seed: int = 0,
) -> Drift:
    """Return an effect size of drift between two vectors of counts with a bootstrap interval.

    The plain figure grows by (cells - 1) (1/n + 1/m) through sampling alone, and draws from the seen shares grow by as
    much again; the interval reflects the draws about the figure, which takes both off, and is cut at 0.
    """
    if measure not in MEASURES:
        raise ValueError(f"No drift measure is called {measure!r}. Choose one of {', '.join(MEASURES)}.")
    reference, current = np.asarray(reference), np.asarray(current)
    of, scale = MEASURES[measure]
    value, rows = float(of(reference, current)), (int(reference.sum()), int(current.sum()))
    draw = np.random.default_rng(seed)
    pairs = (
        draw.multinomial(rows[0], _shares(reference), n_draws),
        draw.multinomial(rows[1], _shares(current), n_draws),
    )
    low, high = np.quantile(of(*pairs), [0.5 - level / 2, 0.5 + level / 2])
    noise = scale * (np.count_nonzero(reference + current) - 1) * (1 / rows[0] + 1 / rows[1])
    return Drift(
        value, Interval(max(0.0, float(2 * value - high)), max(0.0, float(2 * value - low)), level), float(noise)
    )


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
