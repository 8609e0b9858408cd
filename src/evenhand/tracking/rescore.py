"""The models of several runs asked again, about rows that none of them was trained on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from evenhand.data.frames import kept_columns_of, read_target
from evenhand.errors import ConfError, DataError, EvenhandError, listed
from evenhand.evaluation.intervals import spreads_of
from evenhand.evaluation.metrics import PredictionSet, applicable, metrics_of
from evenhand.evaluation.paired_comparison import ALPHA, corrected, gaps_of, minority_of, predict_the_same
from evenhand.evaluation.predictions import predictions_on
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.comparison import Rival, RunContrast, Side, Value
from evenhand.records.pipeline import Ledger, Table
from evenhand.study.registry import PROBABILITY_METRICS
from evenhand.study.study import Study
from evenhand.tracking.champion import proposed_by
from evenhand.tracking.past_run import PastRun
from evenhand.tracking.recorded_models import load_recorded
from evenhand.tracking.unseen_rows import Unsure, unseen

SetsByLoss = dict[bool, PredictionSet]
AS_SERVED = "models are asked as they are served, with the thresholds and probabilities that their runs decided on"


def newest(found: Sequence[PastRun]) -> tuple[PastRun, Study]:
    """The run that began last, and its study, whose rows all models are asked about."""
    last = max(found, key=lambda each: each.chosen.run.info.start_time)
    return last, proposed_by(last.chosen.place, last.run_id, last.chosen.study).study


def rescore(found: Sequence[PastRun], table: Table, ledger: Ledger, metric: str | None = None) -> RunContrast:
    """The winners of runs on the holdout rows of one of them that no other was trained on."""
    single = [each.chosen.label for each in found if each.chosen.candidate]
    if single:
        raise ConfError(f"only the model that a run serves is kept, so a candidate of {listed(single)} cannot be asked")
    models = [_model(each) for each in found]
    rows = _common(found, models, table, ledger)
    frame, truth = kept_columns_of(table).iloc[rows], read_target(table)[rows]
    judged = [_sets_of(each, model, frame, truth) for each, model in zip(found, models, strict=True)]
    metric, n_classes = metric or found[-1].metric, len(table.classes)
    names = [metric, *(name for name in applicable(n_classes, table.is_multilabel) if name != metric)]
    sides = tuple(_side(each, sets, n_classes) for each, sets in zip(found, judged, strict=True))
    if not all(metric in side.values for side in sides):
        raise ConfError(f"not every model gives {metric} on these rows; take another --metric")
    rivals = tuple(
        _rival(each, judged[0], sets, names, n_classes) for each, sets in zip(found[1:], judged[1:], strict=True)
    )
    return RunContrast(
        metric=metric,
        sides=sides,
        rivals=corrected(rivals),
        alpha=ALPHA,
        n_folds=0,
        n_rows=len(rows),
        is_rescored=True,
        notes=(AS_SERVED, *_notes(found, table)),
    )


def _model(each: PastRun) -> RawRowModel:
    return load_recorded(each.chosen.place, each.chosen.study, each.run_id)


def _common(found: Sequence[PastRun], models: Sequence[RawRowModel], table: Table, ledger: Ledger) -> np.ndarray:
    """The holdout rows that no model was trained on."""
    rows: list[np.ndarray] = []
    for each, model in zip(found, models, strict=True):
        if list(model.classes or []) != list(table.classes):
            raise DataError(f"'{each.chosen.label}' cannot be asked about these rows: it knows other classes")
        try:
            rows.append(unseen(each.chosen.place, each.run_id, model, table, ledger))
        except Unsure as error:
            raise EvenhandError(
                f"there are no rows that all of these runs can be re-scored on: the model of '{each.chosen.label}' "
                f"cannot be asked about the holdout of the latest of them, as {error}"
            ) from None
    common = rows[0]
    for others in rows[1:]:
        common = np.intersect1d(common, others)
    if (table.classes and len(np.unique(read_target(table)[common])) < 2) or len(common) < 2:
        raise EvenhandError(
            f"there are no rows that all of these runs can be re-scored on: {len(common)} of {ledger.n_holdout} "
            "holdout rows were trained on by none of them. Compare fewer runs, or run the study on newer data."
        )
    return common


def _sets_of(each: PastRun, model: RawRowModel, frame: pd.DataFrame, truth: np.ndarray) -> SetsByLoss:
    try:
        return {is_loss: predictions_on(model, frame, truth, is_loss) for is_loss in (False, True)}
    except DataError as error:
        raise DataError(f"'{each.chosen.label}' cannot be asked about these rows: {error}") from None


def _side(each: PastRun, judged: SetsByLoss, n_classes: int) -> Side:
    """A run with the figures of its model on the common rows."""
    minority = minority_of(judged[False], n_classes)
    values: dict[str, Value] = {}
    for is_loss, sets in judged.items():
        spreads = spreads_of(sets, n_classes, minority)
        for name, value in metrics_of(sets, n_classes, minority).items():
            if (name in PROBABILITY_METRICS) == is_loss:
                low, high = (spreads[name].low, spreads[name].high) if name in spreads else (None, None)
                values[name] = Value(holdout=value, low=low, high=high)
    return replace(each.side(), values=values)


def _rival(each: PastRun, first: SetsByLoss, other: SetsByLoss, names: Sequence[str], n_classes: int) -> Rival:
    gaps = []
    for is_loss in (False, True):
        chosen = [name for name in names if (name in PROBABILITY_METRICS) == is_loss]
        gaps += gaps_of(first[is_loss], other[is_loss], chosen, n_classes)
    in_order = sorted(gaps, key=lambda gap: names.index(gap.metric))
    same = predict_the_same(first[False], other[False]) and predict_the_same(first[True], other[True])
    return Rival(each.chosen.label, tuple(in_order), same)


def _notes(found: Sequence[PastRun], table: Table) -> tuple[str, ...]:
    last, _ = newest(found)
    if last.tags.get("evenhand.table") == table.digest:
        return ()
    return (f"the data has changed since '{last.chosen.label}': the rows are those that its source gives now",)
