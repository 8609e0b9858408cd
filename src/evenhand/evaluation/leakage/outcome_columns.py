"""Columns whose gaps predict the target, and what being marked in any way says about it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, norm, rankdata

from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding

PURE, FEWEST_PURE = 0.95, 20
WARNED_AREA, NOTED_AREA = 0.9, 0.75
WARNED_SHARE, NOTED_SHARE = 0.5, 0.2
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
        gaps = rows.column(feature.name, rows.some).isna().to_numpy()
        if not 0 < gaps.sum() < len(gaps):
            continue
        n_gappy += 1
        found = [each for each in traces(gaps, rows) if each.p_value < rows.level]
        strong, mild = (WARNED_AREA, NOTED_AREA) if rows.is_class else (WARNED_SHARE, NOTED_SHARE)
        if any(each.is_pure or each.strength >= strong for each in found):
            warned.append(in_words(feature.name, found, "missing", "there", rows))
        elif any(each.strength >= mild for each in found):
            noted.append(in_words(feature.name, found, "missing", "there", rows))
    return finding(warned, noted, f"gaps of {n_gappy} columns do not predict {rows.table.target}")


def finding(warned: list[str], noted: list[str], well: str, remedy: str = REMEDY) -> CheckFinding:
    """A warning of some columns, or a note of others, the first of many; or that all is well."""
    found = [*warned, *noted]
    if not found:
        return CheckFinding("ok", well)
    rest = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return CheckFinding("warning" if warned else "note", "; ".join(found[:4]) + rest, remedy)


def traces(marked: np.ndarray, rows: CheckedRows) -> Iterator[Trace]:
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


def in_words(name: str, found: list[Trace], marked: str, other: str, rows: CheckedRows) -> str:
    """The strongest that a mark of a column says of the target, in words."""
    pure = [each for each in found if each.is_pure]
    if pure:
        one = max(pure, key=lambda each: each.n)
        side = marked if one.marked else other
        return f"where '{name}' is {side} ({one.n:,} training rows), {one.share:.0%} have {rows.table.target} {one.of}"
    measure = "AUC" if rows.is_class else "R2"
    return f"whether '{name}' is {marked} alone has {measure} {max(each.strength for each in found):.3f}"
