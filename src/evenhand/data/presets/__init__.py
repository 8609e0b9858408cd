"""Presets: which candidates, encodings and minutes `init` writes, chosen on development sets (portfolio.yaml).

Not here: looking at data (study_proposal) and the rest of the study file (study_template).
"""

__all__ = ["balances", "lines", "portfolio", "profile"]
