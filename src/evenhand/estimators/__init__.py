"""Scikit-learn-compatible parts that scikit-learn lacks; each is imported when it is first named."""

from importlib import import_module
from typing import Any

HOMES = {
    "similarity_matrix": "similarity",
    "SimilaritySVC": "similarity_svm",
    "SimilaritySVR": "similarity_svm",
    "TableKernelSVC": "table_kernel",
    "TableKernelSVR": "table_kernel",
    "BudgetSVC": "budget_svm",
    "MDLPDiscretizer": "mdlp",
    "CategoryGrouper": "grouping",
    "EvidenceEncoder": "evidence",
    "MixedNB": "mixed_nb",
    "SelectiveNB": "selective_nb",
    "IntervalNBRegressor": "interval_nb",
    "EnsembleSelection": "ensemble",
    "CutPoints": "binning",
    "TopValues": "top_values",
    "inverse_square": "distances",
    "OutlierClassifier": "outlier",
    "OrdinaryLeastSquares": "ols",
    "ColumnWeights": "weights",
    "ForestRanking": "forest_ranking",
}
__all__ = sorted(HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
