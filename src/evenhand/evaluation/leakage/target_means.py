"""Columns of the mean target of groups of rows, made with the rows that are to be judged."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import chi2

from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding

FEWEST_LEVELS, FEWEST_FITTED = 5, 25
MOST_LEVELS_SHARE = 0.5
MOST_DISTANCE = 1.5
FEWEST_OF_BOTH, FEWEST_ROWS = 3.0, 5
WHOLE = 1e-4
REMEDY = (
    "put it in columns.ignore and give the column that it was made of instead; encodings with as: evidence learn such "
    "means in each fold from its training rows"
)


@dataclass(frozen=True)
class Levels:
    """The rows of equal values of a column, a level each."""

    values: np.ndarray
    n: np.ndarray  # rows of the whole table
    n_training: np.ndarray
    means: np.ndarray  # of the target among training rows
    variances: np.ndarray  # of the target of one training row, NaN for a class


def target_means(rows: CheckedRows) -> CheckFinding:
    """Columns whose values are mean targets of all rows.

    Counts of a class are whole: a share times its number of rows, those to be judged among them, is too. And the mean
    of the training rows of a level lies nearer to a value that they are themselves a part of than to any other: their
    squared distances, in units of chance, come to a fraction of the number of levels. No label of a judged row is read.
    """
    found = []
    for feature in rows.features:
        if feature.kind == "numeric":
            targets = range(1, len(rows.table.classes)) if rows.is_class else [None]
            if any(_is_mean(rows, feature.name, k) for k in targets):
                found.append(f"'{feature.name}'")
    if not found:
        return CheckFinding("ok", f"no column holds means of {rows.table.target}")
    of = "the share of a class" if rows.is_class else f"the mean of {rows.table.target}"
    return CheckFinding(
        "warning",
        f"{', '.join(found[:5])}: {of} among rows with the same value, with the rows to be judged among them",
        REMEDY,
    )


def _is_mean(rows: CheckedRows, name: str, k: int | None) -> bool:
    levels = _levels(rows, name, k)
    if levels is None:
        return False
    distance, n_levels = _distance(levels, levels.values)
    if k is not None and _are_counts(levels) and distance <= MOST_DISTANCE * n_levels:
        return True
    fitted, n_fitted = _distance(levels, _fitted(levels))
    return any(
        n >= FEWEST_FITTED and chi2.cdf(left, n - lost) < rows.level
        for left, n, lost in ((distance, n_levels, 0), (fitted, n_fitted, 4))
    )


def _levels(rows: CheckedRows, name: str, k: int | None) -> Levels | None:
    """The levels of a column that has some, and not one for nearly every row."""
    values = rows.numbers(name)
    if not _has_levels(values):
        return None
    codes, kinds = pd.factorize(values, sort=True)
    training = rows.training[codes[rows.training] >= 0]
    y = rows.y[training].astype(float) if k is None else (rows.y[training] == k).astype(float)
    n_all = np.bincount(codes[codes >= 0], minlength=len(kinds))
    n = np.bincount(codes[training], minlength=len(kinds))
    used = n > 1
    if used.sum() < FEWEST_LEVELS:
        return None
    means = (np.bincount(codes[training], weights=y, minlength=len(kinds)) / np.maximum(n, 1))[used]
    squares = np.bincount(codes[training], weights=y**2, minlength=len(kinds))[used]
    variances = np.full(len(means), np.nan) if k is not None else (squares - n[used] * means**2) / (n[used] - 1)
    return Levels(np.asarray(kinds, dtype=float)[used], n_all[used], n[used], means, variances)


def _has_levels(values: np.ndarray) -> bool:
    """Whether numbers take some values, and not one for nearly every row, of which some are not whole."""
    in_order = np.sort(values[~np.isnan(values)])
    n_kinds = len(in_order) and np.count_nonzero(np.diff(in_order)) + 1
    if not FEWEST_LEVELS <= n_kinds <= MOST_LEVELS_SHARE * len(values):
        return False
    return bool((in_order != np.rint(in_order)).any())


def _distance(levels: Levels, expected: np.ndarray) -> tuple[float, int]:
    """The squared distances of means from what is expected of them, in units of chance, and of how many levels.

    Levels so small or pure that chance has no usual size in them are left out.
    """
    is_share = np.isnan(levels.variances)
    variances = np.where(is_share, expected * (1 - expected), levels.variances)
    kept = np.where(is_share, levels.n_training * variances >= FEWEST_OF_BOTH, levels.n_training >= FEWEST_ROWS)
    kept &= variances > 1e-12 * np.nanmax(np.abs(variances), initial=1e-300)
    if not kept.any():
        return np.inf, 0
    left = levels.n_training[kept] * (levels.means - expected)[kept] ** 2 / variances[kept]
    return float(left.sum()), int(kept.sum())


def _are_counts(levels: Levels) -> bool:
    """Whether values times rows are whole, and would not be with a row more."""
    inside = (levels.values > 0) & (levels.values < 1)
    if inside.sum() < FEWEST_LEVELS:
        return False
    values, n = levels.values[inside], levels.n[inside]
    whole, by_chance = (np.abs(values * m - np.rint(values * m)) <= WHOLE * m for m in (n, n + 1))
    return bool(whole.mean() >= 0.95 and by_chance.mean() <= 0.5)


def _fitted(levels: Levels) -> np.ndarray:
    """The means that follow if small groups were drawn towards the overall mean."""
    weights = np.sqrt(levels.n_training)
    columns = np.column_stack([np.ones(len(weights)), levels.values, 1 / levels.n, levels.values / levels.n])
    weighted = columns * weights[:, None]
    return np.asarray(columns @ np.linalg.lstsq(weighted, levels.means * weights, rcond=None)[0])
