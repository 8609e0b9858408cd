"""The strongest reasons of scores, as columns beside them."""

import numpy as np
import pandas as pd

from evenhand.evaluation.explanation.insight import orders_within, output_of, reasons_in
from evenhand.evaluation.explanation.reasons import parts_of
from evenhand.models.raw_row_model import RawRowModel


def reason_columns(
    model: RawRowModel, frame: pd.DataFrame, background: pd.DataFrame, most: int, seed: int
) -> dict[str, list[str]]:
    """`reason 1`, `reason 2`, ... of every row, as `column value: +amount`; of several classes for the one decided.

    There are as many as asked for, but no more than the model has columns.
    """
    most = min(most, len(model.features))
    frame = frame[[name for name, _ in model.features]].reset_index(drop=True)
    n_orders = orders_within(model, frame.shape[1], len(frame))
    parts = parts_of(model, frame, background, n_orders=n_orders, seed=seed)
    n_classes = len(model.classes or ())
    codes = {label: code for code, label in enumerate(model.classes_.tolist())} if n_classes else {}
    decided = [codes.get(label, 0) for label in np.asarray(model.predict(frame)).tolist()]
    made: dict[str, list[str]] = {f"reason {place}": [] for place in range(1, most + 1)}
    for row in range(len(frame)):
        found, _ = reasons_in(parts, row, output_of(n_classes, decided[row]), frame.iloc[row], most)
        words = [f"{each.column} {each.value}: {each.amount:+.4g}" for each in found]
        for place, column in enumerate(made.values()):
            column.append(words[place] if place < len(words) else "")
    return made
