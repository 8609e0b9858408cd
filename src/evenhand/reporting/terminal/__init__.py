"""Leaderboards, comparisons and drift as lines on a terminal."""

__all__ = [
    "comparison",
    "monitoring",
    "run",
    "waiting",
]
