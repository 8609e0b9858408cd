"""Which rows two models were both not trained on: what the gate and comparisons of runs judge them by."""

import numpy as np
import pyarrow.parquet as pq

from evenhand.data.frames import read_target
from evenhand.data.splits import fold_rows
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.pipeline import FINAL, TRAINING, Ledger, Table
from evenhand.tracking import mlflow_client

FEWEST_OF_A_CLASS = 2


class Unsure(Exception):
    """Why it cannot be guaranteed that a model saw none of the rows."""


def unseen(place: mlflow_client.Place, run_id: str, model: RawRowModel, table: Table, ledger: Ledger) -> np.ndarray:
    """The holdout rows without a copy among the training rows of a run's model, by the content of both ledgers."""
    if list(model.features) != [(feature.name, feature.kind) for feature in table.features]:
        raise Unsure("it reads other columns")
    mine = pq.read_table(ledger.path, columns=["content"])["content"].to_numpy()
    kept = pq.read_table(mlflow_client.artifact(place, run_id, ledger.path.name), columns=["content", "side"])
    theirs, side = kept["content"].to_numpy(), kept["side"].to_numpy()
    if not np.isin(mine, theirs).any():
        raise Unsure("none of its rows is among those of this run, so rows cannot be matched by their content")
    held = fold_rows(ledger, FINAL)[1]
    rows = held[~np.isin(mine[held], theirs[side == TRAINING])]
    counts = np.bincount(read_target(table)[rows].astype(int), minlength=2) if table.classes else [len(rows)]
    if min(counts) < FEWEST_OF_A_CLASS:
        raise Unsure(f"it was trained on all but {len(rows)} of the holdout rows")
    return rows
