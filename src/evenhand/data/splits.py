"""Rows by their content, and which rows a fold is trained and judged on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.data.frames import ColumnSource, read_target
from evenhand.records.pipeline import FINAL, HOLDOUT, TRAINING, Ledger, Table
from evenhand.runtime.engines.ahead import ahead, each_beside
from evenhand.statistics.group_draws import shared_places
from evenhand.statistics.label_sets import label_columns
from evenhand.statistics.near_copies import near_links
from evenhand.storage.artifact_store import local

NEAR_BITS = 20


def content_hashes(features: ColumnSource, *, is_near: bool = False) -> np.ndarray:
    """One 64-bit number for the content of each row; equal rows have equal numbers.

    `is_near` takes numbers of one cell of a grid as equal: most rows of two tables match that differ by rounding alone.
    Inside one table `linked_rows` finds them all.
    """
    hashes = (_column_hashes(features[name], is_near) for name in features.columns)
    return joined_hashes(hashes, (len(features), len(features.columns)))


def joined_hashes(hashes: Iterable[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """One number for each row, from those of its cells, which come one column after another."""
    joined = _Joined(*shape)
    for column in hashes:
        joined.add(column)
    return joined.hashes


class _Joined:
    """Hashes of rows as `pandas.util.hash_pandas_object` makes them, which holds all columns at once."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self.found = np.full(n_rows, 0x345678, dtype=np.uint64)
        self.factor, self.n_left = np.uint64(1_000_003), n_columns

    def add(self, column: np.ndarray) -> None:
        """Take in the hashes of the next column."""
        self.found ^= column
        self.found *= self.factor
        self.factor += np.uint64(82_520 + 2 * self.n_left)
        self.n_left -= 1

    @property
    def hashes(self) -> np.ndarray:
        """One number for each row, once all columns are in."""
        return self.found + np.uint64(97_531)


def _column_hashes(column: pd.Series, is_near: bool = False) -> np.ndarray:
    if is_near and column.dtype.kind == "f":
        mantissa, exponent = np.frexp(column.to_numpy())
        return pd.util.hash_array(np.ldexp(np.round(mantissa * 2**NEAR_BITS) / 2**NEAR_BITS, exponent))
    return pd.util.hash_pandas_object(column, index=False).to_numpy()


def _both_hashes(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Of what each cell holds, and of that on a grid of numbers."""
    hashes = _column_hashes(column)
    return hashes, _column_hashes(column, is_near=True) if column.dtype.kind == "f" else hashes


@dataclass(frozen=True)
class RowHashes:
    """A number for what each row holds, one for what it holds on a grid of numbers, and one that linked rows share."""

    content: np.ndarray
    near: np.ndarray
    links: np.ndarray


def row_hashes(features: ColumnSource) -> RowHashes:
    """`content_hashes`, the same of near rows, and `linked_rows`, with each column hashed once."""
    names = list(features.columns)
    numbers = dict.fromkeys(name for name in names if pd.api.types.is_numeric_dtype(features.dtypes[name]))
    content, near = _Joined(len(features), len(names)), _Joined(len(features), len(names))
    others = _Joined(len(features), len(names) - len(numbers))
    for name, (hashes, on_grid) in zip(
        names, each_beside(_both_hashes, ahead(map(features.__getitem__, names))), strict=True
    ):
        content.add(hashes)
        near.add(on_grid)
        if name not in numbers:
            others.add(hashes)
    blocks = others.hashes if len(numbers) < len(names) else np.zeros(len(features), dtype=np.uint64)
    links = near_links(_Numbers(features, [*numbers]), blocks, content.hashes)
    return RowHashes(content.hashes, near.hashes, links)


@dataclass(frozen=True)
class _Numbers:
    """Columns as float64, each made when it is asked for."""

    features: ColumnSource
    names: list[str]

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, place: int) -> np.ndarray:
        return self.features[self.names[place]].to_numpy(dtype=np.float64, na_value=np.nan)


def linked_rows(features: ColumnSource) -> np.ndarray:
    """A number that rows share if they are copies of one another, exact or near; it depends on contents, not on order.

    It is the least content hash of the rows linked; numbers are compared by distance, all other columns by equality.
    """
    return row_hashes(features).links


def linked_with(features: pd.DataFrame, others: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are linked with one of another table of the same columns, and which of its rows with one of these."""
    links = linked_rows(pd.concat([features, others], ignore_index=True))
    mine, theirs = links[: len(features)], links[len(features) :]
    return np.isin(mine, theirs), np.isin(theirs, mine)


def canonical_order(rows: pa.Table, time: str | None) -> np.ndarray:
    """The places of rows in an order that depends on what they hold alone: by time if there is one, then by content.

    The same rows make the same table whatever order their source has them in, and draws by place are the same draws.
    """
    content = table_hashes(rows)
    if time is None:
        return np.argsort(content, kind="stable")
    return np.lexsort((content, rows[time].to_pandas().to_numpy()))


def table_hashes(rows: pa.Table) -> np.ndarray:
    """`content_hashes` of an Arrow table, with one column as a series at a time."""
    return joined_hashes(each_beside(lambda column: _column_hashes(column.to_pandas()), rows.columns), rows.shape)


def sides_of(y: np.ndarray, table: Table) -> dict[str, np.ndarray]:
    """Which rows are of each class, by its words; of several labels which have each label and which have not."""
    if not table.is_multilabel:
        return {f"class '{label}'": y == k for k, label in enumerate(table.classes)}
    columns = label_columns(y, len(table.classes)) == 1
    named = zip(table.classes, columns.T, strict=True)
    return {f"label '{name}' {word}": side for name, has in named for word, side in (("0", ~has), ("1", has))}


def strata_of(y: np.ndarray, table: Table, least: int) -> np.ndarray:
    """What rows are dealt out evenly by: classes, or sets of labels.

    A set of labels with fewer than `least` rows is joined with the others that hold the same rarest label, and what is
    still smaller with the rows of no such set.
    """
    if not table.is_multilabel:
        return y
    columns = label_columns(y, len(table.classes)) == 1
    rarity = np.where(columns, columns.sum(axis=0), len(y) + 1)
    rarest = np.where(columns.any(axis=1), rarity.argmin(axis=1), len(table.classes))
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    joined = np.where(counts[place] >= least, place, len(counts) + rarest)
    _, place, counts = np.unique(joined, return_inverse=True, return_counts=True)
    return np.where(counts[place] >= least, place, len(counts))


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
    places = shared_places(links)
    linked = links[places]
    is_trained[places] &= ~np.isin(linked, linked[is_judged[places]])
    return np.flatnonzero(is_trained), np.flatnonzero(is_judged)


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


def as_share(content: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for each hash, mixed once more so that any share of rows is a fair draw."""
    mixed = content.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53


def time_folds(times: np.ndarray, n_folds: int) -> np.ndarray:
    """Blocks of rising time, ties together; the first block is only ever trained on."""
    edges = np.quantile(np.arange(len(times)), np.arange(1, n_folds + 1) / (n_folds + 1)).astype(int)
    cuts = np.sort(times)[edges]
    return np.searchsorted(cuts, times, side="right") - 1


def least_content(content: np.ndarray, links: np.ndarray, times: np.ndarray | None = None) -> np.ndarray:
    """One content for all rows that are linked: the least of the earliest ones, or of all where no time is known.

    Rows thus keep their side when a near copy comes later. Without times they keep it as long as no copy with a smaller
    content comes.
    """
    order = np.lexsort((content,) if times is None else (content, times))
    known, first = np.unique(links[order], return_index=True)
    return np.asarray(content[order][first][np.searchsorted(known, links)])


def fold_names(fold_of: list[np.ndarray]) -> list[str]:
    """The names of all folds, from the fold of every row in each repeat."""
    numbers = sorted({int(number) for number in fold_of[0] if number >= 0})
    if len(fold_of) == 1:
        return [f"fold_{number}" for number in numbers]
    return [f"repeat_{repeat}_fold_{number}" for repeat in range(len(fold_of)) for number in numbers]
