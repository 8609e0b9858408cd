"""The nouns that tasks pass around: small frozen records of facts, digests and references.

Not here: anything that computes; a record only reads its own fields.
"""

__all__ = [
    "checks",
    "comparison",
    "decision",
    "failures",
    "fit_budget",
    "leaderboard",
    "pipeline",
    "reference",
    "regression",
    "report",
    "standing",
    "tuning",
]
