"""Bootstrap of rows within strata: intervals and paired comparisons for any metric, with a fast path for the AUC."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import norm, t

from evenhand._statistics_records import Comparison, Interval, codes_of_two

Metric = Callable[..., float] | str
CELLS = 4_000_000


def bootstrap_figures(
    metric: Metric,
    y: np.ndarray,
    columns: list[np.ndarray],
    *,
    strata: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    n_draws: int = 2000,
    seed: int = 0,
) -> np.ndarray:
    """Return the metric of each score column on each draw of rows, of shape (n_draws, n_columns).

    Rows are drawn with replacement within each stratum, the values of y unless given; all columns see the same draws.
    `metric` is a function of (y, scores), with `sample_weight` if weights are given, or "roc_auc".
    """
    y = np.asarray(y)
    places = _stratum_rows(y if strata is None else np.asarray(strata))
    draws = _draws(places, n_draws, np.random.default_rng(seed), max(1, CELLS // len(y)))
    if metric == "roc_auc":
        areas = [_SortedArea(y, column, sample_weight) for column in columns]
        parts = [np.column_stack([area.of_draws(rows) for area in areas]) for rows in draws]
        return np.vstack(parts)
    chosen = (rows for block in draws for rows in block)
    return np.array([[_figure(metric, y, column, sample_weight, rows) for column in columns] for rows in chosen])


def bootstrap_interval(
    metric: Metric, y: np.ndarray, scores: np.ndarray, *, level: float = 0.95, **options: object
) -> Interval:
    """Return the expanded percentile interval of a metric over stratified draws; options as in `bootstrap_figures`.

    Draws from n rows vary by (n - 1) / n less than the rows themselves and know no uncertainty of their spread; the
    percentiles are taken further out by both, with n the smallest stratum: Hesterberg (2015), American Statistician 69.
    """
    figures = bootstrap_figures(metric, y, [np.asarray(scores)], **options)[:, 0]  # type: ignore[arg-type]
    return _percentiles(figures, level, _smallest_stratum(y, options))


def paired_bootstrap(
    metric: Metric, y: np.ndarray, first: np.ndarray, second: np.ndarray, *, level: float = 0.95, **options: object
) -> Comparison:
    """Compare a metric of two scores on the same draws of rows; options as in `bootstrap_figures`.

    The p-value doubles the smaller share of draws on either side of no difference, with one added to count and number
    so that it is never 0, and is expanded as the interval is; the statistic is the difference over its deviation.
    """
    columns = [np.asarray(first), np.asarray(second)]
    figures = bootstrap_figures(metric, y, columns, **options)  # type: ignore[arg-type]
    rows, weight = np.arange(len(y)), options.get("sample_weight")
    seen = [_whole(metric, np.asarray(y), column, weight, rows) for column in columns]
    gaps = figures[:, 0] - figures[:, 1]
    n_rows = _smallest_stratum(y, options)
    smaller = min((gaps <= 0).sum(), (gaps >= 0).sum())
    raw = min(1.0, 2 * (smaller + 1) / (len(gaps) + 1))
    p_value = 2 * t.sf(norm.isf(raw / 2) * np.sqrt((n_rows - 1) / n_rows), n_rows - 1)
    deviation = gaps.std(ddof=1)
    statistic = float((seen[0] - seen[1]) / deviation) if deviation > 0 else 0.0
    interval = _percentiles(gaps, level, n_rows)
    return Comparison(seen[0] - seen[1], interval, statistic, float(p_value), "paired bootstrap")


def _smallest_stratum(y: np.ndarray, options: dict[str, object]) -> int:
    strata = options.get("strata")
    _, counts = np.unique(np.asarray(y if strata is None else strata), return_counts=True)
    return max(2, int(counts.min()))


def _percentiles(figures: np.ndarray, level: float, n_rows: int) -> Interval:
    tail = norm.sf(np.sqrt(n_rows / (n_rows - 1)) * t.ppf(0.5 + level / 2, n_rows - 1))
    low, high = np.quantile(figures, [tail, 1 - tail])
    return Interval(float(low), float(high), level)


def _stratum_rows(strata: np.ndarray) -> list[np.ndarray]:
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])


def _draws(places: list[np.ndarray], n_draws: int, draw: np.random.Generator, block: int) -> Iterator[np.ndarray]:
    for start in range(0, n_draws, block):
        size = min(block, n_draws - start)
        yield np.hstack([rows[draw.integers(0, len(rows), (size, len(rows)))] for rows in places])


def _figure(metric: Metric, y: np.ndarray, column: np.ndarray, weight: np.ndarray | None, rows: np.ndarray) -> float:
    options = {} if weight is None else {"sample_weight": weight[rows]}
    return metric(y[rows], column[rows], **options)  # type: ignore[operator]


def _whole(metric: Metric, y: np.ndarray, column: np.ndarray, weight: object, rows: np.ndarray) -> float:
    known = None if weight is None else np.asarray(weight)
    if metric == "roc_auc":
        return float(_SortedArea(y, column, known).of_draws(rows[None, :])[0])
    return float(_figure(metric, y, column, known, rows))


class _SortedArea:
    """Areas of draws of rows of one score: each distinct score is one cell for positives and one for negatives."""

    def __init__(self, y: np.ndarray, scores: np.ndarray, weight: np.ndarray | None) -> None:
        values, level = np.unique(scores, return_inverse=True)
        self.n_levels = len(values)
        self.cell = np.where(codes_of_two(y), level, level + self.n_levels)
        self.weight = None if weight is None else np.asarray(weight, dtype=float)

    def of_draws(self, draws: np.ndarray) -> np.ndarray:
        return np.array([self._of_draw(rows) for rows in draws])

    def _of_draw(self, rows: np.ndarray) -> float:
        weight = None if self.weight is None else self.weight[rows]
        mass = np.bincount(self.cell[rows], weight, 2 * self.n_levels)
        ups, downs = mass[: self.n_levels].astype(float), mass[self.n_levels :]
        below = np.cumsum(downs) - downs / 2
        # no BLAS product: its threads cost more than they save on one row of cells
        return float((ups * below).sum() / (ups.sum() * downs.sum()))
