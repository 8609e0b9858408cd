"""Within which limits a figure may lie: any at all, and that of as few new rows as somebody has."""

from math import hypot, inf

from evenhand.records.verdicts import Expected
from evenhand.study.registry import LOWER_IS_BETTER

Z_95 = 1.96
SHARES = ("roc_auc", "average_precision", "accuracy", "balanced_accuracy", "f1", "precision", "recall", "jaccard")


def bounds_of(metric: str) -> tuple[float, float]:
    """Between which values a metric can lie."""
    least = 0.0 if metric.startswith(SHARES) else -inf
    return (0.0, inf) if metric in LOWER_IS_BETTER else (least, 1.0)


def of_new_rows(expected: Expected, n_rows: int) -> tuple[float, float, float]:
    """The figure of so many new rows, and the limits within which it lies in 95 of 100 cases."""
    middle, drawn = expected.estimate + expected.row_bias / n_rows, Z_95 * expected.row_error / n_rows**0.5
    half = hypot(max(expected.high - expected.estimate, expected.estimate - expected.low), drawn)
    least, most = bounds_of(expected.metric)
    middle = min(max(middle, least), most)
    return middle, max(middle - half, least), min(middle + half, most)
