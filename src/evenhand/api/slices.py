"""How a candidate does on parts of the rows, as a data frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from evenhand.errors import DataError
from evenhand.evaluation.intervals import spreads_of
from evenhand.evaluation.metrics import metrics_of
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.pipeline import FINAL

__all__ = ["slice_metrics"]


def slice_metrics(found: CandidatePredictions, classes: Sequence[Any], places: np.ndarray, by: Any) -> pd.DataFrame:
    """Every metric with its 95 % interval on the rows of each value of `by`, out of fold and on the holdout."""
    if getattr(by, "ndim", 1) != 1:
        raise DataError(f"slices need one column, but `by` is a {type(by).__name__} of several: give one of them.")
    values = pd.Series(by).reset_index(drop=True)
    if (n_rows := int(places[found.row].max()) + 1) > len(values):
        raise DataError(
            f"slices need a value for each row of the source: at least {n_rows:,}, but `by` holds {len(values):,}. "
            "Give a column of the frame or file that was run, with all of its rows."
        )
    labels = values.astype(object).where(values.notna(), "missing").to_numpy()[places[found.row]]
    is_held, minority = found.fold == FINAL, minority_of(found.prediction_set, len(classes))
    return pd.DataFrame(
        [
            {"value": label, "side": side, **line}
            for side, is_side in (("out_of_fold", ~is_held), ("holdout", is_held))
            for label in sorted(pd.unique(labels[is_side]), key=str)
            for line in _figures(found, is_side & (labels == label), len(classes), minority)
        ]
    )


def _figures(found: CandidatePredictions, mask: np.ndarray, n_classes: int, minority: int) -> list[dict[str, Any]]:
    """The metrics of some rows; the rarest class is that of all rows."""
    part = found.only(mask).prediction_set
    spreads = spreads_of(part, n_classes, minority)
    return [
        {
            "rows": int(mask.sum()),
            "metric": name,
            "figure": figure,
            "low": spreads[name].low if name in spreads else np.nan,
            "high": spreads[name].high if name in spreads else np.nan,
        }
        for name, figure in metrics_of(part, n_classes, minority).items()
    ]
