"""Where predicted numbers are off: the residuals over the values of each column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from evenhand.statistics import holm

Numbers = tuple[float, ...]
N_BINS, MOST_VALUES, FEWEST_ROWS, LEVEL = 10, 8, 5, 0.95


@dataclass(frozen=True)
class ColumnResiduals:
    """The mean of actual minus predicted in parts of the rows by one column, with t intervals.

    Parts are equally many neighbouring numbers, with their median as `at`, or the rows of a category, named in
    `values`. `share` of the variance of the residuals is between parts; `p_value` is of an analysis of variance,
    corrected by Holm for all columns.
    """

    column: str
    mean: Numbers
    low: Numbers
    high: Numbers
    n_rows: tuple[int, ...]
    share: float
    p_value: float
    at: Numbers = ()
    values: tuple[str, ...] = ()


def residuals_by_column(residuals: np.ndarray, frame: pd.DataFrame, kinds: Mapping[str, str]) -> list[ColumnResiduals]:
    """The residuals by every number and category of the rows, those that explain most of them first."""
    found = [one for name in frame.columns if (one := _of_column(residuals, frame[name], kinds[name])) is not None]
    p_values = holm([one.p_value for one in found])
    corrected = [replace(one, p_value=float(p)) for one, p in zip(found, p_values, strict=True)]
    return sorted(corrected, key=lambda one: (one.p_value, -one.share))


def _of_column(residuals: np.ndarray, column: pd.Series, kind: str) -> ColumnResiduals | None:
    """One column; None where fewer than two parts have rows enough."""
    if kind == "numeric":
        parts = _bins(column.to_numpy(float))
    elif kind == "categorical":
        parts = [np.flatnonzero(column == value) for value in column.value_counts().head(MOST_VALUES).index]
    else:
        return None
    parts = [rows for rows in parts if len(rows) >= FEWEST_ROWS]
    if len(parts) < 2:
        return None
    each = [residuals[rows] for rows in parts]
    mean, low, high = zip(*map(_interval, each), strict=True)
    share, p_value = _analysis(each)
    return ColumnResiduals(
        str(column.name), mean, low, high, tuple(map(len, each)), share, p_value,
        at=tuple(float(np.median(column.iloc[rows])) for rows in parts) if kind == "numeric" else (),
        values=tuple(str(column.iloc[rows[0]])[:40] for rows in parts) if kind == "categorical" else (),
    )  # fmt: skip


def _bins(values: np.ndarray) -> list[np.ndarray]:
    """Rows of equally many neighbouring numbers; equal ones are never parted, and missing ones are in none."""
    there = values[np.isfinite(values)]
    inner = np.unique(np.quantile(there, np.linspace(0, 1, N_BINS + 1)[1:-1])) if len(there) else np.empty(0)
    place = np.where(np.isfinite(values), np.searchsorted(inner, values, side="left"), -1)
    return [np.flatnonzero(place == bin_) for bin_ in range(len(inner) + 1)]


def _interval(values: np.ndarray) -> tuple[float, float, float]:
    mean, n_rows = float(values.mean()), len(values)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n_rows - 1) * values.std(ddof=1) / np.sqrt(n_rows))
    return mean, mean - reach, mean + reach


def _analysis(each: Sequence[np.ndarray]) -> tuple[float, float]:
    """The share of the variance that lies between parts, and the p-value of there being none."""
    values = np.concatenate(each)
    whole = float(((values - values.mean()) ** 2).sum())
    between = float(sum(len(part) * (part.mean() - values.mean()) ** 2 for part in each))
    degrees, left = len(each) - 1, len(values) - len(each)
    if whole <= 0 or left <= 0 or whole <= between:
        return (1.0, 0.0) if whole > 0 else (0.0, 1.0)
    return between / whole, float(stats.f.sf((between / degrees) / ((whole - between) / left), degrees, left))
