"""Two models on the same rows: how much better the first is in a metric, and how sure that is."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from evenhand.evaluation.bootstrap import N_DRAWS, drawn_pair
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.records.comparison import HOLDOUT, Gap, Rival
from evenhand.statistics import Interval, PairedDifference, delong_test, holm
from evenhand.study.registry import LOWER_IS_BETTER

ALPHA = 0.05
MOST_DRAWS, FEWEST_DRAWS, DRAWN_CELLS = 2000, 400, 20_000_000


def paired(
    first: PredictionSet, second: PredictionSet, metrics: Iterable[str], n_classes: int, *, n_draws: int = N_DRAWS
) -> dict[str, PairedDifference]:
    """For each metric that both give, by how much the first is better: DeLong for areas, else the paired bootstrap."""
    minority = minority_of(first, n_classes)
    known = [metrics_of(each, n_classes, minority) for each in (first, second)]
    found: dict[str, PairedDifference] = {}
    for metric in metrics:
        if all(metric in figures for figures in known):
            compared = _paired(first, second, metric, (n_classes, minority), n_draws)
            found |= {metric: compared} if compared is not None else {}
    return found


def _paired(
    first: PredictionSet, second: PredictionSet, metric: str, classes: tuple[int, int], n_draws: int
) -> PairedDifference | None:
    if metric == "roc_auc" and first.ranks is not None and second.ranks is not None:
        return delong_test(first.truth, first.ranks, second.ranks)
    drawn = drawn_pair(first, second, metric, *classes, n_draws=n_draws)
    seen = [metrics_of(each, *classes)[metric] for each in (first, second)]
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    return bootstrapped(sign * (seen[0] - seen[1]), sign * (drawn[:, 0] - drawn[:, 1]))


def bootstrapped(difference: float, gaps: np.ndarray, level: float = 0.95) -> PairedDifference | None:
    """A difference with the percentile interval of its paired draws; None where a draw could not be measured."""
    if not np.isfinite(gaps).all():
        return None
    smaller = min((gaps <= 0).sum(), (gaps >= 0).sum())
    p_value = min(1.0, 2 * (smaller + 1) / (len(gaps) + 1))
    tail = 50 * (1 - level)
    low, high = np.percentile(gaps, [tail, 100 - tail])
    deviation = float(gaps.std(ddof=1))
    statistic = difference / deviation if deviation > 0 else 0.0
    return PairedDifference(
        float(difference), Interval(float(low), float(high), level), statistic, float(p_value), "paired bootstrap"
    )


def minority_of(each: PredictionSet, n_classes: int) -> int:
    """The class that fewest of the rows belong to; 0 where numbers or labels are predicted."""
    return int(np.argmin(np.bincount(each.truth.astype(int)))) if n_classes and not each.is_multilabel else 0


def predict_the_same(first: PredictionSet, other: PredictionSet) -> bool:
    """Whether two models predict exactly the same for every row."""
    if not np.array_equal(first.predictions, other.predictions):
        return False
    if first.scores is None or other.scores is None:
        return first.scores is other.scores
    return np.array_equal(first.scores, other.scores)


def gaps_of(first: PredictionSet, other: PredictionSet, metrics: Sequence[str], n_classes: int) -> list[Gap]:
    """By how much the other is better, in each metric that both give on these rows."""
    if n_classes and len(np.unique(first.truth)) < 2:
        return []
    n_draws = int(np.clip(DRAWN_CELLS // len(first.truth), FEWEST_DRAWS, MOST_DRAWS))
    compared = paired(other, first, metrics, n_classes, n_draws=n_draws)
    minority = minority_of(first, n_classes)
    mine, theirs = (metrics_of(each, n_classes, minority) for each in (first, other))
    return [gap(name, HOLDOUT, (mine[name], theirs[name]), each) for name, each in compared.items()]


def gap(metric: str, where: str, figures: tuple[float, float], found: PairedDifference) -> Gap:
    """A comparison of two figures, the first run's and the other's, as a record."""
    low, high = found.interval.low, found.interval.high
    return Gap(metric, where, *figures, found.difference, low, high, found.p_value, found.method)


def corrected(rivals: tuple[Rival, ...]) -> tuple[Rival, ...]:
    """The rivals with p-values after Holm, over all that are set against the first in the same metric and place."""
    gaps = [gap for rival in rivals for gap in rival.gaps]
    for metric, where in dict.fromkeys((gap.metric, gap.where) for gap in gaps):
        family = [k for k, gap in enumerate(gaps) if (gap.metric, gap.where) == (metric, where)]
        for k, p_value in zip(family, holm([gaps[k].p_value for k in family]), strict=True):
            gaps[k] = replace(gaps[k], p_value=float(p_value))
    left = iter(gaps)
    return tuple(replace(rival, gaps=tuple(next(left) for _ in rival.gaps)) for rival in rivals)
