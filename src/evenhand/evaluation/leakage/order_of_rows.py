"""Rows in the order of time: those that are trained on after those that are judged, and random splits of such rows."""

import re
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.model_selection import cross_val_predict

from evenhand.data.splits import fold_rows
from evenhand.evaluation.leakage.entry import Finding, Rows
from evenhand.records.pipeline import FINAL
from evenhand.statistics.row_numbers import row_numbers
from evenhand.statistics.serial import lag_of_copy, normal_scores, serial_correlation

MOST_IN_ORDER, MOST_FITTED, FEWEST_ROWS = 20_000, 6_000, 60
ALIKE, OF_THE_REST, OF_THE_TARGET = 0.2, 0.15, 0.5
SORTED = 0.95
COORDINATES = re.compile(r"(.*_)?(lat|latitude|lon|lng|long|longitude|easting|northing)", re.IGNORECASE)


def later_training_rows(rows: Rows) -> Finding:
    """Training rows that are later than rows they are judged on, where there is a time column."""
    study, ledger = rows.study, rows.ledger
    if study.columns.time is None:
        return Finding("skipped", "no columns.time")
    times = rows.frame[study.columns.time].to_numpy()
    late = {}
    for fold in (*ledger.folds, FINAL):
        trained, judged = fold_rows(ledger, fold)
        if len(judged) and (n := int((times[trained] > times[judged].min()).sum())):
            late[fold] = n
    if not late:
        return Finding("ok", "every training row is earlier than the rows it is judged on")
    counts = ", ".join(f"{fold}: {n:,}" for fold, n in list(late.items())[:4])
    severity = "error" if FINAL in late and study.split.holdout == "time" else "warning"
    words = f"{counts} training rows are later than the first judged one"
    return Finding(severity, words, "use folds_by: time to rule it out")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Series:
    """Rows in the order of time or of the source; targets are NaN where a row is not trained on."""

    places: np.ndarray
    target: np.ndarray
    known: np.ndarray


def order_of_rows(rows: Rows) -> Finding:
    """Whether rows that are split at random are alike to their neighbours in the order of time or of the source."""
    split = rows.study.split
    if "time" in {split.holdout, split.folds_by}:
        return Finding("ok", "rows are split by time")
    series = _series(rows)
    if series.known.sum() < FEWEST_ROWS:
        return Finding("skipped", "too few rows to see an order")
    clock = _clock(rows, series)
    alike, of = _features_alike(rows, series)
    if lagged := _lagged(rows, series):
        return Finding("warning", lagged, _remedy(rows, clock))
    own, p_own = _target_alike(rows, series)
    words = f"neighbours in the order of {'time' if rows.study.columns.time else 'the source'} are alike"
    if alike >= ALIKE and (left := _rest_alike(rows, series)) >= OF_THE_REST:
        is_place = not clock and any(COORDINATES.fullmatch(feature.name) for feature in rows.features)
        words = f"{words} beyond what features explain: {rows.table.target} by {left:.2f} (serial correlation)"
        return Finding("note" if is_place else "warning", words, _remedy(rows, clock, is_place=is_place))
    if own >= OF_THE_TARGET and p_own < rows.level and alike < ALIKE:
        return Finding("warning", f"{words}: {rows.table.target} by {own:.2f} (serial correlation)", _remedy(rows, clock))
    if clock and alike >= ALIKE:
        return Finding("warning", f"{words}: '{of}' by {alike:.2f} (serial correlation)", _remedy(rows, clock))
    if clock:
        return Finding("note", f"'{clock}' holds times, and rows are split at random", _remedy(rows, clock))
    return Finding("ok", "neighbours in the order of the source are no more alike than others")


def _series(rows: Rows) -> Series:
    """A stretch of rows in the order of time, or of the source where no time is named."""
    in_order = np.arange(len(rows.y)) if rows.study.columns.time else np.argsort(rows.order)
    first = max(0, (len(in_order) - MOST_IN_ORDER) // 2)
    places = in_order[first : first + MOST_IN_ORDER]
    known = np.isin(places, rows.training)
    return Series(places, np.where(known, rows.y[places].astype(float), np.nan), known)


def _clock(rows: Rows, series: Series) -> str:
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


def _within(values: np.ndarray, series: Series, is_class: bool) -> np.ndarray:
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


def _features_alike(rows: Rows, series: Series) -> tuple[float, str]:
    """The greatest serial correlation of a column, if it is none of chance, and the column."""
    found = [(0.0, "")]
    for feature in rows.features:
        scores = _within(rows.numbers(feature.name, series.places), series, rows.is_class)
        correlation, p_value = serial_correlation(scores)
        found += [(correlation, feature.name)] * (p_value < rows.level)
    return max(found)


def _target_alike(rows: Rows, series: Series) -> tuple[float, float]:
    """The serial correlation of the target; none where rows are sorted by it."""
    known = series.target[series.known]
    steps = np.diff(known)
    if (steps >= 0).mean() >= SORTED or (steps <= 0).mean() >= SORTED:
        return 0.0, 1.0
    if rows.is_class and np.count_nonzero(steps) < 0.1 * len(known):
        return 0.0, 1.0
    return serial_correlation(normal_scores(series.target))


def _lagged(rows: Rows, series: Series) -> str:
    """Words where a column is the target of some rows before."""
    for feature in rows.features:
        if feature.kind == "numeric" and (
            lag := lag_of_copy(rows.numbers(feature.name, series.places), series.target)
        ):
            before = "the row before" if lag == 1 else f"{lag} rows before"
            return f"'{feature.name}' is {rows.table.target} of {before} in the source, as in a series of times"
    return ""


def _rest_alike(rows: Rows, series: Series) -> float:
    """The serial correlation of what trees leave of the target, out of fold; 0 where chance gives as much."""
    used = np.flatnonzero(series.known)
    first = max(0, (len(used) - MOST_FITTED) // 2)
    used = used[first : first + MOST_FITTED]
    X = np.column_stack([_filled(rows.numbers(each.name, series.places[used])) for each in rows.features])
    y = series.target[used]
    settings = {"n_estimators": 30, "min_samples_leaf": 3, "random_state": 0}
    folds = np.random.default_rng(0).permutation(len(used)) % 2
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(2)]
    if not rows.is_class:
        left = (y - cross_val_predict(ExtraTreesRegressor(**settings), X, y, cv=splits))[:, None]
    else:
        kinds, codes = np.unique(y, return_inverse=True)
        if any(len(np.unique(codes[trained])) < len(kinds) for trained, _ in splits):
            return 0.0
        shares = cross_val_predict(ExtraTreesClassifier(**settings), X, codes, cv=splits, method="predict_proba")
        left = (np.eye(len(kinds))[codes] - shares)[:, -1 if len(kinds) == 2 else slice(None)].reshape(len(y), -1)
    series_of = np.full((len(series.places), left.shape[1]), np.nan)
    series_of[used] = left - left.mean(axis=0)
    found = [serial_correlation(series_of[:, j]) for j in range(left.shape[1])]
    return max((correlation for correlation, p_value in found if p_value < rows.level), default=0.0)


def _filled(values: np.ndarray) -> np.ndarray:
    """Missing values below all others."""
    return np.where(np.isfinite(values), values, np.nanmin(values, initial=0.0) - 1.0)


def _remedy(rows: Rows, clock: str, *, is_place: bool = False) -> str:
    if is_place:
        return "if new rows come from other places, say columns.group with a column of places and split.holdout: group"
    how = "say split.holdout: time and folds_by: time"
    if clock == rows.study.columns.time and clock:
        return how
    if clock:
        return f"if rows to be predicted are later than these, say columns.time: {clock}, and {how}"
    return f"if rows are in the order of time, name the column that holds it in columns.time, and {how}"
