"""Columns that hold times, as seconds: dates in words, and numbers of seconds or days or written as days."""

import numpy as np
import pandas as pd
import pyarrow as pa

from evenhand.data.type_inference import TIME, ZONED_TIME, read_as
from evenhand.evaluation.leakage.entry import CheckedRows

DAY = 86_400.0
UNITS = (1.0, 1e-3, 1e-6, 1e-9, DAY)  # seconds, thousandths and less, and days since 1970
WRITTEN = (1_800_01_01, 2_200_12_31)  # a day as year, month and day in one number
READ, MARGIN = 0.99, 1.0


def clock_of(rows: CheckedRows) -> np.ndarray | None:
    """The time of each training row looked at, dates as seconds; None without columns.time."""
    if rows.study.columns.time is None:
        return None
    times = rows.column(rows.study.columns.time, rows.some)
    return seconds_of(times) if _holds_dates(times) else times.to_numpy(dtype=float)


def times_of(column: pd.Series, clock: np.ndarray) -> np.ndarray:
    """A column as times of the same clock; missing throughout where it holds none."""
    if column.dtype.kind in "fiu":
        return _of_numbers(column.to_numpy(dtype=float), clock)
    text = pa.array(column, type=pa.string(), from_pandas=True) if column.dtype.kind != "b" else None
    for kind in (TIME, ZONED_TIME):
        if text is not None and text.null_count < len(text) and (found := read_as(text, kind)) is not None:
            return seconds_of(found.to_pandas())
    return np.full(len(column), np.nan)


def _of_numbers(values: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """Numbers as times in the first unit in which nearly all lie about as far as the clock reaches."""
    known = np.isfinite(values)
    reach = MARGIN * float(np.ptp(clock))
    for times in _in_units(values, known):
        is_near = (times >= clock.min() - reach) & (times <= clock.max() + reach)
        if known.any() and is_near[known].mean() >= READ:
            return times
    return np.full(len(values), np.nan)


def _in_units(values: np.ndarray, known: np.ndarray) -> list[np.ndarray]:
    found = [values * unit for unit in UNITS]
    if known.any() and values[known].min() >= WRITTEN[0] and values[known].max() <= WRITTEN[1]:
        whole = pd.Series(values).round().astype("Int64").astype("string")
        found.append(seconds_of(pd.to_datetime(whole, format="%Y%m%d", errors="coerce")))
    return found


def _holds_dates(column: pd.Series) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(column.dtype))


def seconds_of(column: pd.Series) -> np.ndarray:
    """Dates as seconds since 1970, in UTC."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    times = column.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(times), np.nan, times.astype("int64") / 1e6)
