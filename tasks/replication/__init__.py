"""The stages of replicating published figures, one verb per function."""

__all__ = [
    "beyond",
    "draws",
    "measure",
    "record",
    "repeats",
    "upselling",
]
