"""The study file: settings, the loader that knows the line of each mistake, validation, schema and schedules.

Not here: data that a study names (data), and models that its names stand for (models).
"""

__all__ = [
    "base",
    "cron",
    "data",
    "loader",
    "mistakes",
    "models",
    "monitoring",
    "registry",
    "serving",
    "study",
    "validation",
]
