"""How good predictions are: metrics with their intervals, comparisons, calibration, thresholds, leakage checks.

Not here: fitting (models), statistics of plain arrays (statistics), and where figures are kept (tracking).
"""

from importlib import import_module
from typing import Any

__all__ = [
    "MetricEntry",
    "bootstrap",
    "calibrated_scores",
    "calibration",
    "class_report",
    "curves",
    "leakage_gate",
    "metric_entries",
    "metrics",
    "paired_comparison",
    "permutation_importance",
    "prediction_profile",
    "predictions",
    "resampling_effect",
    "target_leakage",
    "threshold_objectives",
]


def __getattr__(name: str) -> Any:
    if name != "MetricEntry":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.metric_entries").MetricEntry
