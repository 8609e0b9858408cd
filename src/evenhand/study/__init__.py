"""The study file: settings, the loader that knows the line of each mistake, validation, schema and schedules.

Not here: data that a study names (data), and models that its names stand for (models).
"""

__all__ = [
    "cron",
    "data",
    "loader",
    "mistakes",
    "models",
    "monitoring",
    "own_code",
    "registry",
    "serving",
    "setting_types",
    "source_entries",
    "study",
    "validation",
    "yaml_bounds",
    "yaml_values",
]
