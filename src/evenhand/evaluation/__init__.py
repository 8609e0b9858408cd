"""How good predictions are: metrics with their intervals, comparisons, calibration, thresholds, leakage checks.

Not here: fitting (models), statistics of plain arrays (statistics), and where figures are kept (tracking).
"""

__all__ = [
    "bootstrap",
    "calibrated_scores",
    "calibration",
    "class_report",
    "curves",
    "leakage_gate",
    "metrics",
    "paired_comparison",
    "permutation_importance",
    "prediction_profile",
    "predictions",
    "resampling_effect",
    "target_leakage",
    "threshold_objectives",
]
