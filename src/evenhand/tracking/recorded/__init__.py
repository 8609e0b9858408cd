"""What was recorded in MLflow, read back. Nothing here writes."""

__all__ = ["run_reader"]
