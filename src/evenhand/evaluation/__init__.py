"""How good predictions are: metrics with their intervals, comparisons, calibration, thresholds, leakage checks.

Not here: fitting (models), statistics of plain arrays (statistics), and where figures are kept (tracking).
"""

from importlib import import_module
from typing import Any

__all__ = [
    "CheckEntry",
    "MetricEntry",
    "bootstrap",
    "calibrated_scores",
    "calibration",
    "class_report",
    "curves",
    "leakage",
    "metric_entries",
    "metrics",
    "new_row_limits",
    "new_rows",
    "paired_comparison",
    "prediction_profile",
    "predictions",
    "resampling_effect",
    "threshold_objectives",
]


def __getattr__(name: str) -> Any:
    homes = {"MetricEntry": "metric_entries", "CheckEntry": "leakage.entry"}
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{homes[name]}"), name)
