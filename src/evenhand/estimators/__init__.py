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
    "LeastSquaresSVC": "kernel_matrix.least_squares_svm",
    "LeastSquaresSVR": "kernel_matrix.least_squares_svm",
    "RelevanceVectorClassifier": "kernel_matrix.relevance_vector",
    "RelevanceVectorRegressor": "kernel_matrix.relevance_vector",
    "Rbf": "machines.kernels",
    "Linear": "machines.kernels",
    "Similarity": "machines.kernels",
    "OnColumns": "machines.kernels",
    "Constant": "machines.kernels",
    "Sum": "machines.kernels",
    "Product": "machines.kernels",
    "Scaled": "machines.kernels",
    "Exponential": "machines.kernels",
    "Polynomial": "machines.kernels",
    "MDLPDiscretizer": "encoding.mdlp",
    "TwoWaySplit": "encoding.mdlp",
    "LogScale": "encoding.log_scale",
    "LearnedScale": "encoding.learned_scale",
    "SplineColumns": "encoding.spline_columns",
    "CategoryGrouper": "encoding.grouping",
    "EvidenceEncoder": "encoding.evidence",
    "MixedNB": "naive_bayes.mixed_nb",
    "SelectiveNB": "naive_bayes.selective_nb",
    "IntervalNBRegressor": "naive_bayes.interval_nb",
    "OneDependenceNB": "naive_bayes.one_dependence_nb",
    "EnsembleSelection": "ensemble.selection",
    "DecisionMetric": "ensemble._cuts",
    "ScoreVoting": "ensemble.voting",
    "ScoreStacking": "ensemble.stacking",
    "CutPoints": "encoding.binning",
    "TopValues": "encoding.top_values",
    "inverse_square": "distances",
    "OneModelALabel": "labels",
    "OutlierClassifier": "outlier",
    "OutlierRows": "outlier_rows",
    "OrdinaryLeastSquares": "ols",
    "BaggedBoostingClassifier": "bagged_boosting",
    "BaggedBoostingRegressor": "bagged_boosting",
    "ColumnWeights": "encoding.column_weights",
    "ForestRanking": "encoding.forest_ranking",
}
PARTS = {  # of fitted estimators: not for use, but stored models name them
    "Nystroem": "machines._nystroem",
    "LinearMachine": "machines._nystroem",
    "SquaredHingeSVC": "machines._squared_hinge",
    "SupportColumns": "machines.table_kernel",
    "TableSpace": "machines._space",
    "ColumnCoder": "machines._encoding",
    "RankScale": "ensemble._ranks",
    "RankCalibration": "ensemble._ranks",
    "Optimism": "ensemble.selection",
}
__all__ = sorted(HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if (home := HOMES.get(name) or PARTS.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
