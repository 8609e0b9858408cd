"""A share of some training rows, encoded and balanced, beside rows to be judged: all learned on the share alone."""

from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import gen_batches

from evenhand.data.frames import read_rows, read_target
from evenhand.models.encoder import new_encoder, without_outliers
from evenhand.models.inner_folds import share_of
from evenhand.models.packing.parts import joined_rows
from evenhand.models.samplers import Resampler
from evenhand.records.pipeline import Balanced, Output, Plan, Table, Training
from evenhand.records.reference import NOWHERE
from evenhand.storage.packed import Packed
from evenhand.study.registry import UNSAMPLED
from evenhand.study.study import Study

Encoded = tuple[tuple[Any, np.ndarray, Balanced], tuple[Any, np.ndarray]]
Rows = tuple[np.ndarray, np.ndarray]
ROWS_AT_ONCE = 2**19
_reading = Lock()
_kept: dict[tuple[str, tuple[str, ...]], tuple[pd.DataFrame, np.ndarray]] = {}


def kept_rows(table: Table) -> tuple[pd.DataFrame, np.ndarray]:
    """The features and the target of a table, read once by a process until they are forgotten."""
    names = tuple(feature.name for feature in table.features)
    with _reading:
        if (table.digest, names) not in _kept:
            _kept.clear()
            _kept[table.digest, names] = read_rows(table, names), read_target(table)
        return _kept[table.digest, names]


def forget_rows() -> None:
    """Let go of what was kept, once nothing is tried on shares any more."""
    with _reading:
        _kept.clear()


def encoded_share(
    plan: Plan, frame: pd.DataFrame, y: np.ndarray, rows: Rows, share: tuple[float, float], table: Table, study: Study
) -> Encoded:
    """Matrices of a share of the trained and of the judged rows, in the encoding and balance of a plan."""
    seed, has_classes = study.seed, bool(table.classes)
    trained, judged = (share_of(each, y, part, seed, has_classes) for each, part in zip(rows, share, strict=True))
    if study.cleaning.outliers != "none":
        trained = trained[without_outliers(frame.iloc[trained], y[trained], table, study)]
    encoder = new_encoder(table, study.encodings[plan.encoding], seed)
    X, labels = encoder.matrix(encoder.fit_parts(frame.iloc[trained], y[trained])), y[trained]
    outputs = tuple(Output(**output) for output in encoder.outputs_)
    kind = study.balance_kind(plan.balance)
    if kind not in UNSAMPLED:
        resampler = Resampler(plan.balance, study.balance[plan.balance], outputs, seed)
        X, labels = _balanced(resampler, X, labels, table.classes)
    balanced = Balanced(plan.balance, Training("", NOWHERE, len(labels), outputs), is_weighted=kind == "class_weight")
    return (X, labels, balanced), (_asked(encoder, frame.iloc[judged]), y[judged])


def _balanced(resampler: Resampler, X: Any, y: np.ndarray, classes: tuple[Any, ...]) -> tuple[Any, np.ndarray]:
    """Balanced rows and their classes: a matrix in parts stays so where the balance allows it."""
    if (maker := resampler.in_parts(X)) is not None:
        made = resampler.resample_parts(maker, y, classes)
        return made.matrix, made.y
    if isinstance(X, Packed) and resampler.is_blind:
        drawn = resampler.resample(np.arange(len(y))[:, None], y, classes)
        return X.taken(drawn.X[:, 0]), drawn.y
    found = resampler.resample(X.dense() if isinstance(X, Packed) else X, y, classes)
    return found.X, found.y


def _asked(encoder: Any, frame: pd.DataFrame) -> Any:
    """The matrix of rows to be judged, of many made piece by piece."""
    if not len(frame):
        return encoder.transform(frame)
    pieces = [encoder.parts(frame.iloc[rows]) for rows in gen_batches(len(frame), ROWS_AT_ONCE)]
    return encoder.matrix(pieces[0] if len(pieces) == 1 else [joined_rows(each) for each in zip(*pieces, strict=True)])
