"""Two models on the same rows: how much better the first is in a metric, and how sure that is."""

from collections.abc import Iterable

import numpy as np

from evenhand.intervals import N_DRAWS, drawn_pair
from evenhand.metrics import Told, metrics_of
from evenhand.statistics import Comparison, Interval, delong_test
from evenhand.vocabulary import LOWER_IS_BETTER


def paired(
    first: Told, second: Told, metrics: Iterable[str], n_classes: int, *, n_draws: int = N_DRAWS
) -> dict[str, Comparison]:
    """For each metric that both give, by how much the first is better: DeLong for areas, else the paired bootstrap."""
    minority = int(np.argmin(np.bincount(first.truth.astype(int)))) if n_classes else 0
    known = [metrics_of(told, n_classes, minority) for told in (first, second)]
    found = {}
    for metric in metrics:
        if all(metric in figures for figures in known):
            compared = _paired(first, second, metric, (n_classes, minority), n_draws)
            found |= {metric: compared} if compared is not None else {}
    return found


def _paired(first: Told, second: Told, metric: str, classes: tuple[int, int], n_draws: int) -> Comparison | None:
    if metric == "roc_auc" and first.ranks is not None and second.ranks is not None:
        return delong_test(first.truth, first.ranks, second.ranks)
    drawn = drawn_pair(first, second, metric, *classes, n_draws=n_draws)
    seen = [metrics_of(told, *classes)[metric] for told in (first, second)]
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    return bootstrapped(sign * (seen[0] - seen[1]), sign * (drawn[:, 0] - drawn[:, 1]))


def bootstrapped(difference: float, gaps: np.ndarray, level: float = 0.95) -> Comparison | None:
    """A difference with the percentile interval of its paired draws; None where a draw could not be measured."""
    if not np.isfinite(gaps).all():
        return None
    smaller = min((gaps <= 0).sum(), (gaps >= 0).sum())
    p_value = min(1.0, 2 * (smaller + 1) / (len(gaps) + 1))
    tail = 50 * (1 - level)
    low, high = np.percentile(gaps, [tail, 100 - tail])
    deviation = float(gaps.std(ddof=1))
    statistic = difference / deviation if deviation > 0 else 0.0
    return Comparison(
        float(difference), Interval(float(low), float(high), level), statistic, float(p_value), "paired bootstrap"
    )
