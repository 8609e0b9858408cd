"""What types are called in stored models: by the doors of rooms, and in older files by the modules of their time.

A file is never changed: old names are replaced in the copy that is read, after its digest was checked.
"""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import evenhand.estimators
import evenhand.models

SCHEMA = "schema.json"
DOORS = {
    "evenhand.estimators": evenhand.estimators.HOMES | evenhand.estimators.PARTS,
    "evenhand.models": evenhand.models.HOMES,
}
OURS = frozenset(f"{door}.{name}" for door, homes in DOORS.items() for name in homes)
BEFORE_ROOMS = {
    "evenhand.encoder.TableEncoder": "evenhand.models.TableEncoder",
    "evenhand.score_map.ScoreMap": "evenhand.models.ScoreMap",
    "evenhand.serving.RawRowModel": "evenhand.models.RawRowModel",
    "evenhand.estimators._encoding.ColumnCoder": "evenhand.estimators.ColumnCoder",
    "evenhand.estimators._ensemble_ranks.RankCalibration": "evenhand.estimators.RankCalibration",
    "evenhand.estimators._ensemble_ranks.RankScale": "evenhand.estimators.RankScale",
    "evenhand.estimators._nystroem.LinearMachine": "evenhand.estimators.LinearMachine",
    "evenhand.estimators._nystroem.Nystroem": "evenhand.estimators.Nystroem",
    "evenhand.estimators._space.TableSpace": "evenhand.estimators.TableSpace",
    "evenhand.estimators._squared_hinge.SquaredHingeSVC": "evenhand.estimators.SquaredHingeSVC",
    "evenhand.estimators.binning.CutPoints": "evenhand.estimators.CutPoints",
    "evenhand.estimators.budget_svm.BudgetSVC": "evenhand.estimators.BudgetSVC",
    "evenhand.estimators.distances.inverse_square": "evenhand.estimators.inverse_square",
    "evenhand.estimators.ensemble.EnsembleSelection": "evenhand.estimators.EnsembleSelection",
    "evenhand.estimators.ensemble.Optimism": "evenhand.estimators.Optimism",
    "evenhand.estimators.evidence.EvidenceEncoder": "evenhand.estimators.EvidenceEncoder",
    "evenhand.estimators.forest_ranking.ForestRanking": "evenhand.estimators.ForestRanking",
    "evenhand.estimators.grouping.CategoryGrouper": "evenhand.estimators.CategoryGrouper",
    "evenhand.estimators.interval_nb.IntervalNBRegressor": "evenhand.estimators.IntervalNBRegressor",
    "evenhand.estimators.kernels.Constant": "evenhand.estimators.Constant",
    "evenhand.estimators.kernels.Exponential": "evenhand.estimators.Exponential",
    "evenhand.estimators.kernels.OnColumns": "evenhand.estimators.OnColumns",
    "evenhand.estimators.kernels.Polynomial": "evenhand.estimators.Polynomial",
    "evenhand.estimators.kernels.Product": "evenhand.estimators.Product",
    "evenhand.estimators.kernels.Rbf": "evenhand.estimators.Rbf",
    "evenhand.estimators.kernels.Scaled": "evenhand.estimators.Scaled",
    "evenhand.estimators.kernels.Similarity": "evenhand.estimators.Similarity",
    "evenhand.estimators.kernels.Sum": "evenhand.estimators.Sum",
    "evenhand.estimators.mdlp.MDLPDiscretizer": "evenhand.estimators.MDLPDiscretizer",
    "evenhand.estimators.mixed_nb.MixedNB": "evenhand.estimators.MixedNB",
    "evenhand.estimators.ols.OrdinaryLeastSquares": "evenhand.estimators.OrdinaryLeastSquares",
    "evenhand.estimators.outlier.OutlierClassifier": "evenhand.estimators.OutlierClassifier",
    "evenhand.estimators.selective_nb.SelectiveNB": "evenhand.estimators.SelectiveNB",
    "evenhand.estimators.similarity.similarity_matrix": "evenhand.estimators.similarity_matrix",
    "evenhand.estimators.similarity_svm.SimilaritySVC": "evenhand.estimators.SimilaritySVC",
    "evenhand.estimators.similarity_svm.SimilaritySVR": "evenhand.estimators.SimilaritySVR",
    "evenhand.estimators.table_kernel.SupportColumns": "evenhand.estimators.SupportColumns",
    "evenhand.estimators.table_kernel.TableKernelSVC": "evenhand.estimators.TableKernelSVC",
    "evenhand.estimators.table_kernel.TableKernelSVR": "evenhand.estimators.TableKernelSVR",
    "evenhand.estimators.top_values.TopValues": "evenhand.estimators.TopValues",
    "evenhand.estimators.weights.ColumnWeights": "evenhand.estimators.ColumnWeights",
}


def source_module(found: type) -> str:
    """The module that holds the code of a class, also where the class is named at a door."""
    home = DOORS.get(found.__module__, {}).get(found.__name__)
    return f"{found.__module__}.{home}" if home else found.__module__


def class_code(found: type) -> str:
    """Where the code of a class is, as keys of the store name it."""
    return f"{source_module(found)}:{found.__qualname__}"


def function_code(made: Callable[..., Any]) -> list[str]:
    """The definitions beside a small function of an entry that it may use, as keys of the store name them."""
    return [f"{made.__module__}:{name}" for name in made.__code__.co_names]


def function_text(made: Callable[..., Any]) -> list[str]:
    """What a small function of an entry does, for a key: its instructions, constants and names."""
    code = made.__code__
    return [
        code.co_code.hex(),
        repr([one for one in code.co_consts if not hasattr(one, "co_code")]),
        repr(code.co_names),
    ]


def with_current_names(file: Path) -> bytes:
    """A stored model as it would be written now: each old name replaced, everything else byte for byte."""
    content = file.read_bytes()
    with ZipFile(BytesIO(content)) as archive:
        schema = json.loads(archive.read(SCHEMA))
        if not _rename(schema):
            return content
        copied = BytesIO()
        with ZipFile(copied, "w") as written:
            for part in archive.infolist():
                written.writestr(part, json.dumps(schema) if part.filename == SCHEMA else archive.read(part))
    return copied.getvalue()


def _rename(node: Any) -> int:
    """Replace the old names below a node of a schema; how many there were."""
    n_renamed = 0
    if isinstance(node, dict):
        if now := BEFORE_ROOMS.get(f"{node.get('__module__')}.{node.get('__class__')}"):
            node["__module__"], _, node["__class__"] = now.rpartition(".")
            n_renamed = 1
        node = list(node.values())
    return n_renamed + sum(_rename(each) for each in node) if isinstance(node, list) else n_renamed
