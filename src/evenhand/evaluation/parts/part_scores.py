"""One fit on some rows, encoded and balanced from these alone, and its metric on others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.models.encoder import new_encoder, without_outliers
from evenhand.models.fitting import check_finite, decisions_of, failing_alone, fitted_model, scores_of
from evenhand.models.samplers import Resampler
from evenhand.records.pipeline import Balanced, Output, Plan, Table, Training
from evenhand.records.reference import NOWHERE
from evenhand.runtime.time_limit import within
from evenhand.statistics.label_sets import label_columns
from evenhand.study.registry import UNSAMPLED
from evenhand.study.study import Study


@dataclass(frozen=True)
class Matrices:
    """Balanced training rows, and judged rows in the same encoding."""

    X: Any
    y: np.ndarray
    balanced: Balanced
    judged: Any
    truth: np.ndarray


def matrices_of(
    frame: pd.DataFrame, y: np.ndarray, rows: tuple[np.ndarray, np.ndarray], plan: Plan, table: Table, study: Study
) -> Matrices:
    """The rows trained and judged on, with all that is learned learned on the trained ones."""
    trained, judged = rows
    if study.cleaning.outliers != "none":
        trained = trained[without_outliers(frame.iloc[trained], y[trained], table, study)]
    encoder = new_encoder(table, study.encodings[plan.encoding], study.seed)
    X, target = encoder.fit_transform(frame.iloc[trained], y[trained]), y[trained]
    outputs = tuple(Output(**output) for output in encoder.outputs_)
    kind = study.balance_kind(plan.balance)
    if kind not in UNSAMPLED:
        sampler = Resampler(plan.balance, study.balance[plan.balance], outputs, study.seed)
        X, target, _ = sampler.resample(X, target, table.classes)
    training = Training("", NOWHERE, len(target), outputs)
    balanced = Balanced(plan.balance, training, is_weighted=kind == "class_weight")
    return Matrices(X, target, balanced, encoder.transform(frame.iloc[judged]), y[judged])


def score_of(plan: Plan, given: Matrices, table: Table, metric: str, seed: int, limit: float | None = None) -> float:
    """The metric on the judged rows; NaN where it cannot be had."""
    n_classes = len(table.classes)
    estimator = within(
        limit, lambda: fitted_model(plan, given.balanced, given.X, given.y, n_classes, seed, unlabelled=given.judged)
    )
    with failing_alone(plan):
        scale, scores, predictions = scores_of(estimator, given.judged)
        check_finite(plan, scores, predictions)
    truth = label_columns(given.truth, n_classes) if plan.n_labels else given.truth
    decisions = decisions_of(estimator, given.judged)
    predicted = PredictionSet(truth, predictions, scores, scale == "probability", decisions)
    return metrics_of(predicted, n_classes, minority_of(predicted, n_classes)).get(metric, float("nan"))
