"""The sections of the page that say why, for whom, how sure of more rows, what changed, and what the data holds."""

__all__ = ["data", "history", "more", "slices", "why"]
