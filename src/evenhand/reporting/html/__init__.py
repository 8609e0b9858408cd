"""The page of a run: one HTML file that needs no network, no other file and, to be read, no script."""

__all__ = [
    "build",
    "build_tuning",
    "chart",
    "charts_classification",
    "charts_regression",
    "content",
    "elements",
    "figures",
    "leaderboard",
    "report",
    "resampling",
    "svg",
    "tables",
]
