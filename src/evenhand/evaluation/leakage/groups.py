"""Rows of one customer, machine or other group that stand on both sides of the holdout or of a fold."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import poisson, rankdata

from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding, named, thinned
from evenhand.evaluation.leakage.trees import residuals
from evenhand.records.checks import Severity
from evenhand.records.pipeline import HOLDOUT, TRAINING

FEWEST_GROUPS, MOST_PER_GROUP, REPEATED = 30, 50, 0.5
DIGITS = 6
NEAR, WINDOW = 0.25, 101
STATIC, LEANING, BY_CHANCE, MOST_ROUNDS = 0.75, 0.4, 0.6, 8
ONE_LABEL, ONE_LABEL_OF_STATIC = 0.05, 0.3
FEWEST_EXPECTED = 10
MOST_PAIRS = 2_000
MOST_FITTED, MOST_OF_ERROR = 4_000, 0.8
MOST_STARTS = 12
MANY_STATIC, RARE_BY_CHANCE = 3, 0.05


@dataclass(frozen=True)
class Group:
    """Columns whose values recur together, and how alike the targets of rows with the same ones are."""

    columns: list[str]
    codes: np.ndarray
    sameness: float  # differing targets within a group over those of neighbouring groups; 1 where nothing is shared
    static: tuple[float, ...]  # how often each column that agrees within groups does by chance

    @property
    def severity(self) -> Severity:
        """A group has one target, or its columns are those of one thing."""
        is_one = float(np.prod(self.static)) <= RARE_BY_CHANCE
        if self.sameness <= (ONE_LABEL_OF_STATIC if is_one else ONE_LABEL):
            return "warning"
        return "note" if sum(each <= RARE_BY_CHANCE for each in self.static) >= MANY_STATIC else "ok"


def groups_across_sides(rows: CheckedRows) -> CheckFinding:
    """Groups of rows that share columns and their target, and stand on both sides."""
    if rows.study.columns.group is not None:
        return _of_named(rows, rows.study.columns.group)
    some = rows.distinct
    for group in sorted(_groups(rows, some), key=lambda each: (each.severity != "warning", -len(each.columns))):
        n = _across(group.codes, rows, some) if group.severity != "ok" else 0
        if n >= FEWEST_EXPECTED and (group.severity == "note" or _is_learned(group, rows, some)):
            return CheckFinding(group.severity, *_in_words(group, n, rows))
    return CheckFinding("ok", f"no values of {len(rows.features)} columns recur as those of groups do")


def _of_named(rows: CheckedRows, name: str) -> CheckFinding:
    """Whether the groups that a study names stand on both sides."""
    n = _across(pd.factorize(rows.frame[name])[0], rows, np.arange(len(rows.y)))
    if not n:
        return CheckFinding("ok", f"no '{name}' stands on both sides")
    words = f"{n:,} rows to be judged share '{name}' with rows trained on"
    return CheckFinding("warning", words, "say split.holdout: group and folds_by: group")


def _in_words(group: Group, n: int, rows: CheckedRows) -> tuple[str, str]:
    n_groups = int(group.codes.max()) + 1
    alike = f", and rows that share them have the same {rows.table.target}" if group.severity == "warning" else ""
    words = (
        f"the values of {named(group.columns)} recur in {n_groups:,} groups of rows{alike}; {n:,} rows to be judged "
        "share them with rows trained on"
    )
    if len(group.columns) == 1:
        remedy = f"if it says whose rows they are, say columns.group: {group.columns[0]}, split.holdout: group and "
        return words, f"{remedy}folds_by: group"
    return words, (
        "if they are rows of one customer, machine or the like, add the column that says which, name it in "
        "columns.group, and say split.holdout: group and folds_by: group"
    )


def _across(codes: np.ndarray, rows: CheckedRows, some: np.ndarray) -> int:
    """Rows to be judged, in the holdout or in their fold, whose group has rows that are trained on."""
    side, fold = (rows.sides[name].to_numpy()[some] for name in ("side", "repeat_0"))
    n = int(np.isin(codes[side == HOLDOUT], codes[side == TRAINING]).sum())
    trained = side == TRAINING
    pairs = pd.DataFrame({"group": codes[trained], "fold": fold[trained]})
    n_folds = pairs.groupby("group")["fold"].transform("nunique")
    return n + int((n_folds > 1).sum())


def _groups(rows: CheckedRows, some: np.ndarray) -> Iterator[Group]:
    coded = {feature.name: _coded(rows, feature.name, some) for feature in rows.features}
    coded = {name: codes for name, codes in coded.items() if codes.max(initial=0) > 0}
    is_training = rows.sides["side"].to_numpy()[some] == TRAINING
    y = rows.y[some[is_training]].astype(float)
    y = y if rows.is_class else rankdata(y) / len(y)
    seen: set[frozenset[str]] = set()
    for start in _starts(coded):
        if seen & {frozenset(start)}:
            continue
        static, codes = _grown(start, coded)
        seen |= {frozenset(pair) for pair in combinations([*start, *static], 2)}
        if len(start) == 1 or static:
            sameness = _sameness(codes[is_training], y, rows)
            yield Group([*start, *static], codes, sameness, tuple(static.values()))


def _grown(start: tuple[str, ...], coded: dict[str, np.ndarray]) -> tuple[dict[str, float], np.ndarray]:
    """The columns that agree where the first do, each with how often it does by chance; and their joint codes."""
    static: dict[str, float] = {}
    codes = _joined([coded[name] for name in start])
    for _ in range(MOST_ROUNDS):
        pairs = _pairs(codes)
        if len(pairs) < FEWEST_EXPECTED:
            break
        rest = {name: other for name, other in coded.items() if name not in start and name not in static}
        beyond = {name: _beyond_chance(other, pairs) for name, other in rest.items()}
        best = max(beyond, key=lambda name: beyond[name], default="")
        added = [name for name in beyond if beyond[name] >= STATIC] or [best] * (beyond.get(best, 0.0) >= LEANING)
        if not added:
            break
        static |= {name: _by_chance(coded[name]) for name in added}
        codes = _joined([codes, *(coded[name] for name in added)])
    return static, codes


def _is_learned(group: Group, rows: CheckedRows, some: np.ndarray) -> bool:
    """Whether trees err far more on groups that they have not seen than on other rows of those that they have."""
    is_training = rows.sides["side"].to_numpy()[some] == TRAINING
    last = np.sort(group.codes[is_training])[:MOST_FITTED][-1]
    used = is_training & (group.codes <= last)
    random = np.random.default_rng(0)
    apart, mixed = random.integers(0, 3, last + 1)[group.codes[used]], random.integers(0, 3, int(used.sum()))
    X, y = rows.matrix(some[used]), rows.y[some[used]].astype(float)
    seen, unseen = (np.mean(residuals(X, y, folds, is_class=rows.is_class) ** 2) for folds in (mixed, apart))
    return bool(seen <= MOST_OF_ERROR * unseen)


def _coded(rows: CheckedRows, name: str, some: np.ndarray) -> np.ndarray:
    """The values of a column as codes in their order; equal are those that agree to six digits, or nearly and often."""
    values = rows.numbers(name, some)
    scale = np.nanmax(np.abs(values), initial=0.0)
    rounded = np.round(values / scale, DIGITS) if scale > 0 else values
    codes = pd.factorize(rounded, sort=True, use_na_sentinel=False)[0]
    if codes.max(initial=0) < len(codes) / 2 or not np.isfinite(values).all():
        return codes
    near = _near(values)
    return near if _recurs(near) else codes


def _near(values: np.ndarray) -> np.ndarray:
    """Codes of values that are nearer to each other than a quarter of the usual gap thereabouts.

    Of values without clusters chance leaves 39 % so near to another, 1 - exp(-1/2).
    """
    order = np.argsort(values, kind="stable")
    gaps = np.diff(values[order])
    window = np.ones(min(WINDOW, len(gaps)))
    usual = np.convolve(gaps, window, "same") / np.convolve(np.ones(len(gaps)), window, "same")
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = np.concatenate([[0], np.cumsum(gaps > NEAR * usual)])
    return codes


def _starts(coded: dict[str, np.ndarray]) -> Iterator[tuple[str, ...]]:
    """Columns, and pairs of those with the most values, that have many values of which each recurs a few times."""
    single = [name for name, codes in coded.items() if _recurs(codes)]
    yield from ((name,) for name in single)
    coarse = [name for name in coded if name not in single and 2 * coded[name].max() < len(coded[name])]
    coarse.sort(key=lambda name: -int(coded[name].max()))
    for one, other in combinations(coarse[:MOST_STARTS], 2):
        if _recurs(_joined([coded[one], coded[other]])):
            yield one, other


def _recurs(codes: np.ndarray) -> bool:
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    repeated = counts[(counts > 1) & (counts <= len(codes) / FEWEST_GROUPS)]
    is_many = len(repeated) >= FEWEST_GROUPS and len(codes) / len(counts) <= MOST_PER_GROUP
    return bool(is_many and repeated.sum() >= REPEATED * len(codes))


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """One code for each combination of codes, in their order."""
    codes = parts[0].astype(np.int64)
    for part in parts[1:]:
        codes = np.unique(codes * (int(part.max()) + 1) + part, return_inverse=True)[1]
    return np.unique(codes, return_inverse=True)[1]


def _pairs(codes: np.ndarray) -> np.ndarray:
    """Pairs of rows of one group, a bounded number of them."""
    order = np.argsort(codes, kind="stable")
    same = np.flatnonzero(np.diff(codes[order]) == 0)
    same = thinned(same, MOST_PAIRS) if len(same) else same
    return np.column_stack([order[same], order[same + 1]])


def _by_chance(codes: np.ndarray) -> float:
    """How often two rows agree in a column by chance."""
    return float(np.sum((np.bincount(codes) / len(codes)) ** 2))


def _beyond_chance(codes: np.ndarray, pairs: np.ndarray) -> float:
    """How much more often than by chance rows of a group agree in a column, as a share of what is possible."""
    by_chance = _by_chance(codes)
    agree = float((codes[pairs[:, 0]] == codes[pairs[:, 1]]).mean())
    return (agree - by_chance) / (1 - by_chance) if by_chance <= BY_CHANCE else 0.0


def _sameness(codes: np.ndarray, y: np.ndarray, rows: CheckedRows) -> float:
    """How much targets differ within groups, over how much they do between neighbouring groups; 1 if by chance.

    Neighbours by value are compared with, since the target may just rise smoothly with the columns.
    """
    order = np.lexsort((np.random.default_rng(0).random(len(codes)), codes))
    is_same = np.diff(codes[order]) == 0
    apart = np.diff(y[order])
    gaps = (apart != 0).astype(float) if rows.is_class else apart**2
    within, between = gaps[is_same], gaps[~is_same]
    if not len(within) or not len(between) or between.mean() == 0:
        return 1.0
    expected = len(within) * between.mean()
    if rows.is_class:
        by_chance = poisson.cdf(within.sum(), expected)
        return float(within.mean() / between.mean()) if by_chance < rows.level else 1.0
    return float(within.mean() / between.mean()) if len(within) >= FEWEST_GROUPS else 1.0
