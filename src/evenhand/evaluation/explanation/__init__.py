"""Why a model predicts what it does and for which rows it does worse; what columns are worth is one floor up.

Nothing here fits a model or reads the store: a fitted model, rows and predictions come in, small records go out.
"""

__all__ = ["answers", "effects", "lift", "reasons", "slices"]
