"""MLflow and the champion: runs and their comparison, the model registry, the promotion gate and its ledger.

Not here: Prefect (service), figures (reporting), and how a metric is computed (evaluation).
"""

__all__ = [
    "champion",
    "champion_ledger",
    "databases",
    "history",
    "leaderboards",
    "locations",
    "mlflow_client",
    "mlflow_pages",
    "model_registry",
    "model_serving",
    "past_run",
    "promotion_gate",
    "recorded_models",
    "references",
    "reload_check",
    "rescore",
    "run_comparison",
    "run_names",
    "ui",
    "unseen_rows",
]
