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
    "own_code",
    "registry",
    "serving",
    "source_entries",
    "study",
    "validation",
    "yaml_bounds",
]
