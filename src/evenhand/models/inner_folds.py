"""Folds inside the training rows of a fold, made as the study's own are: by time, by group, or copies together."""

import warnings

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from evenhand.data.frames import read_rows, read_target
from evenhand.data.splits import fold_rows, sides_of, strata_of
from evenhand.errors import DataError
from evenhand.records.pipeline import Ledger, Table
from evenhand.storage.artifact_store import local
from evenhand.study.study import Study

Parts = list[tuple[np.ndarray, np.ndarray]]
FEWEST_OF_A_CLASS = 50


def inner_folds(table: Table, ledger: Ledger, study: Study, fold: str, n_folds: int) -> Parts:
    """The table rows that each inner fold is trained and judged on; all are training rows of the fold."""
    rows, y = fold_rows(ledger, fold)[0], read_target(table)
    links = pq.read_table(local(ledger.stored), columns=["link"])["link"].to_numpy()
    numbers = _numbers(rows, y[rows], links[rows], table, ledger, study, n_folds)
    parts = []
    for number in range(numbers.max(initial=-1) + 1):
        is_judged = numbers == number
        is_trained = (numbers < number if ledger.is_by_time else ~is_judged) & ~np.isin(
            links[rows], links[rows[is_judged]]
        )
        if _is_usable(y[rows[is_trained]], y[rows[is_judged]], table):
            parts.append((rows[is_trained], rows[is_judged]))
    if not parts:
        raise DataError(
            f"tune cannot fold the {len(rows):,} training rows of {fold} once more: no inner fold has rows of every "
            "class to train on and to judge. Take tune out, lower tune.folds or split.folds, or get more rows."
        )
    return parts


def _numbers(
    rows: np.ndarray, y: np.ndarray, links: np.ndarray, table: Table, ledger: Ledger, study: Study, n_folds: int
) -> np.ndarray:
    """The inner fold of each row; -1 for rows that are only ever trained on."""
    if ledger.is_by_time:
        assert study.columns.time is not None
        return _blocks(read_rows(table, [study.columns.time])[study.columns.time].to_numpy()[rows], n_folds)
    groups = links
    if study.columns.group and "group" in {study.split.folds_by or study.split.holdout}:
        groups = pd.factorize(read_rows(table, [study.columns.group])[study.columns.group])[0][rows]
    n_each = [int(side.sum()) for side in sides_of(y, table).values()]
    n_folds = min(n_folds, len(np.unique(groups)), *filter(None, n_each))
    if n_folds < 2:
        return np.zeros(0, dtype=int)
    kind = StratifiedGroupKFold if table.classes else GroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=study.seed)
    numbers = np.zeros(len(rows), dtype=int)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # the rest of all sets of labels
        for number, (_, judged) in enumerate(splitter.split(rows[:, None], strata_of(y, table, n_folds), groups)):
            numbers[judged] = number
    return numbers


def _blocks(times: np.ndarray, n_folds: int) -> np.ndarray:
    """Blocks of rising time with ties together; the first is only ever trained on."""
    if not len(times):
        return np.zeros(0, dtype=int)
    edges = np.quantile(np.arange(len(times)), np.arange(1, n_folds + 1) / (n_folds + 1)).astype(int)
    return np.searchsorted(np.sort(times)[edges], times, side="right") - 1


def _is_usable(trained: np.ndarray, judged: np.ndarray, table: Table) -> bool:
    if not table.classes:
        return len(trained) > 1 and len(judged) > 1
    if table.is_multilabel:
        return all(side.any() for part in (trained, judged) for side in sides_of(part, table).values())
    return len(trained) > 0 and set(np.unique(judged)) <= set(np.unique(trained)) and len(np.unique(judged)) > 1


def share_of(
    rows: np.ndarray, y: np.ndarray, share: float, seed: int, is_class: bool, fewest: int = FEWEST_OF_A_CLASS
) -> np.ndarray:
    """A share of the rows in their order, larger shares holding the smaller; a rare class keeps so many rows."""
    if share >= 1:
        return rows
    order = np.random.default_rng(seed).permutation(len(rows))
    kept = []
    for kind in np.unique(y[rows]) if is_class else (None,):
        members = order if kind is None else order[y[rows[order]] == kind]
        kept.append(members[: max(int(np.ceil(share * len(members))), min(len(members), fewest))])
    return rows[np.sort(np.concatenate(kept))]
