"""A run that is being recorded against those before it; `run_comparison` one floor up takes recorded runs."""

from evenhand.tracking.since.differences import since_runs

__all__ = ["since_runs"]
