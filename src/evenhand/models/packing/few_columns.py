"""Steps that treat each column of numbers by itself, learned a few columns at a time, so that all are never copied."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from evenhand.models.packing.parts import steps_of
from evenhand.storage.packed import Steps, after_steps

CELLS_AT_ONCE = 2**24
ALONE = (SimpleImputer, StandardScaler, RobustScaler, MinMaxScaler)
Cells = Callable[[list[str]], np.ndarray]


@dataclass(frozen=True)
class AsRead:
    """Numbers of some rows after steps that are not done yet, since they are those of the table."""

    shape: tuple[int, int]
    steps: Steps


def is_alone(transformer: Any) -> bool:
    """Whether each column goes through a transformer as if it were the only one."""
    if not isinstance(transformer, Pipeline):
        return False
    return all(step == "passthrough" or type(step) in ALONE for _, step in transformer.steps)


def fitted_as_read(transformer: Pipeline, cells: Cells, names: Sequence[str], n_rows: int) -> AsRead | None:
    """The columns, once the transformer has learned from them; None where its steps are not what it does, bit for bit.

    A column group of two or more learns what all columns together do: scikit-learn adds up each column by itself.
    """
    fitted, widths = [], []
    for group in _groups(names, n_rows):
        given = cells(group)
        one = clone(transformer)
        made = _fitted_on(one, given)
        if (steps := steps_of(one)) is None or not _is_same(after_steps(given, steps), made):
            return None
        fitted.append(one)
        widths.append(len(group))
    for place, (_, step) in enumerate(transformer.steps):
        if step != "passthrough" and not _join(step, [one.steps[place][1] for one in fitted], widths):
            return None
    steps = steps_of(transformer)
    return None if steps is None else AsRead((n_rows, len(names)), steps)


def _fitted_on(transformer: Pipeline, given: np.ndarray) -> np.ndarray:
    """What `fit_transform` gives; medians are found without the masked copy that scikit-learn sorts all of."""
    made = given
    for _, step in transformer.steps:
        if step == "passthrough":
            continue
        if type(step) is SimpleImputer and step.strategy == "median" and made.shape[0]:
            made = step.fit(_medians(made)).transform(made)
        else:
            made = step.fit_transform(made)
    return np.asarray(made)


def _medians(numbers: np.ndarray) -> np.ndarray:
    """One row whose medians are those of the columns; NaN where a column has no number."""
    found = np.full((1, numbers.shape[1]), np.nan)
    for j, column in enumerate(numbers.T):
        known = column[~np.isnan(column)]
        if known.size:
            found[0, j] = np.median(known)
    return found


def _groups(names: Sequence[str], n_rows: int) -> Iterator[list[str]]:
    n_groups = max(1, min(len(names) // 2, -(-n_rows * len(names) // CELLS_AT_ONCE)))
    yield from (list(group) for group in np.array_split(np.array(names, dtype=object), n_groups))


def _is_same(found: np.ndarray, made: np.ndarray) -> bool:
    pairs = zip(found.T, made.T, strict=True)
    is_same = (np.array_equal(a.copy().view(np.int64), b.copy().view(np.int64)) for a, b in pairs)
    return found.shape == made.shape and all(is_same)


def _join(step: Any, fitted: Sequence[Any], widths: Sequence[int]) -> bool:
    """Give a step what steps of the same class have learned on some of the columns each; whether all of it is known."""
    given = step.get_params(deep=False)
    for name in vars(fitted[0]):
        if name in given:
            continue
        values = [vars(one)[name] for one in fitted]
        if name == "n_features_in_":
            joined: Any = sum(widths)
        elif any(isinstance(value, np.ndarray) for value in values):
            parts = [np.broadcast_to(value, width) for value, width in zip(values, widths, strict=True)]
            joined = np.concatenate(parts)
        elif all(value == values[0] for value in values):
            joined = values[0]
        else:
            return False
        setattr(step, name, joined)
    return True
