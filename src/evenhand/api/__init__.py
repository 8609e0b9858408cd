"""The Python API, one module a noun: what the command line can, a program or a notebook can, and the other way round.

Users take all of it from `evenhand` itself: `import evenhand as eh`. Modules import what they stand on when they are
called, so that nothing slow is loaded and nothing is configured before.

Not here: how any of it is done (flows and tasks), nor what is printed (cli).
"""

__all__ = [
    "champions",
    "comparisons",
    "drafts",
    "frames",
    "health",
    "launch",
    "leaderboards",
    "models",
    "monitoring",
    "pages",
    "plots",
    "progress",
    "replications",
    "runs",
    "schedules",
    "servers",
    "slices",
    "stores",
    "studies",
]
