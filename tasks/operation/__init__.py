"""The stages beside a run: ticks of a schedule, a study that is unchanged, new rows and delayed labels."""

__all__ = [
    "feedback",
    "recalling",
    "ticking",
    "watching",
]
