"""Reading a ledger: which rows a fold is trained and judged on."""

import numpy as np
import pyarrow.parquet as pq

from evenhand.tables import FINAL, HOLDOUT, TRAINING, Ledger


def fold_rows(ledger: Ledger, fold: str) -> tuple[np.ndarray, np.ndarray]:
    """The table rows that a fold is trained and judged on; no row that has a judged twin is trained on."""
    columns = pq.read_table(ledger.path).to_pandas()
    side, twins = columns["side"].to_numpy(), columns["content"].to_numpy()
    if fold == FINAL:
        return np.flatnonzero(side == TRAINING), np.flatnonzero(side == HOLDOUT)
    repeat, number = parsed_fold(fold)
    numbers = columns[f"repeat_{repeat}"].to_numpy()
    is_judged = numbers == number
    is_trained = (side == TRAINING) & ((numbers < number) if ledger.is_by_time else (numbers != number))
    return np.flatnonzero(is_trained & ~np.isin(twins, twins[is_judged])), np.flatnonzero(is_judged)


def parsed_fold(fold: str) -> tuple[int, int]:
    """The repeat and the number in a fold's name."""
    *before, number = fold.split("_")
    return int(before[1]) if before[0] == "repeat" else 0, int(number)
