"""What a candidate predicted for every judged row, as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evenhand.evaluation.predictions import CandidatePredictions


def predictions_of(found: CandidatePredictions, classes: Sequence[Any], places: np.ndarray) -> pa.Table:
    """Row of the source, fold, truth and prediction, and the score of the positive class or of each class."""
    columns: dict[str, Any] = {"row": places[found.row], "fold": pa.array(found.fold, pa.string())}
    if found.is_multilabel:
        for words, values in (("truth", found.truth), ("predicted", found.predicted), ("score", found.scores)):
            columns |= {} if values is None else {f"{words}:{label}": values[:, k] for k, label in enumerate(classes)}
        return pa.table(columns)
    columns |= {"truth": _labelled(found.truth, classes), "predicted": _labelled(found.predicted, classes)}
    if found.scores is not None and found.scores.ndim == 1:
        columns["score"] = found.scores
    elif found.scores is not None:
        columns |= {f"score:{label}": found.scores[:, k] for k, label in enumerate(classes)}
    return pa.table(columns)


def _labelled(codes: np.ndarray, classes: Sequence[Any]) -> Any:
    """Class labels in place of their codes; numbers as they are."""
    return pa.array(list(classes)).take(pa.array(codes.astype(np.int64))) if classes else codes
