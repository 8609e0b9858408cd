"""Verdicts, paired tests, intervals, corrections, drift, ranks, thresholds and power: pure functions of arrays.

Not here: anything that knows a model, a study or a table.
"""

from evenhand.statistics.against_best import GapToBest, verdicts
from evenhand.statistics.auc import (
    auc_by_chance,
    auc_interval,
    auc_power,
    auc_variance,
    delong,
    delong_test,
    wilson_interval,
)
from evenhand.statistics.comparisons import (
    corrected_resampled_t,
    holm,
    power_of,
    spend_alpha,
)
from evenhand.statistics.drift import (
    Drift,
    counts_between,
    drift,
    jensen_shannon,
    odds_shift,
    quantile_edges,
    share_shifts,
    stability_index,
)
from evenhand.statistics.expected import expected_of_chosen
from evenhand.statistics.joint import FoldInfluence, JointFigures, joint_figures
from evenhand.statistics.normal_quantiles import NormalQuantiles, normal_quantiles
from evenhand.statistics.ranks import StudyRanking, critical_difference, friedman_nemenyi
from evenhand.statistics.records import Interval, PairedDifference

__all__ = [
    "Drift",
    "FoldInfluence",
    "GapToBest",
    "Interval",
    "JointFigures",
    "NormalQuantiles",
    "PairedDifference",
    "StudyRanking",
    "auc_by_chance",
    "auc_interval",
    "auc_power",
    "auc_variance",
    "corrected_resampled_t",
    "counts_between",
    "critical_difference",
    "delong",
    "delong_test",
    "drift",
    "expected_of_chosen",
    "friedman_nemenyi",
    "holm",
    "jensen_shannon",
    "joint_figures",
    "normal_quantiles",
    "odds_shift",
    "power_of",
    "quantile_edges",
    "share_shifts",
    "spend_alpha",
    "stability_index",
    "verdicts",
    "wilson_interval",
]
