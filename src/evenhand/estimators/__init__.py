"""Scikit-learn-compatible parts that scikit-learn lacks; each is imported when it is first named."""

from importlib import import_module
from typing import Any

HOMES = {
    "similarity_matrix": "machines.similarity",
    "SimilaritySVC": "machines.similarity_svm",
    "SimilaritySVR": "machines.similarity_svm",
    "TableKernelSVC": "machines.table_kernel",
    "TableKernelSVR": "machines.table_kernel",
    "BudgetSVC": "machines.budget_svm",
    "MDLPDiscretizer": "encoding.mdlp",
    "CategoryGrouper": "encoding.grouping",
    "EvidenceEncoder": "encoding.evidence",
    "MixedNB": "naive_bayes.mixed_nb",
    "SelectiveNB": "naive_bayes.selective_nb",
    "IntervalNBRegressor": "naive_bayes.interval_nb",
    "EnsembleSelection": "ensemble.selection",
    "CutPoints": "encoding.binning",
    "TopValues": "encoding.top_values",
    "inverse_square": "distances",
    "OutlierClassifier": "outlier",
    "OrdinaryLeastSquares": "ols",
    "ColumnWeights": "encoding.column_weights",
    "ForestRanking": "encoding.forest_ranking",
}
__all__ = sorted(HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
