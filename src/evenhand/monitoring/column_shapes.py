"""The columns of the training rows as the page shows them, with their drift since the run before."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from evenhand.data.frames import read_rows, read_target
from evenhand.data.splits import fold_rows
from evenhand.monitoring.drift import Shift, shifts_of
from evenhand.monitoring.reference_profile import Profile, Shape, Tallies, measured, target_columns
from evenhand.records.pipeline import FINAL, Ledger, Table
from evenhand.records.since import ColumnShape
from evenhand.study.study import Watch

MOST_VALUES = 5


def column_shapes(
    profile: Profile, table: Table, ledger: Ledger, shifts: Sequence[Shift] = ()
) -> tuple[ColumnShape, ...]:
    """The shape of every column that models read; ends are those of the contract, or of what was cast to numbers."""
    ends = {each.name: (each.low, each.high) for each in table.contract if each.low is not None}
    ends |= _measured_ends([each for each in profile.columns if each.edges and each.name not in ends], table, ledger)
    found = []
    for shape in profile.columns:
        drifted = [each for each in shifts if each.column == shape.name and each.state == "drift"]
        known = [each for each in shifts if each.column == shape.name]
        words = "; ".join(each.words.partition(": ")[2] for each in drifted) or ("none" if known else "")
        low, high = ends.get(shape.name, (None, None)) if shape.edges else (None, None)
        found.append(
            ColumnShape(
                shape.name, shape.n_rows, shape.n_missing, low, high, shape.edges, shape.counts,
                shape.values[:MOST_VALUES], words, bool(drifted),
            )
        )  # fmt: skip
    return tuple(found)


def _measured_ends(lacking: Sequence[Shape], table: Table, ledger: Ledger) -> dict[str, tuple[float, float]]:
    """The least and greatest training value of columns that are text in the source; of a text those of its words."""
    if not lacking:
        return {}
    frame = read_rows(table, [each.name for each in lacking]).iloc[fold_rows(ledger, FINAL)[0]]
    values = {each.name: measured(each.kind, pa.Array.from_pandas(frame[each.name])) for each in lacking}
    return {name: (float(np.nanmin(each)), float(np.nanmax(each))) for name, each in values.items()}


def shifts_since(before: Profile, table: Table, ledger: Ledger, watch: Watch) -> tuple[Shift, ...]:
    """The drift of the training rows against those of an earlier run, of the columns that both have as one kind."""
    kinds, rows = {feature.name: feature.kind for feature in table.features}, fold_rows(ledger, FINAL)[0]
    truth = target_columns(table, read_target(table)[rows])
    kind = "classes" if table.classes else "numeric"
    shared = Profile(
        tuple(each for each in before.columns if kinds.get(each.name) == each.kind),
        tuple(each for each in before.targets if each.name in truth and each.kind == kind),
    )
    tallies = Tallies(shared)
    frame = read_rows(table, [each.name for each in shared.columns]).iloc[rows]
    columns = {name: pa.Array.from_pandas(frame[name]) for name in frame.columns}
    tallies.add(columns, {name: truth[name] for name in tallies.targets})
    return shifts_of(shared, tallies, watch)
