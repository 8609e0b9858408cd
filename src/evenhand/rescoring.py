"""Models asked again, about rows that they were not trained on: by the gate, and where runs are compared."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from evenhand import tracking
from evenhand.folding import fold_rows
from evenhand.frames import read_target
from evenhand.metrics import Told
from evenhand.serving import RawRowModel
from evenhand.tables import FINAL, TRAINING, Ledger, Table

LOSSES = frozenset({"log_loss", "brier_score_loss"})
FEWEST_OF_A_CLASS = 2


class Unsure(Exception):
    """Why it cannot be guaranteed that a model saw none of the rows."""


def unseen(place: tracking.Place, run_id: str, model: RawRowModel, table: Table, ledger: Ledger) -> np.ndarray:
    """The holdout rows without a copy among the training rows of a run's model, told by the content of both ledgers."""
    if list(model.features) != [(feature.name, feature.kind) for feature in table.features]:
        raise Unsure("it reads other columns")
    mine = pq.read_table(ledger.path, columns=["content"])["content"].to_numpy()
    kept = pq.read_table(tracking.artifact(place, run_id, ledger.path.name), columns=["content", "side"])
    theirs, side = kept["content"].to_numpy(), kept["side"].to_numpy()
    if not np.isin(mine, theirs).any():
        raise Unsure("none of its rows is among those of this run, so rows cannot be told apart by their content")
    held = fold_rows(ledger, FINAL)[1]
    rows = held[~np.isin(mine[held], theirs[side == TRAINING])]
    counts = np.bincount(read_target(table)[rows].astype(int), minlength=2) if table.classes else [len(rows)]
    if min(counts) < FEWEST_OF_A_CLASS:
        raise Unsure(f"it was trained on all but {len(rows)} of the holdout rows")
    return rows


def told_by(model: RawRowModel, frame: pd.DataFrame, truth: np.ndarray, asks_probability: bool) -> Told:
    """What a model says of rows; calibrated where probabilities are judged."""
    said = model.predict(frame)
    if not model.classes:
        return Told(truth, said, None)
    codes = {label: code for code, label in enumerate(model.classes_.tolist())}
    predictions = np.array([codes[label] for label in said.tolist()])
    try:
        probabilities = model.predict_proba(frame) if asks_probability else None
    except AttributeError:
        probabilities = None
    scores, decisions = model.told(frame)
    if probabilities is None:
        return Told(truth, predictions, scores, False, decisions)
    chances = probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities
    return Told(truth, predictions, chances, True, decisions)
