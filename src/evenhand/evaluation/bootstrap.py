"""How far every metric would move if the judged rows were drawn anew: the bootstrap, stratified by class, vectorised.

Drawing rows with replacement within a class draws the cells of that class's row of the confusion table from a
multinomial, so threshold metrics need no row-wise draws. Ranking metrics are drawn over at most 250 groups of rows with
neighbouring scores in each class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.evaluation.metrics import PredictionSet, confusion, metrics_of

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
    draw = np.random.default_rng(seed)
    if n_classes == 0:
        drawn = _drawn_regression(predicted, draw, n_draws)
    else:
        drawn = _drawn_tables(confusion(predicted.truth, predicted.predictions, n_classes), minority, draw, n_draws)
        drawn |= _drawn_rankings(predicted, n_classes, draw, n_draws)
        drawn |= _drawn_losses(predicted, draw, n_draws)
    return _spreads({name: drawn[name] for name in known if name in drawn}, level)


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


def _drawn_tables(table: np.ndarray, minority: int, draw: np.random.Generator, n_draws: int) -> dict[str, np.ndarray]:
    """Threshold metrics of confusion tables drawn class by class."""
    sizes = table.sum(axis=1)
    rows = [
        draw.multinomial(n, row / n, size=n_draws) if n else np.zeros((n_draws, len(table)), dtype=int)
        for n, row in zip(sizes, table, strict=True)
    ]
    return figures_of_tables(np.stack(rows, axis=1).astype(float), minority)


def figures_of_tables(tables: np.ndarray, minority: int) -> dict[str, np.ndarray]:
    """Threshold metrics of many confusion tables, of shape (n_tables, n_classes, n_classes)."""
    right, flagged, true = np.einsum("dkk->dk", tables), tables.sum(axis=1), tables.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        recall, precision = right / true, np.where(flagged > 0, right / flagged, 0.0)
        f1 = np.where(flagged + true > 0, 2 * right / (flagged + true), 0.0)
        mcc = _matthews(tables, flagged, true)
    n, is_there = tables.sum(axis=(1, 2)), true.sum(axis=0) > 0
    found = {
        "accuracy": right.sum(axis=1) / n,
        "balanced_accuracy": recall[:, is_there].mean(axis=1),
        "minority_accuracy": recall[:, minority],
        "matthews_corrcoef": mcc,
    }
    for name, each in (("precision", precision), ("recall", np.nan_to_num(recall)), ("f1", f1)):
        found[name] = each[:, min(1, each.shape[1] - 1)]
        found[f"{name}_macro"] = each[:, is_there].mean(axis=1)
        found[f"{name}_weighted"] = (each * true).sum(axis=1) / n
    return found


def _matthews(tables: np.ndarray, flagged: np.ndarray, true: np.ndarray) -> np.ndarray:
    n = tables.sum(axis=(1, 2))
    above = np.einsum("dkk->d", tables) * n - np.einsum("dk,dk->d", flagged, true)
    below = np.sqrt(n**2 - (flagged**2).sum(axis=1)) * np.sqrt(n**2 - (true**2).sum(axis=1))
    return np.where(below > 0, above / below, 0.0)


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


def _drawn_losses(predicted: PredictionSet, draw: np.random.Generator, n_draws: int) -> dict[str, np.ndarray]:
    """Means of a loss per row, drawn from the normal that its rows imply within each class."""
    return {name: _drawn_means(values, predicted.truth, draw, n_draws) for name, values in _losses(predicted).items()}


def _losses(predicted: PredictionSet) -> dict[str, np.ndarray]:
    """The loss of every row, where the scores are probabilities."""
    if predicted.scores is None or not predicted.is_probability:
        return {}
    tiny = np.finfo(np.float64).eps
    if predicted.scores.ndim == 1:
        chance = np.where(predicted.truth == 1, predicted.scores, 1 - predicted.scores)
        return {"log_loss": -np.log(np.clip(chance, tiny, 1)), "brier_score_loss": (1 - chance) ** 2}
    shares = predicted.scores / predicted.scores.sum(axis=1, keepdims=True)
    return {"log_loss": -np.log(np.clip(shares[np.arange(len(predicted.truth)), predicted.truth], tiny, 1))}


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
    n_rows = len(first.truth)
    strata = first.truth if n_classes else np.zeros(n_rows, dtype=int)
    draw, block = np.random.default_rng(seed), max(1, CELLS // n_rows)
    parts = []
    for start in range(0, n_draws, block):
        times = times_drawn(strata, min(block, n_draws - start), draw)
        parts.append([weighted(predicted, metric, n_classes, minority, times) for predicted in (first, second)])
    return np.concatenate([np.column_stack(part) for part in parts])


def times_drawn(strata: np.ndarray, n_draws: int, draw: np.random.Generator) -> np.ndarray:
    """How often each row is drawn, for every draw, with replacement within its stratum."""
    times = np.zeros((n_draws, len(strata)))
    for k in np.unique(strata):
        rows = np.flatnonzero(strata == k)
        for one in times:
            one[rows] = np.bincount(draw.integers(0, len(rows), len(rows)), minlength=len(rows))
    return times


def weighted(predicted: PredictionSet, metric: str, n_classes: int, minority: int, times: np.ndarray) -> np.ndarray:
    """A metric of rows that count as often as each line of `times` says; NaN where the model cannot have it."""
    if n_classes == 0:
        return _weighted_regression(predicted, metric, times)
    if metric in {"roc_auc", "average_precision"}:
        return _weighted_ranking(predicted, metric, times)
    if metric in {"log_loss", "brier_score_loss"}:
        loss = _losses(predicted).get(metric)
        return np.full(len(times), np.nan) if loss is None else times @ loss / times.sum(axis=1)
    if metric.startswith("roc_auc_ovr"):
        return _weighted_areas(predicted, n_classes, times, is_weighted=metric.endswith("_weighted"))
    cells = predicted.truth.astype(int) * n_classes + predicted.predictions.astype(int)
    counted = np.stack([times[:, cells == cell].sum(axis=1) for cell in range(n_classes**2)], axis=1)
    found = figures_of_tables(counted.reshape(-1, n_classes, n_classes), minority)
    return found.get(metric, np.full(len(times), np.nan))


def _weighted_areas(predicted: PredictionSet, n_classes: int, times: np.ndarray, *, is_weighted: bool) -> np.ndarray:
    """The mean over classes of the area of each against the rest, by how many rows each has or alike."""
    if predicted.scores is None or predicted.scores.ndim != 2:
        return np.full(len(times), np.nan)
    sides = [
        PredictionSet((predicted.truth == k).astype(int), predicted.predictions, predicted.scores[:, k])
        for k in range(n_classes)
    ]
    areas = np.stack([_weighted_ranking(side, "roc_auc", times) for side in sides])
    return np.average(areas, axis=0, weights=np.bincount(predicted.truth, minlength=n_classes) if is_weighted else None)


def _weighted_ranking(predicted: PredictionSet, metric: str, times: np.ndarray) -> np.ndarray:
    if predicted.ranks is None:
        return np.full(len(times), np.nan)
    order = np.argsort(-predicted.ranks, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(predicted.ranks[order])), len(order) - 1)
    times, is_positive = times[:, order], predicted.truth[order] == 1
    seen = times.cumsum(axis=1)[:, ends]
    seen_up = (times * is_positive).cumsum(axis=1)[:, ends]
    ups, seen_down = np.diff(seen_up, prepend=0, axis=1), seen - seen_up
    if metric == "average_precision":
        with np.errstate(invalid="ignore"):
            precision = np.where(seen > 0, seen_up / seen, 0.0)
        return (ups * precision).sum(axis=1) / seen_up[:, -1]
    downs = np.diff(seen_down, prepend=0, axis=1)
    below = seen_down[:, -1:] - seen_down
    return (ups * (below + downs / 2)).sum(axis=1) / (seen_up[:, -1] * seen_down[:, -1])


def _weighted_regression(predicted: PredictionSet, metric: str, times: np.ndarray) -> np.ndarray:
    errors, n = predicted.truth - predicted.predictions, times.sum(axis=1)
    if metric == "median_absolute_error":
        return np.array([np.median(np.repeat(np.abs(errors), np.rint(row).astype(int))) for row in times])
    if metric == "mean_absolute_error":
        return times @ np.abs(errors) / n
    squared = times @ errors**2
    if metric == "root_mean_squared_error":
        return np.sqrt(squared / n)
    return 1 - squared / (times @ predicted.truth**2 - (times @ predicted.truth) ** 2 / n)
