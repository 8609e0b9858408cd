"""The stages of a model in use: ticks of a schedule, new rows and delayed labels."""

__all__ = [
    "feedback",
    "ticking",
    "watching",
]
