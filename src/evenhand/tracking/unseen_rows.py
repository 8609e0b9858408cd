"""Which rows two models were both not trained on: what the gate and comparisons of runs judge them by."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.data.frames import read_target
from evenhand.data.splits import fold_rows, sides_of
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.pipeline import FINAL, TRAINING, Ledger, Table
from evenhand.runtime.logs import logger
from evenhand.storage.artifact_store import local
from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded_models import artifact

FEWEST_OF_A_CLASS = 2


class Unsure(Exception):
    """Why it cannot be guaranteed that a model saw none of the rows."""


def unseen(place: mlflow_client.Place, run_id: str, model: RawRowModel, table: Table, ledger: Ledger) -> np.ndarray:
    """The holdout rows that are surely not among the training rows of a run's model, nor copies of one.

    Rows are matched by the keys in both ledgers, and by content. Without keys, rows that match none are left out where
    training rows match none either: values may have changed.
    """
    if list(model.features) != [(feature.name, feature.kind) for feature in table.features]:
        raise Unsure("it reads other columns")
    mine = pq.read_table(local(ledger.stored))
    theirs = pq.read_table(artifact(place, run_id, ledger.stored.part))
    trained_on = theirs.filter(pa.array(theirs["side"].to_numpy() == TRAINING))
    is_known, is_trained = _is_among(mine, theirs), _with_copies(mine, _is_among(mine, trained_on))
    if not is_known.any():
        raise Unsure("none of its rows is among those of this run, so rows cannot be matched by their key or content")
    n_lost = 0 if _has_common_keys(mine, theirs) else int((~_is_among(trained_on, mine)).sum())
    is_sure = _with_copies(mine, is_known) | (n_lost == 0)
    held = fold_rows(ledger, FINAL)[1]
    rows = held[~is_trained[held] & is_sure[held]]
    n_unsure = int((~is_trained[held] & ~is_sure[held]).sum())
    unsure = (
        f"{n_unsure:,} of {len(held):,} holdout rows match none of its rows, while {n_lost:,} of its training rows "
        "match none of this run, so that they may be the same with other values; name columns.key to match rows by it"
    )
    _check_enough(rows, table, unsure if n_unsure else f"it was trained on all but {len(rows)} of the holdout rows")
    if n_unsure:
        logger().warning("rows left out of the comparison with run %s: %s", run_id, unsure)
    return rows


def _check_enough(rows: np.ndarray, table: Table, why: str) -> None:
    sides = sides_of(read_target(table)[rows], table) if table.classes else {"": np.ones(len(rows), dtype=bool)}
    counts = [int(side.sum()) for side in sides.values()]
    if min(counts) < FEWEST_OF_A_CLASS:
        raise Unsure(why)


def _is_among(rows: pa.Table, others: pa.Table) -> np.ndarray:
    """Which rows of a ledger have the key or the content of one of another ledger."""
    names = [name for name in ("key", "content") if {name} <= set(rows.column_names) & set(others.column_names)]
    return np.any([np.isin(rows[name].to_numpy(), others[name].to_numpy()) for name in names], axis=0)


def _has_common_keys(mine: pa.Table, theirs: pa.Table) -> bool:
    if "key" not in mine.column_names or "key" not in theirs.column_names:
        return False
    return bool(np.isin(mine["key"].to_numpy(), theirs["key"].to_numpy()).any())


def _with_copies(mine: pa.Table, is_chosen: np.ndarray) -> np.ndarray:
    """The chosen rows and those that are linked with one of them."""
    links = mine["link"].to_numpy()
    return np.isin(links, links[is_chosen])
