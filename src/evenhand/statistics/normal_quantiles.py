"""Values against the quantiles of a normal law: what a Q-Q plot shows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class NormalQuantiles:
    """Standardized values in rising order beside what a normal law expects of each, with its 95 % interval.

    Of many values some are left out, evenly along the quantiles; the outermost are always among those kept.
    """

    expected: tuple[float, ...]
    observed: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n_rows: int


def normal_quantiles(values: Any, most: int = 400) -> NormalQuantiles:
    """At most `most` of the values, standardized, beside the quantiles at (i - 1/2) / n.

    The interval is that of the i-th smallest of n normal values, whose share below is Beta(i, n + 1 - i).
    """
    values = np.sort(np.asarray(values, dtype=float))
    n, spread = len(values), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    observed = (values - values.mean()) / spread if spread > 0 else np.zeros(n)
    edge = stats.norm.ppf(0.5 / n)
    ranks = np.arange(n) if n <= most else np.round(stats.norm.cdf(np.linspace(edge, -edge, most)) * n - 0.5)
    kept = np.unique(np.clip(ranks.astype(int), 0, n - 1))
    order = kept + 1
    low, high = (stats.norm.ppf(stats.beta.ppf(share, order, n + 1 - order)) for share in (0.025, 0.975))
    columns = (stats.norm.ppf((kept + 0.5) / n), observed[kept], low, high)
    expected, given, low, high = (tuple(map(float, each)) for each in columns)
    return NormalQuantiles(expected, given, low, high, n)
