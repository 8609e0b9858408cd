"""From the name of a model to a fitted pipeline that takes raw rows, and that pipeline as a file.

Not here: the estimators themselves (estimators), how good a model is (evaluation), who is champion (tracking).
"""

__all__ = [
    "acceleration",
    "batch_scorer",
    "catalogue",
    "encoder",
    "ensembling",
    "fitting",
    "inner_folds",
    "probability_map",
    "raw_row_model",
    "sampler_lineage",
    "samplers",
    "search_space",
    "serialization",
    "successive_halving",
]
