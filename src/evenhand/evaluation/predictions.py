"""Predictions of a candidate for the judged rows, read back from the predictions of a run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.evaluation.curves import RankingCurves, against_rest, macro, precision_recall, roc
from evenhand.evaluation.metrics import PredictionSet
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.pipeline import FINAL, Table
from evenhand.statistics.label_sets import label_columns

FACTS = {b"classes", b"labels", b"is_multilabel"}


@dataclass(frozen=True)
class CandidatePredictions:
    """Truth, predictions and scores of one candidate; `scores` is None where it gives none.

    Rows are ranked by `decisions` where a model gives them beside its probabilities.
    """

    name: str
    fold: np.ndarray
    row: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray | None
    is_probability: bool
    decisions: np.ndarray | None = None

    @property
    def ranks(self) -> np.ndarray | None:
        """What rows are ranked by."""
        return self.scores if self.decisions is None else self.decisions

    @property
    def is_multilabel(self) -> bool:
        """Whether truth and predictions have a column for each of several labels."""
        return self.truth.ndim == 2

    @property
    def prediction_set(self) -> PredictionSet:
        """The same as metrics take it."""
        return PredictionSet(self.truth, self.predicted, self.scores, self.is_probability, self.decisions)

    @cached_property
    def out_of_fold(self) -> "CandidatePredictions":
        """The part about training rows, each judged by a model that did not see it."""
        return self.only(self.fold != FINAL)

    @cached_property
    def holdout(self) -> "CandidatePredictions":
        """The part about rows held out from the start."""
        return self.only(self.fold == FINAL)

    @property
    def n_repeats(self) -> int:
        """How often each row was judged."""
        return int(np.unique(self.row, return_counts=True)[1].max()) if len(self) else 1

    def only(self, mask: np.ndarray) -> "CandidatePredictions":
        """The part where a mask holds, or at some places."""
        scores, decisions = (None if each is None else each[mask] for each in (self.scores, self.decisions))
        parts = (self.fold[mask], self.row[mask], self.truth[mask], self.predicted[mask])
        return CandidatePredictions(self.name, *parts, scores, self.is_probability, decisions)

    def by_class(self, labels: Sequence[str]) -> tuple[RankingCurves, ...]:
        """The out-of-fold curves of the positive class of two, or of each class against the rest; () without ranks."""
        if (key := tuple(labels)) not in self._curves:
            self._curves[key] = self._ranking_curves(labels)
        return self._curves[key]

    def curves(self, labels: Sequence[str]) -> RankingCurves | None:
        """The out-of-fold curves, of more than two classes their means; None where rows are not ranked."""
        each = self.by_class(labels)
        return None if not each else each[0] if len(labels) == 2 and not self.is_multilabel else macro(each, self.name)

    @cached_property
    def _curves(self) -> dict[tuple[str, ...], tuple[RankingCurves, ...]]:
        return {}

    def _ranking_curves(self, labels: Sequence[str]) -> tuple[RankingCurves, ...]:
        part = self.out_of_fold
        if part.ranks is None or len(labels) < 2:
            return ()
        if part.ranks.ndim == 2:
            return against_rest(part.truth, part.ranks, labels)
        if not 0 < part.truth.sum() < len(part.truth):
            return ()
        curve, steps = roc(part.truth, part.ranks), precision_recall(part.truth, part.ranks)
        return (RankingCurves(self.name, curve, steps),)

    def folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Truth and what rows are ranked by, of each fold."""
        scores = self.predicted if self.ranks is None else self.ranks
        names = [name for name in dict.fromkeys(self.fold) if name != FINAL]
        return [(self.truth[self.fold == name], scores[self.fold == name]) for name in names]

    def __len__(self) -> int:
        return len(self.truth)


class Predictions:
    """The predictions of a run, column by column."""

    def __init__(self, file: Path, table: Table | None = None) -> None:
        self.file = file
        opened, _ = self._reader
        schema = opened.schema_arrow
        facts = {name: json.loads(each) for name, each in (schema.metadata or {}).items() if name in FACTS}
        named = facts.get(b"classes", []) if table is None else map(str, table.classes)
        self.classes, self.is_multilabel = tuple(named), facts.get(b"is_multilabel", False)
        self.labels: tuple[Any, ...] = tuple(facts.get(b"labels") or self.classes)
        """The class labels as the data has them, such as numbers; as text in files of earlier versions."""
        shared = opened.read(["fold", "row", "truth"])
        self._fold = shared["fold"].to_numpy(zero_copy_only=False)
        self._row, self._truth = shared["row"].to_numpy(), shared["truth"].to_numpy()
        self._names = set(schema.names)

    @property
    def fold_names(self) -> list[str]:
        """The folds that training rows were judged in."""
        return [str(name) for name in dict.fromkeys(self._fold) if name != FINAL]

    def of(self, name: str, scale: str) -> CandidatePredictions:
        """The predictions of the candidate of that name."""
        single, several = f"score:{name}", [f"score:{name}:{label}" for label in self.classes]
        wanted = [single] if single in self._names else [n for n in several if n in self._names]
        decided = [f"decision:{name}"] if f"decision:{name}" in self._names else []
        opened, reading = self._reader
        with reading:
            columns: pa.Table = opened.read([f"predicted:{name}", *wanted, *decided])
        scores = [columns[n].to_numpy() for n in wanted]
        return CandidatePredictions(
            name=name,
            fold=self._fold,
            row=self._row,
            truth=self._as_labels(self._truth),
            predicted=self._as_labels(columns[f"predicted:{name}"].to_numpy()),
            scores=None if not scores else scores[0] if len(scores) == 1 else np.column_stack(scores),
            is_probability=scale == "probability",
            decisions=columns[decided[0]].to_numpy() if decided else None,
        )

    @cached_property
    def _reader(self) -> tuple[pq.ParquetFile, Lock]:
        """The open file, whose footer grows with every candidate and is read once, for one thread at a time."""
        return pq.ParquetFile(self.file), Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_reader"}

    def _as_labels(self, codes: np.ndarray) -> np.ndarray:
        """A column of 0 and 1 for each label where rows may have several, else the values as they are."""
        return label_columns(codes, len(self.classes)) if self.is_multilabel else codes


def predictions_on(model: RawRowModel, frame: pd.DataFrame, truth: np.ndarray, asks_probability: bool) -> PredictionSet:
    """What a model says of rows; calibrated where probabilities are judged."""
    labels = model.predict(frame)
    if not model.classes:
        return PredictionSet(truth, labels, None)
    if model.is_multilabel:
        truth = label_columns(truth, len(model.classes))
        return PredictionSet(truth, labels, model.scores_or_none(frame), model.gives_probabilities)
    codes = {label: code for code, label in enumerate(model.classes_.tolist())}
    predictions = np.array([codes[label] for label in labels.tolist()])
    try:
        probabilities = model.predict_proba(frame) if asks_probability else None
    except AttributeError:
        probabilities = None
    scores, decisions = model.scores_and_decisions(frame)
    if probabilities is None:
        return PredictionSet(truth, predictions, scores, False, decisions)
    chances = probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities
    return PredictionSet(truth, predictions, chances, True, decisions)
