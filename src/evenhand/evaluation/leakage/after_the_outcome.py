"""Columns known after the outcome only: amounts filled in, times later than their row, what moves with time."""

from collections.abc import Iterator

import numpy as np
from scipy.stats import norm, rankdata, spearmanr

from evenhand.evaluation.leakage.column_times import clock_of, seconds_of, times_of
from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding
from evenhand.evaluation.leakage.outcome_columns import FEWEST_PURE, REMEDY, Trace, finding, in_words, traces

DEFAULT_SHARE, FEWEST_AMOUNTS, REACHED = 0.2, 10, 0.5
MOVED, MOVED_FAR, STILL = 0.5, 0.8, 0.2
FEWEST_KINDS = 30  # a term agreed on beforehand has fewer values than an amount that grows
LEFT_OUT = "leave it out, as it is now: do not name it in columns.time, and make no column of it"


def known_after_the_outcome(rows: CheckedRows) -> CheckFinding:
    """Amounts and times that are filled in where one outcome came only, or that move with time there only."""
    if not rows.is_class:
        return CheckFinding("skipped", "needs classes: an outcome that comes or not")
    clock = clock_of(rows)
    outcomes = dict(_dates_of_outcomes(rows, clock))
    warned, noted = list[str](), list[str]()
    for feature in rows.features:
        for is_grave, words in _of_feature(feature.name, feature.kind == "numeric", clock, outcomes, rows):
            (warned if is_grave else noted).append(words)
            break
    left_out = [words for words, _ in outcomes.values()]
    remedy = REMEDY if warned or noted else LEFT_OUT
    return finding(warned, [*noted, *left_out], "no column is filled in for one outcome only", remedy)


def _of_feature(
    name: str,
    is_numeric: bool,
    clock: np.ndarray | None,
    outcomes: dict[str, tuple[str, np.ndarray]],
    rows: CheckedRows,
) -> Iterator[tuple[bool, str]]:
    """What a column gives away, the gravest first, and whether it is grave."""
    values = rows.numbers(name, rows.some) if is_numeric else None
    if values is not None and (found := [each for each in _filled_in(values, rows) if _is_telling(each)]):
        yield True, in_words(name, found, "filled in", "left as it was", rows)
    if clock is not None and (words := _later(name, clock, rows)):
        yield words
    if values is not None:
        for date, (_, times) in outcomes.items():
            if words := _moves_with(name, values, date, times, clock, rows):
                yield words
        if clock is not None and (words := _moves(name, values, rankdata(clock), rows)):
            yield words


def _is_telling(trace: Trace) -> bool:
    return trace.is_pure and trace.marked and trace.reached >= REACHED


def _dates_of_outcomes(rows: CheckedRows, clock: np.ndarray | None) -> Iterator[tuple[str, tuple[str, np.ndarray]]]:
    """Dates that no model reads and that are filled in, or later than their row, where one outcome came only."""
    for name in rows.dates.columns:
        seconds = seconds_of(rows.dates[name].iloc[rows.some])
        is_there = np.isfinite(seconds)
        marks = [("filled in", is_there)]
        if clock is not None:
            marks.append((f"later than {rows.study.columns.time}", is_there & (seconds > clock)))
        for word, marked in marks:
            found = [each for each in traces(marked, rows) if each.p_value < rows.level and each.is_pure]
            if any(each.reached >= REACHED for each in found):
                words = in_words(name, found, word, f"not {word}", rows)
                yield name, (f"{words} (a date that no model reads)", seconds)
                break


def _later(name: str, clock: np.ndarray, rows: CheckedRows) -> tuple[bool, str] | None:
    """Words where a column of times is later than its row in one class only."""
    times = times_of(rows.column(name, rows.some), clock)
    known = np.isfinite(times)
    if known.sum() < 2 * FEWEST_PURE or len(np.unique(times[known])) <= FEWEST_AMOUNTS:
        return None
    if not spearmanr(times[known], clock[known])[0] >= MOVED:
        return None
    later = known & (times > clock)
    found = [each for each in traces(later, rows) if each.p_value < rows.level and each.is_pure]
    if not found:
        return None
    word = f"later than {rows.study.columns.time}"
    is_grave = any(each.reached >= REACHED for each in found)
    return is_grave, in_words(name, found, word, f"not {word}", rows)


def _moves_with(
    name: str, values: np.ndarray, date: str, times: np.ndarray, clock: np.ndarray | None, rows: CheckedRows
) -> tuple[bool, str] | None:
    """Words where an amount moves with the date of an outcome, beyond what it does with the time of its row."""
    known = np.isfinite(values) & np.isfinite(times)
    if known.sum() < FEWEST_PURE or len(np.unique(values[known])) < FEWEST_KINDS or np.ptp(times[known]) == 0:
        return None
    moved = _partial(values[known], times[known], None if clock is None else clock[known])
    p_value = 2 * norm.sf(np.arctanh(min(abs(moved), 0.9999)) * np.sqrt(known.sum() - 4))
    if abs(moved) < MOVED or p_value >= rows.level:
        return None
    beside = "" if clock is None else f" beside {rows.study.columns.time}"
    is_grave = clock is not None and abs(moved) >= MOVED_FAR
    return is_grave, f"'{name}' moves with '{date}', the date of an outcome{beside} (rank correlation {moved:.2f})"


def _partial(values: np.ndarray, times: np.ndarray, clock: np.ndarray | None) -> float:
    """The rank correlation with a date, without what both have of the time of the row."""
    own = float(spearmanr(values, times)[0])
    if clock is None or np.ptp(clock) == 0:
        return own
    first, second = (float(spearmanr(each, clock)[0]) for each in (values, times))
    rest = (1 - first**2) * (1 - second**2)
    return (own - first * second) / np.sqrt(rest) if rest > 1e-6 else 0.0


def _filled_in(values: np.ndarray, rows: CheckedRows) -> Iterator[Trace]:
    """What values other than the most common one say, where they are amounts of many sizes."""
    known = values[np.isfinite(values)]
    kinds, counts = np.unique(known, return_counts=True)
    if len(kinds) <= FEWEST_AMOUNTS or counts.max() < DEFAULT_SHARE * len(values):
        return
    is_set = np.isfinite(values) & (values != kinds[counts.argmax()])
    yield from (each for each in traces(is_set, rows) if each.p_value < rows.level)


def _moves(name: str, values: np.ndarray, clock: np.ndarray, rows: CheckedRows) -> tuple[bool, str] | None:
    """Words where a value rises or falls with time among the rows of one class only."""
    known = np.isfinite(values)
    for k in range(len(rows.table.classes)):
        of_class, others = known & (rows.y_some == k), known & (rows.y_some != k)
        if (
            min(of_class.sum(), others.sum()) < FEWEST_PURE
            or min(map(_n_kinds, (values[of_class], values[others]))) < 2
        ):
            continue
        own = spearmanr(values[of_class], clock[of_class])[0]
        other = spearmanr(values[others], clock[others])[0]
        gap = abs(np.arctanh(np.clip(own, -0.999, 0.999)) - np.arctanh(np.clip(other, -0.999, 0.999)))
        deviation = np.sqrt(1 / (of_class.sum() - 3) + 1 / (others.sum() - 3))
        if abs(own) >= MOVED and abs(other) <= STILL and 2 * norm.sf(gap / deviation) < rows.level:
            where = f"moves with {rows.study.columns.time} where {rows.table.target} is {rows.table.classes[k]}"
            words = f"'{name}' {where}, not elsewhere (rank correlation {own:.2f} and {other:.2f})"
            return bool(abs(own) >= MOVED_FAR), words
    return None


def _n_kinds(values: np.ndarray) -> int:
    return len(np.unique(values))
