"""Rows by their content, and which rows a fold is trained and judged on."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from evenhand.data.frames import read_target
from evenhand.records.pipeline import FINAL, HOLDOUT, TRAINING, Ledger, Table
from evenhand.statistics.near_copies import near_links
from evenhand.storage.artifact_store import local

NEAR_BITS = 20


def content_hashes(features: pd.DataFrame, *, is_near: bool = False) -> np.ndarray:
    """One 64-bit number for the content of each row; equal rows have equal numbers.

    `is_near` takes numbers of one cell of a grid as equal: most rows of two tables match that differ by rounding alone.
    Inside one table `linked_rows` finds them all.
    """
    if is_near:
        features = features.copy(deep=False)
        for name in features.columns:
            if features[name].dtype.kind == "f":
                mantissa, exponent = np.frexp(features[name].to_numpy())
                features[name] = np.ldexp(np.round(mantissa * 2**NEAR_BITS) / 2**NEAR_BITS, exponent)
    return pd.util.hash_pandas_object(features, index=False).to_numpy()


def linked_rows(features: pd.DataFrame) -> np.ndarray:
    """A number that rows share if they are copies of one another, exact or near; it depends on contents, not on order.

    It is the least content hash of the rows linked; numbers are compared by distance, all other columns by equality.
    """
    names = [name for name in features.columns if pd.api.types.is_numeric_dtype(features[name].dtype)]
    numbers = features[names].to_numpy(dtype=np.float64, na_value=np.nan)
    others = features.drop(columns=names)
    blocks = content_hashes(others) if len(others.columns) else np.zeros(len(features), dtype=np.uint64)
    return near_links(numbers, blocks, content_hashes(features))


def canonical_order(rows: pd.DataFrame, time: str | None) -> np.ndarray:
    """The places of rows in an order that depends on what they hold alone: by time if there is one, then by content.

    The same rows make the same table whatever order their source has them in, and draws by place are the same draws.
    """
    content = content_hashes(rows)
    return np.argsort(content, kind="stable") if time is None else np.lexsort((content, rows[time].to_numpy()))


def fold_rows(ledger: Ledger, fold: str) -> tuple[np.ndarray, np.ndarray]:
    """The table rows that a fold is trained and judged on; no row that is linked with a judged one is trained on."""
    columns = pq.read_table(local(ledger.stored)).to_pandas()
    side, links = columns["side"].to_numpy(), columns["link"].to_numpy()
    if fold == FINAL:
        return np.flatnonzero(side == TRAINING), np.flatnonzero(side == HOLDOUT)
    repeat, number = parsed_fold(fold)
    numbers = columns[f"repeat_{repeat}"].to_numpy()
    is_judged = numbers == number
    is_trained = (side == TRAINING) & ((numbers < number) if ledger.is_by_time else (numbers != number))
    return np.flatnonzero(is_trained & ~np.isin(links, links[is_judged])), np.flatnonzero(is_judged)


def positives_of(table: Table, ledger: Ledger) -> dict[str, Any]:
    """How many training and held rows are of the positive class, and its name; nothing unless there are two."""
    if table.task != "binary":
        return {}
    y, (trained, held) = read_target(table), fold_rows(ledger, FINAL)
    counts = {"n_positives": int(np.sum(y[trained] == 1)), "n_positives_holdout": int(np.sum(y[held] == 1))}
    return {**counts, "positive": str(table.classes[1])}


def parsed_fold(fold: str) -> tuple[int, int]:
    """The repeat and the number in a fold's name."""
    *before, number = fold.split("_")
    return int(before[1]) if before[0] == "repeat" else 0, int(number)
