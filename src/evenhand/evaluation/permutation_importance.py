"""What each raw column is worth to a model: how much worse it does when the column is permuted.

Where a class has more rows than can be asked about, some are drawn and stand for the others by their weight, so that
the figures are those of all rows. Every column is shuffled once before any is shuffled again; time ends the rounds.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenhand.evaluation.bootstrap import times_drawn
from evenhand.evaluation.metrics import PredictionSet, weighted
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.decision import Effect, Explained
from evenhand.study.registry import LOWER_IS_BETTER, PROBABILITY_METRICS, RANKING_METRICS

MOST_ROWS, FEWEST_ROWS = 10_000, 200
MOST_COLUMNS = 200
REPEATS, PLANNED_REPEATS, FEWEST_REPEATS = 5, 3, 2
DRAWS = 40
PATIENCE = 3.0


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
        predicted = self.predicted(frame, truth)
        return self.sign * weighted(predicted, self.metric, self.n_classes, self.minority, times)

    def predicted(self, frame: pd.DataFrame, truth: np.ndarray) -> PredictionSet:
        """Only what the metric reads: scores, probabilities or classes."""
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
    model: RawRowModel, frame: pd.DataFrame, truth: np.ndarray, metric: str, *, seconds: float, seed: int = 0
) -> Explained:
    """The effect of every column of these rows on the metric, within about the seconds given."""
    random = np.random.default_rng(seed)
    n_classes = len(model.classes or [])
    minority = int(np.argmin(np.bincount(truth.astype(int), minlength=n_classes))) if n_classes else 0
    figure = _Figure(model, metric, n_classes, minority)
    columns, rest = list(frame.columns)[:MOST_COLUMNS], list(frame.columns)[MOST_COLUMNS:]
    rows = _affordable(figure, frame, truth, len(columns), seconds, random)
    base = figure.of(rows.frame, rows.truth, np.vstack([rows.weights, rows.draws]))
    gaps = _rounds(figure, rows, columns, base, seconds, random)
    return Explained(
        metric=metric,
        figure=float(figure.sign * base[0]),
        n_rows=len(rows.truth),
        n_holdout=len(truth),
        effects=tuple(sorted((_effect(name, found) for name, found in gaps.items()), key=lambda each: -each.mean)),
        left_out=(*(name for name in columns if name not in gaps), *rest),
    )


def _affordable(
    figure: _Figure, frame: pd.DataFrame, truth: np.ndarray, n_columns: int, seconds: float, random: np.random.Generator
) -> _Rows:
    """As many rows as can be asked about in time, judged by asking about some of them once."""
    strata = truth if figure.n_classes else np.zeros(len(truth), dtype=int)
    tried = _drawn(strata, min(1000, len(truth)), random)[0]
    figure.predicted(frame.iloc[tried[:2]], truth[tried[:2]])  # what is slow once only, such as compiling
    began = time.perf_counter()
    figure.of(frame.iloc[tried], truth[tried], np.ones((1 + DRAWS, len(tried))))
    a_row = (time.perf_counter() - began) / len(tried)
    affordable = int(seconds / (a_row * n_columns * PLANNED_REPEATS))
    rows, weights = _drawn(strata, int(np.clip(affordable, FEWEST_ROWS, MOST_ROWS)), random)
    draws = times_drawn(strata[rows], DRAWS, random) * weights
    return _Rows(frame.iloc[rows], truth[rows], weights, draws)


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
    figure: _Figure, rows: _Rows, columns: Sequence[str], base: np.ndarray, seconds: float,
    random: np.random.Generator,
) -> dict[str, list[np.ndarray]]:  # fmt: skip
    """For each column and round, how much worse the metric got: on all rows, then on each draw of them."""
    times = np.vstack([rows.weights, rows.draws])
    gaps: dict[str, list[np.ndarray]] = {}
    began = time.perf_counter()
    for number in range(REPEATS):
        for name in columns:
            spent = time.perf_counter() - began
            if gaps and spent > PATIENCE * seconds:
                return gaps
            shuffled = rows.frame.assign(**{name: _dealt(rows.frame[name], rows.weights, random)})
            gaps.setdefault(name, []).append(base - figure.of(shuffled, rows.truth, times))
        if number + 1 >= FEWEST_REPEATS and (time.perf_counter() - began) > seconds:
            break
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
