"""Which rows two models were both not trained on: what the gate and comparisons of runs judge them by."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.data.frames import ROWS, read_rows, read_target
from evenhand.data.splits import fold_rows, linked_with, sides_of
from evenhand.errors import PlaceError
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.pipeline import FINAL, TRAINING, Ledger, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.text import counted
from evenhand.storage.artifact_store import local
from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import artifact, check_run
from evenhand.tracking.references import entry_of

FEWEST_OF_A_CLASS = 2
TABLE = "table"  # the stage whose entries hold rows


class Unsure(Exception):
    """Why it cannot be guaranteed that a model saw none of the rows."""


@dataclass(frozen=True)
class _Matched:
    """Which rows of this run the other model was trained on, which are rows of its run, and what could not be matched.

    `n_lost` counts the rows it was trained on that match none here; `n_unread` those whose near copies could not be
    looked for, as their values are not kept.
    """

    is_trained: np.ndarray
    is_known: np.ndarray
    n_lost: int
    n_unread: int


def unseen(place: mlflow_client.Place, run_id: str, model: RawRowModel, table: Table, ledger: Ledger) -> np.ndarray:
    """The holdout rows that are surely not among the training rows of a run's model, nor copies of one.

    Rows are matched by the keys in both ledgers, by content, and as near copies where the store still has the rows of
    the other run. Without keys, rows that match none are left out where training rows match none either: values may
    have changed.
    """
    if list(model.features) != [(feature.name, feature.kind) for feature in table.features]:
        raise Unsure("it reads other columns")
    mine = pq.read_table(local(ledger.stored))
    theirs = pq.read_table(artifact(place, run_id, ledger.stored.part))
    found = _matched(mine, theirs, table, lambda: _rows_of(place, run_id, table))
    if not found.is_known.any():
        raise Unsure("none of its rows is among those of this run, so rows cannot be matched by their key or content")
    held = fold_rows(ledger, FINAL)[1]
    is_sure = _with_copies(mine, found.is_known) | (found.n_lost == 0)
    rows = held[~found.is_trained[held] & is_sure[held]]
    n_unsure = int((~found.is_trained[held] & ~is_sure[held]).sum())
    unsure = (
        f"{n_unsure:,} of {len(held):,} holdout rows match none of its rows, while {found.n_lost:,} of its training "
        "rows match none of this run, so that they may be the same with other values; name columns.key to match rows "
        "by it"
    )
    _check_enough(rows, table, unsure if n_unsure else f"it was trained on all but {len(rows)} of the holdout rows")
    if n_trained := int(found.is_trained[held].sum()):
        logger().info("%s of the holdout left out, as run %s was trained on them", counted(n_trained, "row"), run_id)
    if n_unsure:
        logger().warning("rows left out of the comparison with run %s: %s", run_id, unsure)
    if found.n_unread:
        logger().warning(
            "%s that run %s was trained on match none of this run by content, and its rows are not in the store: "
            "near copies of them could not be looked for",
            counted(found.n_unread, "row"),
            run_id,
        )
    return rows


def _matched(mine: pa.Table, theirs: pa.Table, table: Table, rows_of: Callable[[], pd.DataFrame | None]) -> _Matched:
    """Rows by key and content; then near copies of training rows whose content is no longer there."""
    was_trained = theirs["side"].to_numpy() == TRAINING
    trained_on = theirs.filter(pa.array(was_trained))
    is_trained, is_known = _is_among(mine, trained_on), _is_among(mine, theirs)
    is_found = _is_among(trained_on, mine)
    is_gone = ~np.isin(trained_on["content"].to_numpy(), mine["content"].to_numpy())
    others = rows_of() if is_gone.any() else None
    if others is not None and len(others) == len(theirs):
        gone = others.iloc[np.flatnonzero(was_trained)[is_gone]]
        is_near, has_near = linked_with(read_rows(table, gone.columns), gone)
        is_trained, is_known = is_trained | is_near, is_known | is_near
        is_found[is_gone] |= has_near
        is_gone[:] = False
    n_lost = 0 if _has_common_keys(mine, theirs) else int((~is_found).sum())
    return _Matched(_with_copies(mine, is_trained), is_known, n_lost, int(is_gone.sum()))


def _rows_of(place: mlflow_client.Place, run_id: str, table: Table) -> pd.DataFrame | None:
    """The features of all rows of a run, if the store still has them."""
    stored = entry_of(check_run(run_reader.run_of(place, run_id)).data.tags, TABLE)
    try:
        file = None if stored is None else local(stored.inside(ROWS))
    except PlaceError:  # it was pruned, or the run was made elsewhere
        return None
    names = [feature.name for feature in table.features]
    return None if file is None else pq.read_table(file, columns=names).to_pandas()


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
