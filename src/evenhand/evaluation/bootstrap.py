"""Metrics of rows drawn anew with replacement within each class, and of many confusion tables at once."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from evenhand.evaluation.metrics import Judged, PredictionSet, Tables, weighted
from evenhand.study.registry import METRICS

N_DRAWS = 200
CELLS = 4_000_000


def figures_of_tables(tables: np.ndarray, minority: int, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Those of the metrics named that many confusion tables, (n_tables, n_classes, n_classes), give."""
    many, forms = Tables(tables, minority), {name: METRICS[name].of_tables for name in names}
    return {name: of_tables(many) for name, of_tables in forms.items() if of_tables is not None}


def drawn_rows(judged: Judged, names: Sequence[str], seed: int, n_draws: int) -> dict[str, np.ndarray]:
    """Any metric of rows drawn one by one: the way of those that no quicker one is known for."""
    if not names:
        return {}
    parts = list(_times(judged.predicted.truth, judged.n_classes, seed, n_draws))
    return {name: np.concatenate([METRICS[name].of_weighted(judged, times) for times in parts]) for name in names}


def drawn_pair(
    first: PredictionSet,
    second: PredictionSet,
    metric: str,
    n_classes: int,
    minority: int,
    seed: int = 0,
    n_draws: int = N_DRAWS,
) -> np.ndarray:
    """A metric of two models on the same draws of the same rows: draws in rows, models in columns."""
    parts = [
        np.column_stack([weighted(predicted, metric, n_classes, minority, times) for predicted in (first, second)])
        for times in _times(first.truth, n_classes, seed, n_draws)
    ]
    return np.concatenate(parts)


def _times(truth: np.ndarray, n_classes: int, seed: int, n_draws: int) -> Iterator[np.ndarray]:
    """How often each row is drawn, for so many draws, in parts that memory has room for."""
    strata = truth if n_classes and truth.ndim == 1 else np.zeros(len(truth), dtype=int)
    draw, block = np.random.default_rng(seed), max(1, CELLS // len(truth))
    for start in range(0, n_draws, block):
        yield times_drawn(strata, min(block, n_draws - start), draw)


def times_drawn(strata: np.ndarray, n_draws: int, draw: np.random.Generator) -> np.ndarray:
    """How often each row is drawn, for every draw, with replacement within its stratum."""
    times = np.zeros((n_draws, len(strata)))
    for k in np.unique(strata):
        rows = np.flatnonzero(strata == k)
        for one in times:
            one[rows] = np.bincount(draw.integers(0, len(rows), len(rows)), minlength=len(rows))
    return times
