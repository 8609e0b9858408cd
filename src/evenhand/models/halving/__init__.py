"""Successive halving over candidates: which of them go on to more rows in the time that a study gives.

Not here: fitting them (tasks), and the search for the parameters of one candidate (successive_halving).
"""

__all__ = ["share", "under_way"]
