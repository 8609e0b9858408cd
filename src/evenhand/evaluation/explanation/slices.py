"""For which rows a model does worse than for the others, and whether groups are treated alike."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.stats import norm

from evenhand.evaluation.bootstrap import figures_of_tables
from evenhand.evaluation.curves import wilson
from evenhand.evaluation.influence import influence_of, weighed_precision, weighed_table
from evenhand.evaluation.intervals import intervals_of, variance_by_class
from evenhand.evaluation.metrics import PredictionSet, metric_of
from evenhand.records.insight import Parity, Slice
from evenhand.statistics.comparisons import holm
from evenhand.study.registry import LOWER_IS_BETTER

FEWEST_ROWS, FEWEST_OF_A_CLASS = 30, 5
MOST_VALUES, N_BINS, ALPHA = 12, 4, 0.05
LESS_WHERE_RARE = frozenset({"average_precision", "precision", "f1"})  # of two classes


def slices_of(
    predicted: PredictionSet, frame: pd.DataFrame, metric: str, n_classes: int, minority: int
) -> tuple[Slice, ...]:
    """Every slice that has enough rows, those that are surely worse than the other rows first.

    Slice and other rows are apart, so that the variance of their difference is the sum of both, by influence. P-values
    are one-sided and corrected by Holm for every slice that was looked at. What is lower where positives are rarer is
    taken of the other rows with negatives weighed so that positives are as rare.
    """
    predicted, frame = _in_order(predicted, frame)
    found = []
    for column, value, mask in _masks(frame):
        inside, outside = (predicted.only(rows) for rows in (mask, ~mask))
        if not all(_has_enough(each, n_classes) for each in (inside, outside)):
            continue
        if metric in LESS_WHERE_RARE:
            own, of_others = (_as_rare(part, inside, metric) for part in (inside, outside))
        else:
            own, of_others = (_figure(part, metric, n_classes, minority) for part in (inside, outside))
        if own is None or of_others is None:
            continue
        sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
        (figure, error), (other, other_error) = own, of_others
        worse, spread = sign * (other - figure), float(np.hypot(error, other_error))
        p_value = float(norm.sf(worse / spread)) if spread > 0 else float(worse <= 0)
        interval = intervals_of(inside, n_classes, minority, {metric: figure}).get(metric)
        low, high = (interval.low, interval.high) if interval else (figure - 1.96 * error, figure + 1.96 * error)
        found.append(Slice(column, value, int(mask.sum()), figure, low, high, worse, p_value, False))
    return tuple(sorted(_by_holm(found), key=lambda one: (not one.is_worse, one.p_value, -one.worse)))


def _in_order(predicted: PredictionSet, frame: pd.DataFrame) -> tuple[PredictionSet, pd.DataFrame]:
    """The same rows by falling score: each slice of them is in order too, and takes no time to be sorted."""
    if predicted.ranks is None or predicted.ranks.ndim != 1:
        return predicted, frame
    order = np.argsort(-predicted.ranks, kind="stable")
    return predicted.only(order), frame.iloc[order]


def parities_of(predicted: PredictionSet, frame: pd.DataFrame, columns: Sequence[str]) -> tuple[Parity, ...]:
    """For each group how often rows are called positive, and how often rightly and wrongly."""
    called, truth = predicted.predictions == 1, predicted.truth == 1
    found = []
    for column, value, mask in _masks(frame[list(columns)]):
        up, down = mask & truth, mask & ~truth
        found.append(
            Parity(column, value, int(mask.sum()), _share(called, mask), _share(called, up), _share(called, down))
        )
    return tuple(found)


def _masks(frame: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    """The rows of every common value of a category, of every quarter of a number, and of what is missing."""
    for name in frame.columns:
        column = frame[name]
        if column.isna().any():
            yield name, "missing", column.isna().to_numpy()
        if pd.api.types.is_numeric_dtype(column) and column.nunique() > MOST_VALUES:
            yield from _quarters(name, column.to_numpy(float))
        else:
            for value in sorted(column.dropna().value_counts().head(MOST_VALUES).index, key=str):
                yield name, f"{value:g}" if isinstance(value, float) else str(value), (column == value).to_numpy()


def _quarters(name: str, values: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    edges = np.unique(np.nanquantile(values, np.linspace(0, 1, N_BINS + 1)))
    for k, (low, high) in enumerate(pairwise(edges)):
        above = values >= low if k == 0 else values > low
        yield name, f"{low:.4g} to {high:.4g}", above & (values <= high)


def _has_enough(part: PredictionSet, n_classes: int) -> bool:
    if len(part.truth) < FEWEST_ROWS:
        return False
    return not n_classes or bool(np.bincount(part.truth.astype(int), minlength=n_classes).min() >= FEWEST_OF_A_CLASS)


def _figure(part: PredictionSet, metric: str, n_classes: int, minority: int) -> tuple[float, float] | None:
    """A metric with its standard error; None where these rows or this model do not have it."""
    figure = metric_of(part, metric, n_classes, minority)
    influence = influence_of(part, metric, n_classes, minority)
    if figure is None or influence is None:
        return None
    return figure, float(np.sqrt(influence @ influence)) / len(part.truth)


def _as_rare(part: PredictionSet, as_in: PredictionSet, metric: str) -> tuple[float, float] | None:
    """A metric of two classes with its standard error, where positives are as rare as in other rows.

    What varies is each row within its class: how many rows a slice has of each is the same for both sides.
    """
    is_up = part.truth == 1
    odds = [np.mean(each.truth == 0) / np.mean(each.truth == 1) for each in (as_in, part)]
    times = odds[0] / odds[1]
    if metric == "average_precision":
        if part.ranks is None or part.ranks.ndim != 1:
            return None
        figure, influence = weighed_precision(is_up, part.ranks, times)
    else:
        figure, influence = weighed_table(
            part.truth, part.predictions, times, lambda many: figures_of_tables(many, 1, [metric])[metric]
        )
        influence = influence - np.where(is_up, influence[is_up].mean(), influence[~is_up].mean())
    return figure, variance_by_class(influence, part.truth) ** 0.5


def _by_holm(found: list[Slice]) -> list[Slice]:
    """The same with p-values that hold for all of them together."""
    adjusted = holm([each.p_value for each in found]).tolist()
    return [replace(each, p_value=p, is_worse=p < ALPHA) for each, p in zip(found, adjusted, strict=True)]


def _share(called: np.ndarray, among: np.ndarray) -> tuple[float, float, float] | None:
    n_rows, n_called = int(among.sum()), int((called & among).sum())
    return (n_called / n_rows, *wilson(n_called, n_rows)) if n_rows else None
