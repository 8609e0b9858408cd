"""Rows in the order of time: those that are trained on after those that are judged, and random splits of such rows."""

from dataclasses import dataclass

import numpy as np

from evenhand.data.splits import fold_rows
from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding
from evenhand.evaluation.leakage.trees import residuals
from evenhand.records.pipeline import FINAL
from evenhand.statistics.row_numbers import row_numbers
from evenhand.statistics.serial import lag_of_copy, normal_scores, serial_correlation

MOST_FITTED, FEWEST_ROWS = 6_000, 60
ALIKE, OF_THE_REST, OF_THE_TARGET = 0.2, 0.15, 0.5
SORTED, FEW_CHANGES = 0.95, 5


def later_training_rows(rows: CheckedRows) -> CheckFinding:
    """Training rows that are later than rows they are judged on, where there is a time column."""
    study, ledger = rows.study, rows.ledger
    if study.columns.time is None:
        return CheckFinding("skipped", "no columns.time")
    times = rows.frame[study.columns.time].to_numpy()
    late = {}
    for fold in (*ledger.folds, FINAL):
        trained, judged = fold_rows(ledger, fold)
        if len(judged) and (n := int((times[trained] > times[judged].min()).sum())):
            late[fold] = n
    if not late:
        return CheckFinding("ok", "every training row is earlier than the rows it is judged on")
    counts = ", ".join(f"{fold}: {n:,}" for fold, n in list(late.items())[:4])
    severity = "error" if FINAL in late and study.split.holdout == "time" else "warning"
    words = f"{counts} training rows are later than the first judged one"
    return CheckFinding(severity, words, "use folds_by: time to rule it out")  # type: ignore[arg-type]


@dataclass(frozen=True)
class RowSeries:
    """Rows in the order of time or of the source; targets are NaN where a row is not trained on."""

    places: np.ndarray
    target: np.ndarray
    known: np.ndarray


def order_of_rows(rows: CheckedRows) -> CheckFinding:
    """Whether rows that are split at random are alike to their neighbours in the order of time or of the source."""
    split = rows.study.split
    if "time" in {split.holdout, split.folds_by}:
        return CheckFinding("ok", "rows are split by time")
    series = _series(rows)
    if series.known.sum() < FEWEST_ROWS or not rows.features:
        return CheckFinding("skipped", "too few rows or columns to see an order")
    clock = _clock(rows, series)
    if found := _lagged(rows, series) or _alike(rows, series, clock):
        return CheckFinding("warning", found, _remedy(rows, clock))
    if clock:
        return CheckFinding("note", f"'{clock}' holds times, and rows are split at random", _remedy(rows, clock))
    return CheckFinding("ok", "neighbours in the order of the source are no more alike than others")


def _alike(rows: CheckedRows, series: RowSeries, clock: str) -> str:
    """Words where neighbours in the order are alike as those of a series are; the rest of a target counts first."""
    words = f"neighbours in the order of {'time' if rows.study.columns.time else 'the source'} are alike"
    target = rows.table.target
    alike, of = _features_alike(rows, series)
    if alike < ALIKE:
        own = _target_alike(rows, series)
        return f"{words}: {target} by {own:.2f} (serial correlation)" if own >= OF_THE_TARGET else ""
    if (left := _rest_alike(rows, series)) >= OF_THE_REST:
        return f"{words} beyond what features explain: {target} by {left:.2f} (serial correlation)"
    return f"{words}: '{of}' by {alike:.2f} (serial correlation)" if clock else ""


def _series(rows: CheckedRows) -> RowSeries:
    """A stretch of rows in the order of time, or of the source where no time is named."""
    places = rows.in_order
    known = np.isin(places, rows.training)
    return RowSeries(places, np.where(known, rows.y[places].astype(float), np.nan), known)


def _clock(rows: CheckedRows, series: RowSeries) -> str:
    """The column that holds times: the one named, one of dates, or one that rises from row to row."""
    if rows.study.columns.time:
        return rows.study.columns.time
    dates = [column.name for column in rows.table.contract if column.kind == "date"]
    rising = (
        feature.name
        for feature in rows.features
        if feature.kind == "numeric" and row_numbers(rows.numbers(feature.name, series.places)) == "rising"
    )
    return dates[0] if dates else next(rising, "")


def _within(values: np.ndarray, series: RowSeries, is_class: bool) -> np.ndarray:
    """Normal scores of values without what the target explains, so that rows sorted by it are no series."""
    scores = np.full(len(values), np.nan)
    if is_class:
        for k in np.unique(series.target[series.known]):
            scores[series.target == k] = normal_scores(values[series.target == k])
        return scores
    scores = np.where(series.known, normal_scores(values), np.nan)
    target = normal_scores(series.target)
    both = np.isfinite(scores) & np.isfinite(target)
    slope = float(scores[both] @ target[both] / max(target[both] @ target[both], 1e-12)) if both.any() else 0.0
    return scores - slope * target


def _features_alike(rows: CheckedRows, series: RowSeries) -> tuple[float, str]:
    """The greatest serial correlation of a column, if it is none of chance, and the column."""
    found = [(0.0, "")]
    for feature in rows.features:
        scores = _within(rows.numbers(feature.name, series.places), series, rows.is_class)
        correlation, p_value = serial_correlation(scores)
        found += [(correlation, feature.name)] * (p_value < rows.level)
    return max(found)


def _target_alike(rows: CheckedRows, series: RowSeries) -> float:
    """The serial correlation of the target beyond that in the order of any column; none where rows are sorted by it."""
    if _is_sorted(rows, series):
        return 0.0
    used = np.flatnonzero(series.known)
    scores = normal_scores(series.target)[used]
    return _beyond_columns(scores, used, rows.matrix(series.places[used]), len(series.places), rows.level)


def _is_sorted(rows: CheckedRows, series: RowSeries) -> bool:
    """Whether rows are in the order of their targets, or class by class."""
    known = series.target[series.known]
    steps = np.diff(known)
    moves = steps[steps != 0] > 0
    if not len(moves) or max(moves.mean(), 1 - moves.mean()) >= SORTED:
        return True
    return rows.is_class and bool(np.count_nonzero(steps) < FEW_CHANGES * len(rows.table.classes))


def _lagged(rows: CheckedRows, series: RowSeries) -> str:
    """Words where a column is the target of some rows before."""
    for feature in rows.features:
        if feature.kind == "numeric" and (lag := lag_of_copy(rows.numbers(feature.name, series.places), series.target)):
            before = "the row before" if lag == 1 else f"{lag} rows before"
            return f"'{feature.name}' is {rows.table.target} of {before} in the source, as in a series of times"
    return ""


def _rest_alike(rows: CheckedRows, series: RowSeries) -> float:
    """The serial correlation of what trees leave of the target, out of fold; 0 where chance gives as much.

    What trees cannot follow of a column is alike in the order of that column too, so the most of those is taken off
    first: a table that was sorted by a column is no series.
    """
    used = np.flatnonzero(series.known)
    first = max(0, (len(used) - MOST_FITTED) // 2)
    used = used[first : first + MOST_FITTED]
    if _is_sorted(rows, series) and not rows.is_class:
        return 0.0
    X, y = rows.matrix(series.places[used]), series.target[used]
    left = residuals(X, y, np.random.default_rng(0).permutation(len(used)) % 2, is_class=rows.is_class)
    of = y if _is_sorted(rows, series) else np.zeros(len(y))
    for k in np.unique(of):
        left[of == k] -= left[of == k].mean(axis=0)
    return max(_beyond_columns(left[:, j], used, X, len(series.places), rows.level) for j in range(left.shape[1]))


def _beyond_columns(scores: np.ndarray, used: np.ndarray, X: np.ndarray, n: int, level: float) -> float:
    """The serial correlation of scores of some of n rows beyond the most that they have in the order of a column."""
    in_order = np.full(n, np.nan)
    in_order[used] = scores
    correlation, p_value = serial_correlation(in_order)
    by_columns = (serial_correlation(scores[np.argsort(x, kind="stable")])[0] for x in X.T if len(np.unique(x)) > 2)
    return correlation - max(0.0, max(by_columns, default=0.0)) if p_value < level else 0.0


def _remedy(rows: CheckedRows, clock: str) -> str:
    how = "say split.holdout: time and folds_by: time"
    if clock == rows.study.columns.time and clock:
        return how
    if clock:
        return f"if rows to be predicted are later than these, say columns.time: {clock}, and {how}"
    return f"if rows are in the order of time, name the column that holds it in columns.time, and {how}"
