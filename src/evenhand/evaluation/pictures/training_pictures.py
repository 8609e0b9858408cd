"""What training rows look like: columns that go together, the two strongest, and where a model draws its boundaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from evenhand.data.splits import sides_of
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.pipeline import Table
from evenhand.statistics.label_sets import label_columns

MOST_ROWS, MOST_DOTS, MOST_COLUMNS, STEPS, SHADES, MIDDLE = 5000, 600, 12, 48, 7, 0.01


@dataclass(frozen=True)
class Correlations:
    """Pearson's correlation of each two columns, NaN where one is constant; the target comes last."""

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    n_rows: int


@dataclass(frozen=True)
class Plane:
    """Training rows in two columns, and what a model makes of every place, the other columns in their middle.

    `groups` and `cells` hold the place in `labels` that a row belongs to and that is predicted for a cell, cells in
    rows from the least to the greatest value of the second column.
    """

    names: tuple[str, str]
    x: tuple[float, ...]
    y: tuple[float, ...]
    groups: tuple[int, ...]
    labels: tuple[str, ...]
    x_ends: tuple[float, float]
    y_ends: tuple[float, float]
    n_rows: int
    cells: tuple[tuple[int, ...], ...] = ()


def thinned(rows: np.ndarray, most: int = MOST_ROWS) -> np.ndarray:
    """At most so many rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]


def strongest(frame: pd.DataFrame, target: np.ndarray, table: Table) -> list[str]:
    """The numeric columns that vary, those first whose ranks go with the target most, or with one of its classes."""
    numeric = [feature.name for feature in table.features if feature.kind == "numeric"]
    names = [name for name in numeric if frame[name].nunique() > 1]
    sides = [*sides_of(target, table).values()] if table.classes else [pd.Series(target).rank()]
    found = {}
    for name in names:
        ranks = frame[name].rank().to_numpy(dtype=float)
        is_there = np.isfinite(ranks)
        found[name] = max(
            (_correlation(ranks[is_there], np.asarray(side, float)[is_there]) for side in sides), default=0
        )
    return sorted(names, key=lambda name: -found[name])


def correlations(frame: pd.DataFrame, target: np.ndarray, table: Table, names: Sequence[str]) -> Correlations | None:
    """How the strongest columns go together, with the target where it is a number or one of two classes."""
    shown = list(names[:MOST_COLUMNS])
    if len(shown) < 2:
        return None
    columns = frame[shown].astype(float)
    if table.is_multilabel:
        labels = label_columns(target, len(table.classes)).astype(float)
        columns = columns.assign(**dict(zip(map(str, table.classes), labels.T, strict=True)))
    elif len(table.classes) <= 2:
        columns = columns.assign(**{table.target: target.astype(float)})
    values = columns.corr().to_numpy()
    return Correlations(tuple(map(str, columns)), tuple(tuple(map(float, row)) for row in values), len(columns))


def plane(frame: pd.DataFrame, target: np.ndarray, table: Table, names: Sequence[str]) -> Plane | None:
    """The training rows in the two strongest columns, in classes or in ranges of the target; none of several labels."""
    if len(names) < 2 or table.is_multilabel:
        return None
    first, second = names[:2]
    rows = thinned(np.flatnonzero(frame[[first, second]].notna().all(axis=1).to_numpy()), MOST_DOTS)
    if len(rows) < 2:
        return None
    x, y = (frame[name].to_numpy(dtype=float)[rows] for name in (first, second))
    edges, labels = _ranges(target, table)
    ends = [(float(np.quantile(each, MIDDLE / 2)), float(np.quantile(each, 1 - MIDDLE / 2))) for each in (x, y)]
    if any(high <= low for low, high in ends):
        ends = [(float(each.min()), float(each.max())) for each in (x, y)]
    groups = target[rows].astype(int) if table.classes else np.searchsorted(edges, target[rows])
    return Plane(
        names=(str(first), str(second)),
        x=tuple(map(float, x)),
        y=tuple(map(float, y)),
        groups=tuple(map(int, groups)),
        labels=labels,
        x_ends=ends[0],
        y_ends=ends[1],
        n_rows=len(frame),
    )


def cells(model: RawRowModel, frame: pd.DataFrame, target: np.ndarray, table: Table, found: Plane) -> Any:
    """What a model predicts at each place of a plane, as places among its labels."""
    across, up = (np.linspace(*ends, STEPS) for ends in (found.x_ends, found.y_ends))
    at = {found.names[0]: np.tile(across, STEPS), found.names[1]: np.repeat(up, STEPS)}
    middle = {feature.name: _middle(frame[feature.name], feature.kind) for feature in table.features}
    grid = pd.DataFrame({name: at.get(name, np.full(STEPS**2, value)) for name, value in middle.items()})
    grid = grid.astype({name: frame[name].dtype for name in grid})
    predicted = model.predict(grid)
    if table.classes:
        codes = {label: code for code, label in enumerate(table.classes)}
        groups = np.array([codes[label] for label in predicted.tolist()])
    else:
        groups = np.searchsorted(_ranges(target, table)[0], predicted)
    return tuple(tuple(map(int, row)) for row in groups.reshape(STEPS, STEPS))


def _ranges(target: np.ndarray, table: Table) -> tuple[np.ndarray, tuple[str, ...]]:
    """The classes; of numbers the limits of ranges that hold equally many rows, and their names."""
    if table.classes:
        return np.empty(0), tuple(map(str, table.classes))
    edges = np.unique(np.quantile(target, np.arange(1, SHADES) / SHADES))
    ends = [f"to {edges[0]:.4g}", *(f"{a:.4g} to {b:.4g}" for a, b in pairwise(edges))]
    return edges, (*ends, f"from {edges[-1]:.4g}")


def _middle(column: pd.Series, kind: str) -> Any:
    there = column.dropna()
    if not len(there):
        return None
    return float(there.median()) if kind == "numeric" else there.mode().iloc[0]


def _correlation(left: np.ndarray, right: np.ndarray) -> float:
    if len(left) < 2 or left.std() == 0 or right.std() == 0:
        return 0.0
    return abs(float(np.corrcoef(left, right)[0, 1]))
