"""Why a model predicts what it does and for which rows it does worse, and what each column is worth to it.

Nothing here fits a model or reads the store: a fitted model, rows and predictions come in, small records go out.
"""

__all__ = ["answers", "effects", "lift", "permutation_importance", "reasons", "slices"]
