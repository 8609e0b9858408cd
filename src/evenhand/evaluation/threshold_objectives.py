"""What a threshold is for: from a purpose in conf to a threshold, and what that comes to on some rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.evaluation.bootstrap import figures_of_tables
from evenhand.evaluation.metrics import confusion
from evenhand.records.decision import DecisionOutcome
from evenhand.statistics.thresholds import (
    OperatingPoint,
    best_by_cost,
    best_by_metric,
    for_capacity,
    operating_points,
    with_false_positive_rate,
    with_precision,
)
from evenhand.study.study import Capacity, Decide
from evenhand.study.validation import Mistake, cost_mistakes, unknown

CONSTRAINED = frozenset({"precision", "false_positive_rate", "capacity"})
COST = "cost_per_row"


@dataclass(frozen=True)
class Purpose:
    """A purpose in numbers: `figure` is what outcomes are measured by, `level` the precision, rate or share asked."""

    kind: str
    figure: str
    words: str
    level: float = 0.0
    beta: float = 1.0
    cost: np.ndarray | None = None

    @property
    def lower_is_better(self) -> bool:
        """Whether a smaller figure is the better one."""
        return self.figure == COST


def purpose_of(decide: Decide, classes: Sequence[Any], share: float | None = None) -> Purpose:
    """The purpose that a study states; `share` is the capacity as a share of rows."""
    if decide.cost is not None:
        return Purpose("cost", COST, "least cost", cost=cost_matrix(decide.cost, classes))
    if decide.metric is not None:
        beta = decide.beta or 1.0
        words = f"best {decide.metric}" + (f" with beta {beta:g}" if decide.metric == "f_beta" else "")
        return Purpose("metric", decide.metric, words, beta=beta)
    if decide.precision is not None:
        return Purpose("precision", "recall", f"precision of at least {decide.precision:g}", decide.precision)
    if decide.false_positive_rate is not None:
        rate = decide.false_positive_rate
        return Purpose("false_positive_rate", "recall", f"false positive rate of at most {rate:g}", rate)
    assert decide.capacity is not None
    assert share is not None
    return Purpose("capacity", "recall", capacity_words(decide.capacity), share)


def usual_purpose(n_classes: int) -> Purpose:
    """What trials are measured by where the study decides nothing."""
    return Purpose("metric", "f1" if n_classes == 2 else "f1_macro", "best f1")


def capacity_words(capacity: Capacity) -> str:
    """A capacity as people say it."""
    if capacity.share is not None:
        return f"at most {capacity.share:.4g} of all rows"
    return f"at most {capacity.alerts:g} alerts per {'day' if capacity.per == 'day' else f'{capacity.per} rows'}"


def cost_matrix(cost: Any, classes: Sequence[Any]) -> np.ndarray:
    """Costs by true (rows) and predicted class, in the order of the classes; what is not named costs nothing."""
    if not isinstance(cost, dict):
        return np.asarray(cost, dtype=float)
    names = [str(label) for label in classes]
    return np.array([[cost.get(true, {}).get(predicted, 0.0) for predicted in names] for true in names], dtype=float)


def capacity_share(capacity: Capacity, n_rows: int, times: np.ndarray | None) -> float:
    """The share of rows that can be looked at; alerts per day are counted on the mean number of rows a day."""
    if capacity.share is not None:
        return capacity.share
    assert capacity.alerts is not None
    if isinstance(capacity.per, int):
        return capacity.alerts / capacity.per
    assert times is not None
    return capacity.alerts * n_days(times, capacity.day) / n_rows


def n_days(times: np.ndarray, day: float | None) -> int:
    """The days from the first to the last time, both of them counted."""
    if np.issubdtype(times.dtype, np.datetime64):
        days = times[~np.isnat(times)].astype("datetime64[D]").astype(np.int64)
    else:
        known = times.astype(float)
        days = np.floor(known[np.isfinite(known)] / (day or 1.0)).astype(np.int64)
    return int(days.max() - days.min()) + 1 if len(days) else 1


def purpose_mistakes(decide: Decide, classes: Sequence[Any], n_rows: int, times: np.ndarray | None) -> list[Mistake]:
    """Where a purpose does not fit the classes or times that the rows turned out to have."""
    if len(classes) != 2 and decide.cost is None:
        purpose = decide.purposes[0]
        return [(("decide", purpose), f"{purpose} needs two classes, but there are {len(classes)}: give cost")]
    found = [*_misnamed(decide.cost, classes)] if isinstance(decide.cost, dict) else []
    if decide.cost is not None and not found:
        found = [(("decide", "cost"), words) for words in _ill_fitting(cost_matrix(decide.cost, classes), classes)]
    if decide.capacity is not None:
        found += _capacity_mistakes(decide.capacity, n_rows, times)
    return found


def _misnamed(cost: dict[str, dict[str, float]], classes: Sequence[Any]) -> Iterator[Mistake]:
    names = [str(label) for label in classes]
    for true, row in cost.items():
        for predicted in (true, *row):
            if predicted not in names:
                yield unknown(("decide", "cost", true), predicted, names, "class")


def _ill_fitting(cost: np.ndarray, classes: Sequence[Any]) -> Iterator[str]:
    if len(cost) != len(classes):
        named = ", ".join(map(str, classes))
        yield f"the matrix has {len(cost)} rows, but there are {len(classes)} classes: {named}"
        return
    yield from cost_mistakes(cost.tolist())


def _capacity_mistakes(capacity: Capacity, n_rows: int, times: np.ndarray | None) -> list[Mistake]:
    place = ("decide", "capacity")
    if capacity.per != "day" or times is None:
        return []
    is_date = np.issubdtype(times.dtype, np.datetime64)
    if not is_date and not np.issubdtype(times.dtype, np.number):
        return [((*place, "per"), "columns.time holds text: make it a date with cleaning.types")]
    if not is_date and capacity.day is None:
        return [((*place, "day"), "columns.time holds numbers: say how many make a day, such as 86400 for seconds")]
    if capacity_share(capacity, n_rows, times) >= 1:
        a_day = n_rows / n_days(times, capacity.day)
        return [
            ((*place, "alerts"), f"{capacity.alerts:g} alerts a day is every row, as a day has {a_day:.4g}: lower it")
        ]
    return []


def threshold_for(
    purpose: Purpose, truth: np.ndarray, scores: np.ndarray, times: np.ndarray | None = None
) -> OperatingPoint:
    """The threshold that serves the purpose best on these rows; rows that score at least that much are flagged."""
    points = operating_points(truth, scores, times)
    if purpose.cost is not None:
        return best_by_cost(points, purpose.cost)
    if purpose.kind == "precision":
        return with_precision(points, purpose.level)
    if purpose.kind == "false_positive_rate":
        return with_false_positive_rate(points, purpose.level)
    if purpose.kind == "capacity":
        return for_capacity(points, purpose.level * (len(truth) if times is None else times.sum()))
    metric = "f_beta" if purpose.figure == "f1" else purpose.figure
    return best_by_metric(points, metric, beta=purpose.beta)


def cross_thresholds(purpose: Purpose, truth: np.ndarray, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For every row the threshold tuned on the rows of other codes; infinity where none serves the purpose there."""
    limits = np.empty(len(truth))
    for code in np.unique(codes):
        others = codes != code
        try:
            limits[~others] = threshold_for(purpose, truth[others], scores[others]).threshold
        except ValueError:
            limits[~others] = np.inf
    return limits


def figures_by_purpose(purpose: Purpose, tables: np.ndarray) -> np.ndarray:
    """The figure of each confusion table, of shape (n_tables, n_classes, n_classes); NaN where it has no value."""
    tables = tables.astype(float)
    if purpose.cost is not None:
        return (tables * purpose.cost).sum(axis=(1, 2)) / tables.sum(axis=(1, 2))
    if purpose.figure not in {"recall", "f_beta"}:
        return figures_of_tables(tables, 1, [purpose.figure])[purpose.figure]
    found, missed, wrong = tables[:, 1, 1], tables[:, 1, 0], tables[:, 0, 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        if purpose.figure == "recall":
            return found / (found + missed)
        weight = purpose.beta**2
        return (1 + weight) * found / ((1 + weight) * found + weight * missed + wrong)


def outcome_of(
    purpose: Purpose, truth: np.ndarray, predicted: np.ndarray, n_classes: int, n_repeats: int = 1
) -> DecisionOutcome:
    """What predictions come to, measured by the purpose; of rows that were judged several times, each counts once."""
    table = confusion(truth, predicted, n_classes)
    figure = float(figures_by_purpose(purpose, table[None])[0])
    each_once = table if n_repeats == 1 else table / n_repeats
    counts, cost = tuple(map(tuple, each_once.tolist())), figure if purpose.cost is not None else None
    n_rows = len(truth) // n_repeats
    if n_classes != 2:
        return DecisionOutcome(n_rows, counts, figure, cost)
    (left, wrong), (missed, found) = table.tolist()
    return DecisionOutcome(
        n_rows=n_rows,
        counts=counts,
        figure=figure,
        cost=cost,
        precision=_share(found, found + wrong),
        recall=_share(found, found + missed),
        false_positive_rate=_share(wrong, wrong + left),
        flagged_share=_share(found + wrong, len(truth)),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
