"""Paired tests, intervals, corrections, drift, ranks, thresholds and power: pure functions of arrays.

Not here: anything that knows a model, a study or a table.
"""

from evenhand.statistics.auc import (
    auc_by_chance,
    auc_interval,
    auc_power,
    auc_variance,
    delong,
    delong_p_values,
    delong_test,
    wilson_interval,
)
from evenhand.statistics.comparisons import (
    BestGroup,
    best_group,
    corrected_resampled_t,
    holm,
    mcnemar,
    power_of,
    spend_alpha,
)
from evenhand.statistics.drift import (
    Drift,
    binned_counts,
    counts_between,
    drift,
    jensen_shannon,
    odds_shift,
    quantile_edges,
    share_shifts,
    stability_index,
)
from evenhand.statistics.ranks import StudyRanking, critical_difference, friedman_nemenyi
from evenhand.statistics.records import Comparison, Interval

__all__ = [
    "BestGroup",
    "Comparison",
    "Drift",
    "Interval",
    "StudyRanking",
    "auc_by_chance",
    "auc_interval",
    "auc_power",
    "auc_variance",
    "best_group",
    "binned_counts",
    "corrected_resampled_t",
    "counts_between",
    "critical_difference",
    "delong",
    "delong_p_values",
    "delong_test",
    "drift",
    "friedman_nemenyi",
    "holm",
    "jensen_shannon",
    "mcnemar",
    "odds_shift",
    "power_of",
    "quantile_edges",
    "share_shifts",
    "spend_alpha",
    "stability_index",
    "wilson_interval",
]
