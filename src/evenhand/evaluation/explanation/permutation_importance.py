"""What each raw column is worth to a model: how much worse it does when the column is permuted.

Where a class has more rows than can be asked about, some are drawn and stand for the others by their weight, so that
the figures are those of all rows. How many rows and rounds there are follows from the work they are, counted in cells
and not in seconds, so that the same model, rows and seed give the same effects on any machine and under any load.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from evenhand.evaluation.bootstrap import times_drawn
from evenhand.evaluation.metrics import PredictionSet, weighted
from evenhand.evaluation.predictions import predictions_on
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.decision import Effect, Explained
from evenhand.study.registry import LOWER_IS_BETTER, PROBABILITY_METRICS, RANKING_METRICS

MOST_ROWS, FEWEST_ROWS = 10_000, 200
MOST_COLUMNS = 200
REPEATS, PLANNED_REPEATS, FEWEST_REPEATS = 5, 3, 2
DRAWS = 40
WORK, MOST_WORK = 15_000_000, 45_000_000  # cells; 15 million are about a second
ROWS_AT_ONCE = 20_000
A_CALL, A_TREE, KERNEL, NEIGHBOUR = 50_000, 3.0, 1 / 12, 1 / 100  # cells, and parts of one for each that is compared


@dataclass(frozen=True)
class _Rows:
    """Rows to ask about, how many rows each stands for, and draws of them that intervals are made of."""

    frame: pd.DataFrame
    truth: np.ndarray
    weights: np.ndarray
    draws: np.ndarray


class _Figure:
    """The metric of a model on weighted rows, greater always better."""

    def __init__(self, model: RawRowModel, metric: str, n_classes: int, minority: int) -> None:
        self.model, self.metric, self.n_classes, self.minority = model, metric, n_classes, minority
        self.sign = -1.0 if metric in LOWER_IS_BETTER else 1.0

    def of(self, frame: pd.DataFrame, truth: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The metric for each line of weights."""
        return self.of_each([frame], truth, times)[0]

    def of_each(self, frames: Sequence[pd.DataFrame], truth: np.ndarray, times: np.ndarray) -> list[np.ndarray]:
        """The metric for each line of weights on each of some frames of the same rows; the model is asked once."""
        joined = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
        all_of_them = self.predicted(joined, np.concatenate([truth] * len(frames)))
        parts = [all_of_them.only(slice(k * len(truth), (k + 1) * len(truth))) for k in range(len(frames))]
        return [self.sign * weighted(each, self.metric, self.n_classes, self.minority, times) for each in parts]

    def predicted(self, frame: pd.DataFrame, truth: np.ndarray) -> PredictionSet:
        """Only what the metric reads: scores, probabilities or classes."""
        if self.model.is_multilabel:
            return predictions_on(self.model, frame, truth, asks_probability=False)
        nothing = np.zeros(len(truth), dtype=int)
        if self.metric in RANKING_METRICS:
            scores, decisions = self.model.scores_and_decisions(frame)
            return PredictionSet(truth, nothing, scores, False, decisions)
        if self.metric in PROBABILITY_METRICS:
            chances = self.model.predict_proba(frame)
            return PredictionSet(truth, nothing, chances[:, 1] if chances.shape[1] == 2 else chances, True)
        labels = self.model.predict(frame)
        if not self.model.classes:
            return PredictionSet(truth, labels, None)
        codes = {label: code for code, label in enumerate(self.model.classes_.tolist())}
        return PredictionSet(truth, np.array([codes[label] for label in labels.tolist()]), None)


def explain_columns(
    model: RawRowModel, frame: pd.DataFrame, truth: np.ndarray, metric: str, *, work: int = WORK, seed: int = 0
) -> Explained:
    """The effect of every column of these rows on the metric, within about the work given, in cells."""
    random = np.random.default_rng(seed)
    n_classes = len(model.classes or [])
    has_classes = n_classes and not model.is_multilabel
    minority = int(np.argmin(np.bincount(truth.astype(int), minlength=n_classes))) if has_classes else 0
    figure, a_row = _Figure(model, metric, n_classes, minority), cells_of_a_row(model, frame.shape[1])
    n_columns = columns_within(work, a_row, frame.shape[1])
    columns, rest = list(frame.columns)[:n_columns], list(frame.columns)[n_columns:]
    strata = truth if has_classes else np.zeros(len(truth), dtype=int)
    places, weights = _drawn(strata, rows_within(work, a_row, n_columns), random)
    draws = times_drawn(strata[places], DRAWS, random) * weights
    rows = _Rows(frame.iloc[places], truth[places], weights, draws)
    base = figure.of(rows.frame, rows.truth, np.vstack([rows.weights, rows.draws]))
    gaps = _rounds(figure, rows, columns, base, rounds_within(work, a_row, n_columns, len(places)), random)
    return Explained(
        metric=metric,
        figure=float(figure.sign * base[0]),
        n_rows=len(rows.truth),
        n_holdout=len(truth),
        effects=tuple(sorted((_effect(name, found) for name, found in gaps.items()), key=lambda each: -each.mean)),
        left_out=tuple(rest),
    )


def cells_of_a_row(model: RawRowModel, n_columns: int) -> float:
    """The work of one row: its own cells, trees, rows that it is compared with, and its part in the draws."""
    estimators = [estimator for _, estimator in getattr(model, "members", None) or []]
    return n_columns + DRAWS + sum(_cells_inside(each, n_columns) for each in estimators)


def _cells_inside(estimator: Any, n_columns: int) -> float:
    """What a fitted model goes through for one row beyond reading it, as its learned parts show; also inside others."""
    found = vars(estimator)
    if "n_samples_fit_" in found:
        return NEIGHBOUR * n_columns * int(found["n_samples_fit_"])
    if (kept := found.get("support_", found.get("X_fit_"))) is not None:
        return KERNEL * n_columns * len(kept)
    if "_predictors" in found:
        return A_TREE * sum(map(len, found["_predictors"]))
    inner = [each for value in found.values() for each in (value if isinstance(value, list | tuple) else [value])]
    models = [each for each in inner if isinstance(each, BaseEstimator) and each is not estimator]
    return A_TREE * ("tree_" in found) + sum(_cells_inside(each, n_columns) for each in models)


def columns_within(work: float, a_row: float, n_columns: int) -> int:
    """How many columns can be shuffled at all; one at least."""
    least = FEWEST_REPEATS * (A_CALL + FEWEST_ROWS * a_row)
    return int(np.clip(MOST_WORK / WORK * work / least, 1, min(n_columns, MOST_COLUMNS)))


def rows_within(work: float, a_row: float, n_columns: int) -> int:
    """How many rows can be asked about in the rounds that are planned."""
    return int(np.clip((work / (n_columns * PLANNED_REPEATS) - A_CALL) / a_row, FEWEST_ROWS, MOST_ROWS))


def rounds_within(work: float, a_row: float, n_columns: int, n_rows: int) -> int:
    """How many times each column can be shuffled on so many rows."""
    return int(np.clip(work / (n_columns * (A_CALL + n_rows * a_row)), FEWEST_REPEATS, REPEATS))


def _drawn(strata: np.ndarray, most: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """At most so many rows, an equal part from each class before any gets more, and how many each stands for."""
    if len(strata) <= most:
        return np.arange(len(strata)), np.ones(len(strata))
    labels, counts = np.unique(strata, return_counts=True)
    rows, weights, left = [], [], most
    for place, k in enumerate(np.argsort(counts, kind="stable")):
        n_drawn = min(int(counts[k]), max(1, left // (len(labels) - place)))
        left -= n_drawn
        rows.append(random.choice(np.flatnonzero(strata == labels[k]), n_drawn, replace=False))
        weights.append(np.full(n_drawn, counts[k] / n_drawn))
    order = np.argsort(np.concatenate(rows))
    return np.concatenate(rows)[order], np.concatenate(weights)[order]


def _rounds(
    figure: _Figure, rows: _Rows, columns: Sequence[str], base: np.ndarray, n_rounds: int,
    random: np.random.Generator,
) -> dict[str, list[np.ndarray]]:  # fmt: skip
    """For each column and round, how much worse the metric got: on all rows, then on each draw of them."""
    times = np.vstack([rows.weights, rows.draws])
    gaps: dict[str, list[np.ndarray]] = {name: [] for name in columns}
    at_once = max(1, ROWS_AT_ONCE // len(rows.truth))
    for some in [list(columns[k : k + at_once]) for _ in range(n_rounds) for k in range(0, len(columns), at_once)]:
        shuffled = [rows.frame.assign(**{name: _dealt(rows.frame[name], rows.weights, random)}) for name in some]
        for name, found in zip(some, figure.of_each(shuffled, rows.truth, times), strict=True):
            gaps[name].append(base - found)
    return gaps


def _dealt(column: pd.Series, weights: np.ndarray, random: np.random.Generator) -> pd.Series:
    """The values of a column in another order; drawn by weight where rows stand for different numbers of others."""
    n_rows = len(column)
    is_even = np.ptp(weights) == 0
    places = random.permutation(n_rows) if is_even else random.choice(n_rows, n_rows, p=weights / weights.sum())
    return column.iloc[places].set_axis(column.index)


def _effect(name: str, found: list[np.ndarray]) -> Effect:
    low, high = np.percentile(np.concatenate([each[1:] for each in found]), [2.5, 97.5])
    return Effect(name, tuple(float(each[0]) for each in found), float(low), float(high))
