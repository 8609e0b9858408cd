"""Whether rows can be split by their time."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.presets.profile import FEW_ROWS, HOLDOUT_SHARE, DataProfile, folds_of


def with_time_fits(seen: DataProfile, columns: Mapping[str, pa.Array]) -> DataProfile:
    """The same with the reason, if there is one, why rows cannot be split by their time."""
    goal, times = columns[seen.target], columns[seen.of("time")[0]]
    known = goal.is_valid()
    times, goal = times.filter(known), goal.filter(known)
    order = pc.sort_indices(times)
    y = np.unique(np.asarray(goal.take(order).to_pylist(), dtype=object).astype(str), return_inverse=True)[1]
    return replace(seen, time_fits=_why_not_by_time(y, times.take(order), folds_of(seen), bool(seen.counts)))


def _why_not_by_time(y: np.ndarray, times: pa.Array, folds: int, has_classes: bool) -> str:
    """Why the latest rows and blocks of rising time cannot be judged, or an empty text."""
    n_training = int(np.ceil(len(y) * (1 - HOLDOUT_SHARE)))
    if pc.count_distinct(times).as_py() < 2 * folds:
        return "too few different times"
    if len(y) < FEW_ROWS // 10:
        return "too few rows for blocks of time"
    if not has_classes:
        return ""
    first = y[: n_training // (folds + 1)]
    parts = [y[n_training:], *np.array_split(y[first.size : n_training], folds)]
    n_classes = len(np.unique(y))
    if np.bincount(first, minlength=n_classes).min() < 2 or any(len(np.unique(part)) < n_classes for part in parts):
        return "some blocks of time have no row of a class"
    return ""
