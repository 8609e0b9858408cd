"""Columns that an outcome left its trace in: gaps that predict it, and amounts that are known after it only."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, norm, rankdata, spearmanr

from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding

PURE, FEWEST_PURE = 0.95, 20
WARNED_AREA, NOTED_AREA = 0.9, 0.75
WARNED_SHARE, NOTED_SHARE = 0.5, 0.2
DEFAULT_SHARE, FEWEST_AMOUNTS, REACHED = 0.2, 10, 0.5
MOVED, STILL = 0.5, 0.2
REMEDY = "put it in columns.ignore unless it is known, filled in like this, when a prediction is asked for"


@dataclass(frozen=True)
class Trace:
    """What being marked (missing, or filled in) says about the target."""

    strength: float  # AUC of a class against the rest, or the share of the target's spread
    p_value: float
    share: float = 0.0  # of the class among the rows of one side, where the class is not the common one
    reached: float = 0.0  # the share of the class that stands on that side
    n: int = 0
    of: str = ""
    marked: bool = True

    @property
    def is_pure(self) -> bool:
        """Whether one side is all but made of one class."""
        return self.share >= PURE and self.n >= FEWEST_PURE


def missing_values(rows: CheckedRows) -> CheckFinding:
    """Columns whose gaps alone predict the target."""
    warned, noted, n_gappy = [], [], 0
    for feature in rows.features:
        gaps = rows.frame[feature.name].iloc[rows.some].isna().to_numpy()
        if not 0 < gaps.sum() < len(gaps):
            continue
        n_gappy += 1
        traces = [each for each in _traces(gaps, rows) if each.p_value < rows.level]
        strong, mild = (WARNED_AREA, NOTED_AREA) if rows.is_class else (WARNED_SHARE, NOTED_SHARE)
        if any(each.is_pure or each.strength >= strong for each in traces):
            warned.append(_in_words(feature.name, traces, "missing", "there", rows))
        elif any(each.strength >= mild for each in traces):
            noted.append(_in_words(feature.name, traces, "missing", "there", rows))
    return _finding(warned, noted, f"gaps of {n_gappy} columns do not predict {rows.table.target}")


def known_after_the_outcome(rows: CheckedRows) -> CheckFinding:
    """Amounts that are filled in where one outcome came only, or that move with time there only."""
    if not rows.is_class:
        return CheckFinding("skipped", "needs classes: an outcome that comes or not")
    warned, noted = [], []
    times = rows.frame[rows.study.columns.time].iloc[rows.some] if rows.study.columns.time else None
    clock = None if times is None else rankdata(times.to_numpy())
    for feature in rows.features:
        if feature.kind != "numeric":
            continue
        values = rows.numbers(feature.name, rows.some)
        traces = [t for t in _filled_in(values, rows) if t.is_pure and t.marked and t.reached >= REACHED]
        if traces:
            warned.append(_in_words(feature.name, traces, "filled in", "left as it was", rows))
        elif clock is not None and (words := _moves(values, clock, rows)):
            noted.append(f"'{feature.name}' {words}")
    return _finding(warned, noted, "no column is filled in for one outcome only")


def _finding(warned: list[str], noted: list[str], well: str) -> CheckFinding:
    found = [*warned, *noted]
    if not found:
        return CheckFinding("ok", well)
    rest = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return CheckFinding("warning" if warned else "note", "; ".join(found[:4]) + rest, REMEDY)


def _filled_in(values: np.ndarray, rows: CheckedRows) -> Iterator[Trace]:
    """What values other than the most common one say, where they are amounts of many sizes."""
    known = values[np.isfinite(values)]
    kinds, counts = np.unique(known, return_counts=True)
    if len(kinds) <= FEWEST_AMOUNTS or counts.max() < DEFAULT_SHARE * len(values):
        return
    is_set = np.isfinite(values) & (values != kinds[counts.argmax()])
    yield from (each for each in _traces(is_set, rows) if each.p_value < rows.level)


def _moves(values: np.ndarray, clock: np.ndarray, rows: CheckedRows) -> str:
    """Words where a value rises or falls with time among the rows of one class only."""
    known = np.isfinite(values)
    found = []
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
            found.append(f"moves with {rows.study.columns.time} where {rows.table.target} is {rows.table.classes[k]}, "
                         f"not elsewhere (rank correlation {own:.2f} and {other:.2f})")  # fmt: skip
    return found[0] if found else ""


def _n_kinds(values: np.ndarray) -> int:
    return len(np.unique(values))


def _traces(marked: np.ndarray, rows: CheckedRows) -> Iterator[Trace]:
    """What a mark says of each class, or of a number."""
    y = rows.y_some
    if not 0 < marked.sum() < len(marked):
        return
    if not rows.is_class:
        ranks = rankdata(y)
        correlation = abs(np.corrcoef(marked, ranks)[0, 1])
        p_value = 2 * norm.sf(np.arctanh(min(correlation, 0.9999)) * np.sqrt(max(len(y) - 3, 1)))
        yield Trace(float(correlation**2), float(p_value))
        return
    for k in range(1, 2) if len(rows.table.classes) == 2 else range(len(rows.table.classes)):
        yield from _of_class(marked, y == k, str(rows.table.classes[k]))
        if len(rows.table.classes) == 2:
            yield from _of_class(marked, y == 0, str(rows.table.classes[0]))


def _of_class(marked: np.ndarray, is_class: np.ndarray, of: str) -> Iterator[Trace]:
    base, n_class = is_class.mean(), is_class.sum()
    if not 0 < base < 1:
        return
    area = 0.5 * (1 + abs(marked[is_class].mean() - marked[~is_class].mean()))
    pooled = marked.mean()
    deviation = np.sqrt(pooled * (1 - pooled) * (1 / n_class + 1 / (len(marked) - n_class)))
    p_area = float(2 * norm.sf((2 * area - 1) / deviation))
    for side in (True, False):
        n, hits = int((marked == side).sum()), int((is_class & (marked == side)).sum())
        is_rarer = base <= 0.5
        yield Trace(
            float(area),
            max(p_area, float(binom.sf(hits - 1, n, base))) if is_rarer else p_area,
            hits / n if is_rarer else 0.0,
            hits / n_class,
            n,
            of,
            side,
        )


def _in_words(name: str, traces: list[Trace], marked: str, other: str, rows: CheckedRows) -> str:
    pure = [each for each in traces if each.is_pure]
    if pure:
        one = max(pure, key=lambda each: each.n)
        side = marked if one.marked else other
        return f"where '{name}' is {side} ({one.n:,} training rows), {one.share:.0%} have {rows.table.target} {one.of}"
    measure = "AUC" if rows.is_class else "R2"
    return f"whether '{name}' is {marked} alone has {measure} {max(each.strength for each in traces):.3f}"
