"""How far every metric would move if the judged rows were drawn anew: the bootstrap, stratified by class, vectorised.

Drawing rows with replacement within a class draws the cells of that class's row of the confusion table from a
multinomial, so threshold metrics need no row-wise draws. Ranking metrics are drawn over at most 250 groups of rows with
neighbouring scores in each class.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.evaluation.metrics import Judged, PredictionSet, Tables, metrics_of, weighted
from evenhand.study.registry import METRICS

N_DRAWS = 200
MOST_GROUPS = 250
CELLS = 4_000_000
FEW_TO_A_GROUP = 10


@dataclass(frozen=True)
class Spread:
    """The percentile interval of a metric, and its standard error."""

    low: float
    high: float
    error: float


def spreads_of(
    predicted: PredictionSet,
    n_classes: int,
    minority: int = 1,
    *,
    level: float = 0.95,
    seed: int = 0,
    n_draws: int = N_DRAWS,
) -> dict[str, Spread]:
    """The spread of every metric that these rows give."""
    if len(predicted.truth) < 2:
        return {}
    known = metrics_of(predicted, n_classes, minority)
    draw, judged = np.random.default_rng(seed), Judged(predicted, n_classes, minority)
    if n_classes == 0:
        drawn = _drawn_regression(predicted, draw, n_draws)
    else:
        drawn = _drawn_tables(judged, known, draw, n_draws)
        drawn |= _drawn_rankings(predicted, n_classes, draw, n_draws)
    drawn |= _drawn_losses(judged, [name for name in known if name not in drawn], draw, n_draws)
    drawn |= _drawn_rows(judged, [name for name in known if name not in drawn], seed, n_draws)
    return _spreads({name: drawn[name] for name in known if np.isfinite(drawn[name]).all()}, level)


def _spreads(drawn: Mapping[str, np.ndarray], level: float) -> dict[str, Spread]:
    """The interval and error of each metric, all at once."""
    if not drawn:
        return {}
    values, tail = np.stack(list(drawn.values())), 50 * (1 - level)
    ends, errors = np.percentile(values, [tail, 100 - tail], axis=1), values.std(axis=1, ddof=1)
    return {
        name: Spread(low, high, error)
        for name, low, high, error in zip(drawn, *ends.tolist(), errors.tolist(), strict=True)
    }


def intervals_of_means(
    metrics: Sequence[Mapping[str, float]], errors: Sequence[Mapping[str, float]], n_errors: float = 1.96
) -> dict[str, tuple[float, float]]:
    """How far the mean of each metric over folds would move if other rows had been judged; retraining adds to it."""
    shared = [name for name in errors[0] if all(name in each for each in errors)] if errors else []
    found = {}
    for name in shared:
        mean = float(np.mean([each[name] for each in metrics]))
        reach = n_errors * float(np.sqrt(np.sum([each[name] ** 2 for each in errors]))) / len(errors)
        found[name] = (mean - reach, mean + reach)
    return found


def _drawn_tables(
    judged: Judged, names: Iterable[str], draw: np.random.Generator, n_draws: int
) -> dict[str, np.ndarray]:
    """Threshold metrics of confusion tables drawn class by class."""
    table = judged.table
    sizes = table.sum(axis=1)
    rows = [
        draw.multinomial(n, row / n, size=n_draws) if n else np.zeros((n_draws, len(table)), dtype=int)
        for n, row in zip(sizes, table, strict=True)
    ]
    return figures_of_tables(np.stack(rows, axis=1).astype(float), judged.minority, names)


def figures_of_tables(tables: np.ndarray, minority: int, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Those of the metrics named that many confusion tables, (n_tables, n_classes, n_classes), give."""
    many, forms = Tables(tables, minority), {name: METRICS[name].of_tables for name in names}
    return {name: of_tables(many) for name, of_tables in forms.items() if of_tables is not None}


def _drawn_rankings(
    predicted: PredictionSet, n_classes: int, draw: np.random.Generator, n_draws: int
) -> dict[str, np.ndarray]:
    if predicted.scores is None or predicted.ranks is None:
        return {}
    if n_classes == 2:
        area, precision = _ranked(predicted.truth == 1, predicted.ranks, draw, n_draws)
        return {"roc_auc": area, "average_precision": precision}
    if predicted.scores.ndim != 2:
        return {}
    counts = np.bincount(predicted.truth, minlength=n_classes)
    if not counts.all():
        return {}
    areas = np.stack(
        [_ranked(predicted.truth == k, predicted.scores[:, k], draw, n_draws)[0] for k in range(n_classes)]
    )
    return {"roc_auc_ovr": areas.mean(axis=0), "roc_auc_ovr_weighted": counts @ areas / counts.sum()}


def _ranked(
    is_positive: np.ndarray, scores: np.ndarray, draw: np.random.Generator, n_draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """Area under ROC and average precision of rows drawn within class."""
    if not 0 < is_positive.sum() < len(is_positive):
        return np.full(n_draws, np.nan), np.full(n_draws, np.nan)
    groups = _groups(scores, is_positive)
    n_groups = int(groups.max()) + 1
    up, down = (np.bincount(groups[mask], minlength=n_groups) for mask in (is_positive, ~is_positive))
    ups, downs = (_counts_drawn(counts, draw, n_draws)[:, ::-1] for counts in (up, down))
    seen_up, seen_down = ups.cumsum(axis=1), downs.cumsum(axis=1)
    below = downs.sum(axis=1, keepdims=True) - seen_down
    area = (ups * (below + downs / 2)).sum(axis=1) / (up.sum() * down.sum())
    with np.errstate(invalid="ignore"):
        precision = np.where(seen_up + seen_down > 0, seen_up / (seen_up + seen_down), 0.0)
    return area, (ups * precision).sum(axis=1) / up.sum()


def _counts_drawn(counts: np.ndarray, draw: np.random.Generator, n_draws: int) -> np.ndarray:
    """How many rows of each group are drawn with replacement; few rows are drawn one by one, which is quicker then."""
    n_rows, n_groups = int(counts.sum()), len(counts)
    if n_rows > FEW_TO_A_GROUP * n_groups:
        return draw.multinomial(n_rows, counts / n_rows, size=n_draws)
    group_of = np.repeat(np.arange(n_groups), counts)
    cells = group_of[draw.integers(0, n_rows, (n_draws, n_rows))] + n_groups * np.arange(n_draws)[:, None]
    return np.bincount(cells.ravel(), minlength=n_draws * n_groups).reshape(n_draws, n_groups)


def _groups(scores: np.ndarray, is_positive: np.ndarray) -> np.ndarray:
    """Rows by neighbouring scores, cut at quantiles of the positive rows' scores and of all."""
    if len(scores) <= MOST_GROUPS:
        return np.unique(scores, return_inverse=True)[1]
    shares = np.linspace(0, 1, MOST_GROUPS // 2 + 1)[1:-1]
    cuts = np.unique(np.concatenate([np.quantile(scores[is_positive], shares), np.quantile(scores, shares)]))
    return np.unique(np.searchsorted(cuts, scores, side="right"), return_inverse=True)[1]


def _drawn_losses(
    judged: Judged, names: Iterable[str], draw: np.random.Generator, n_draws: int
) -> dict[str, np.ndarray]:
    """Means of a loss per row, drawn from the normal that its rows imply within each class."""
    strata = judged.predicted.truth if judged.n_classes else np.zeros(len(judged.predicted.truth), dtype=int)
    losses = {name: METRICS[name].of_rows(judged) for name in names if METRICS[name].of_rows is not None}
    return {name: _drawn_means(values, strata, draw, n_draws) for name, values in losses.items() if values is not None}


def _drawn_rows(judged: Judged, names: Sequence[str], seed: int, n_draws: int) -> dict[str, np.ndarray]:
    """Any metric of rows drawn one by one: the way of those that no quicker one is known for."""
    if not names:
        return {}
    parts = list(_times(judged.predicted.truth, judged.n_classes, seed, n_draws))
    return {name: np.concatenate([METRICS[name].of_weighted(judged, times) for times in parts]) for name in names}


def _drawn_means(values: np.ndarray, strata: np.ndarray, draw: np.random.Generator, n_draws: int) -> np.ndarray:
    variance = sum(values[strata == k].var() * (strata == k).sum() for k in np.unique(strata)) / len(values) ** 2
    return draw.normal(values.mean(), np.sqrt(variance), n_draws)


def _drawn_regression(predicted: PredictionSet, draw: np.random.Generator, n_draws: int) -> dict[str, np.ndarray]:
    """Metrics of rows drawn in at most 250 blocks, each drawn a whole number of times."""
    errors = predicted.truth - predicted.predictions
    n_blocks = min(len(errors), MOST_GROUPS)
    block = draw.permutation(len(errors)) % n_blocks
    times = draw.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=n_draws).astype(float)
    sums = {
        name: times @ np.bincount(block, weights=values, minlength=n_blocks)
        for name, values in (
            ("n", np.ones(len(errors))),
            ("squared", errors**2),
            ("absolute", np.abs(errors)),
            ("y", predicted.truth),
            ("y2", predicted.truth**2),
        )
    }
    around = sums["y2"] - sums["y"] ** 2 / sums["n"]
    found = {
        "root_mean_squared_error": np.sqrt(sums["squared"] / sums["n"]),
        "mean_absolute_error": sums["absolute"] / sums["n"],
        "median_absolute_error": _drawn_medians(np.abs(errors), draw, n_draws),
    }
    if (around > 0).all():
        found["r2"] = 1 - sums["squared"] / around
    return found


def _drawn_medians(values: np.ndarray, draw: np.random.Generator, n_draws: int) -> np.ndarray:
    """The median of a sample drawn with replacement is the order statistic at a beta-distributed place."""
    n = len(values)
    share = draw.beta((n + 1) / 2, (n + 1) / 2, size=n_draws)
    return np.sort(values)[np.minimum((share * n).astype(int), n - 1)]


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
    strata = truth if n_classes else np.zeros(len(truth), dtype=int)
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
