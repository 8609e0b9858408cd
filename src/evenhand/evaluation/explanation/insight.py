"""All that is found out about one model: why, for whom, and how sure of more rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from evenhand.evaluation.explanation.answers import additive_answers, shown_answers
from evenhand.evaluation.explanation.effects import coefficients_of, curves_of, pairs_of
from evenhand.evaluation.explanation.lift import lifts_of
from evenhand.evaluation.explanation.permutation_importance import cells_of_a_row
from evenhand.evaluation.explanation.reasons import Parts, parts_of
from evenhand.evaluation.explanation.slices import parities_of, slices_of
from evenhand.evaluation.metrics import PredictionSet
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.insight import Insight, Reason, ReasonedRow, WordWeight

BACKGROUND_ROWS, CURVE_ROWS, PAIR_ROWS, WORD_ROWS = 50, 400, 24, 200
N_WORST, N_REASONS, N_CURVES, N_PAIRED, N_WORDS = 20, 5, 6, 4, 20
STRONG_PAIR = 0.01  # of the variance of predictions
MOST_SLICED = 250_000
WORK = 15_000_000  # cells; about a second, as for the shuffling of columns


@dataclass(frozen=True)
class Known:
    """What is looked at: the model, the rows of the table with the places of both sides, and its predictions.

    `important` are the columns by what shuffling them costs, `source` the place of each row in the data, and `costs`
    by true and predicted class.
    """

    model: RawRowModel
    frame: pd.DataFrame
    trained: np.ndarray
    held: np.ndarray
    predictions: CandidatePredictions
    important: Sequence[str]
    source: np.ndarray
    beside: pd.DataFrame
    metric: str
    protected: Sequence[str] = ()
    costs: tuple[tuple[float, ...], ...] | None = None
    seed: int = 0

    @property
    def n_classes(self) -> int:
        """How many classes there are; 0 where numbers are predicted."""
        return len(self.model.classes or ())


def insight_of(known: Known) -> Insight:
    """Curves, coefficients, pairs and reasons on the holdout; slices and lift on out-of-fold rows."""
    found = _judged(known)
    if not len(known.held):
        note = "No rows are held out, so the model was not asked why: rows that it was fitted on do not explain it."
        return replace(found, notes=(*found.notes, note))
    return _explained(known, found)


def background_of(frame: pd.DataFrame, trained: np.ndarray, seed: int) -> pd.DataFrame:
    """Training rows that stand for the average one, the same for the same seed."""
    random = np.random.default_rng(seed)
    chosen = random.choice(trained, min(BACKGROUND_ROWS, len(trained)), replace=False)
    return frame.iloc[np.sort(chosen)].reset_index(drop=True)


def orders_within(model: RawRowModel, n_columns: int, n_rows: int) -> int:
    """How many orders of columns can be drawn for each row within the work planned."""
    return int(WORK / (max(n_rows, 1) * (n_columns + 1) * cells_of_a_row(model, n_columns)))


def reasons_in(parts: Parts, row: int, output: int, values: pd.Series, most: int) -> tuple[tuple[Reason, ...], float]:
    """The strongest reasons of one row for one answer, and what the others add up to."""
    amounts = parts.amounts[row][:, output]
    order = np.argsort(-np.abs(amounts), kind="stable")
    chosen = [k for k in order[:most] if amounts[k] != 0]
    found = []
    for k in chosen:
        player = parts.players[row][k]
        value = f"“{player.word}”" if player.word else _shown(values[player.column])
        found.append(Reason(player.column, value, float(amounts[k])))
    return tuple(found), float(amounts.sum() - amounts[chosen].sum())


def output_of(n_classes: int, predicted: int) -> int:
    """Which answer the reasons of a row are about: of several classes that of the class predicted."""
    return predicted if n_classes > 2 else 0


def _judged(known: Known) -> Insight:
    """What needs no model: slices, parity and lift, from predictions for rows that were not trained on."""
    whole = _once(known.predictions.out_of_fold)
    part = _some(whole, known.seed)
    predicted, n_classes = part.prediction_set, known.n_classes
    beside = [known.frame, known.beside] if len(known.beside.columns) else [known.frame]
    frame = pd.concat([each.iloc[part.row].reset_index(drop=True) for each in beside], axis=1)
    kinds = dict(known.model.features)
    sliced = frame[[name for name in frame.columns if kinds.get(name) != "text"]]
    found = slices_of(predicted, sliced, known.metric, n_classes, minority_of(predicted, n_classes))
    groups = [name for name in known.protected if name in frame.columns]
    is_ranked = n_classes == 2 and whole.ranks is not None and 0 < whole.truth.sum() < len(whole)
    return Insight(
        slices=found[:N_WORST],
        slices_on=f"{len(part):,} {f'of {len(whole):,} ' if len(part) < len(whole) else ''}out-of-fold rows",
        n_slices=len(found),
        parities=parities_of(predicted, frame, groups) if n_classes == 2 and groups else (),
        lifts=lifts_of(whole.truth, whole.ranks, known.costs) if is_ranked and whole.ranks is not None else (),
        lifts_on=f"{len(whole):,} out-of-fold rows" if is_ranked else "",
    )


def _once(part: CandidatePredictions) -> CandidatePredictions:
    """Every row as it was judged first, where repeats judged it several times."""
    first = np.zeros(len(part), dtype=bool)
    first[np.unique(part.row, return_index=True)[1]] = True
    return part.only(first)


def _some(part: CandidatePredictions, seed: int) -> CandidatePredictions:
    """A bounded number of rows, drawn by the seed, for what is made of hundreds of slices."""
    if len(part) <= MOST_SLICED:
        return part
    chosen = np.zeros(len(part), dtype=bool)
    chosen[np.random.default_rng(seed).choice(len(part), MOST_SLICED, replace=False)] = True
    return part.only(chosen)


def _explained(known: Known, found: Insight) -> Insight:
    random = np.random.default_rng(known.seed)
    held = known.frame.iloc[known.held].reset_index(drop=True)
    some = held.iloc[_drawn(len(held), CURVE_ROWS, random)].reset_index(drop=True)
    background = background_of(known.frame, known.trained, known.seed)
    shown, kinds = shown_answers(known.model), dict(known.model.features)
    numbers = [name for name, kind in known.model.features if kind == "numeric"]
    plain = [name for name in known.important if kinds[name] != "text"]
    worst, parts = _worst(known, held, background)
    is_exact = parts is not None and parts.is_exact
    paired = some.head(_pair_rows(known.model, len(held.columns)))
    return replace(
        found,
        unit=shown.unit,
        n_rows=len(some),
        reason_unit=parts.answers.unit if parts is not None else "",
        is_exact=is_exact,
        curves=tuple(curves_of(shown, some, kinds, plain[:N_CURVES], known.seed)),
        coefficients=tuple(coefficients_of(additive_answers(known.model), background, numbers)) if is_exact else (),
        pairs=tuple(p for p in pairs_of(shown, paired, plain[:N_PAIRED]) if p.share >= STRONG_PAIR),
        worst=worst,
        words=_words(known, held, background, random) if "text" in kinds.values() else (),
    )


def _pair_rows(model: RawRowModel, n_columns: int) -> int:
    """Each pair of columns asks about the square of so many rows."""
    n_questions = N_PAIRED * (N_PAIRED + 1) / 2
    return int(np.clip(np.sqrt(WORK / (n_questions * cells_of_a_row(model, n_columns))), 8, PAIR_ROWS))


def _worst(known: Known, held: pd.DataFrame, background: pd.DataFrame) -> tuple[tuple[ReasonedRow, ...], Parts | None]:
    """The held-out rows that were predicted worst, of classes only wrong ones, each with its reasons."""
    part = known.predictions.holdout
    at = np.searchsorted(known.held, part.row)
    losses, is_wrong = _losses(part.prediction_set, known.n_classes)
    order = [k for k in np.argsort(-losses, kind="stable") if is_wrong[k]][:N_WORST]
    rows = held.iloc[at[order]].reset_index(drop=True) if order else held.head(1)
    n_orders = orders_within(known.model, len(held.columns), len(rows))
    parts = parts_of(known.model, rows, background, n_orders=n_orders, seed=known.seed)
    labels, found = [str(label) for label in known.model.classes or ()], []
    for place, k in enumerate(order):
        truth, predicted = part.truth[k], part.predicted[k]
        output = output_of(known.n_classes, int(predicted) if labels else 0)
        reasons, rest = reasons_in(parts, place, output, rows.iloc[place], N_REASONS)
        true, called = (labels[int(each)] if labels else f"{each:.6g}" for each in (truth, predicted))
        source, base = int(known.source[part.row[k]]), float(parts.base[place][output])
        found.append(ReasonedRow(source, true, called, float(losses[k]), base, reasons, rest))
    return tuple(found), parts


def _losses(predicted: PredictionSet, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """How far off every row is, and whether that is an error at all."""
    truth, scores = predicted.truth, predicted.scores
    if not n_classes:
        off = np.abs(truth - predicted.predictions)
        return off, off > 0
    is_wrong = predicted.predictions != truth
    if scores is None:
        return is_wrong.astype(float), is_wrong
    if scores.ndim == 1:
        return np.where(truth == 1, -scores, scores) + float(predicted.is_probability) * (truth == 1), is_wrong
    rows = np.arange(len(truth))
    return scores[rows, predicted.predictions.astype(int)] - scores[rows, truth.astype(int)], is_wrong


def _words(
    known: Known, held: pd.DataFrame, background: pd.DataFrame, random: np.random.Generator
) -> tuple[WordWeight, ...]:
    """The words that add most on average to the class that they speak for, on held-out rows."""
    rows = held.iloc[_drawn(len(held), WORD_ROWS, random)].reset_index(drop=True)
    n_orders = orders_within(known.model, len(held.columns) + 10, len(rows))
    parts = parts_of(known.model, rows, background, n_orders=n_orders, seed=known.seed)
    each: dict[tuple[str, int], list[float]] = {}
    for players, amounts in zip(parts.players, parts.amounts, strict=True):
        for player, amount in zip(players, amounts, strict=True):
            for output in range(amounts.shape[1]) if player.word else ():
                each.setdefault((player.word.lower(), output), []).append(float(amount[output]))
    seen = {key: values for key, values in each.items() if len(values) > 1} or each
    ranked = sorted(seen, key=lambda key: -abs(float(np.mean(seen[key]))) * np.sqrt(len(seen[key])))
    names = parts.answers.names
    return tuple(
        WordWeight(word, names[output], float(np.mean(seen[word, output])), len(seen[word, output]))
        for word, output in ranked[:N_WORDS]
    )


def _drawn(n_rows: int, most: int, random: np.random.Generator) -> np.ndarray:
    return np.arange(n_rows) if n_rows <= most else np.sort(random.choice(n_rows, most, replace=False))


def _shown(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:60]
