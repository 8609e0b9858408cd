"""What each raw column is worth to the model that is served, measured on rows that it was not trained on."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter

from evenhand.data.column_roles import judged_by
from evenhand.data.frames import features_of, read_order, read_slices, read_target
from evenhand.data.snapshot import fingerprint
from evenhand.data.splits import fold_rows, sides_of
from evenhand.evaluation.explanation.insight import Known, insight_of
from evenhand.evaluation.explanation.permutation_importance import explain_columns
from evenhand.evaluation.parts.learning_curve import MOST_FOLDS, learning_curve, shares_within
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.models.encoder_steps import step_key
from evenhand.models.ensembling import members_of
from evenhand.models.model_code import model_key
from evenhand.models.samplers import sampler_code
from evenhand.models.serialization import models_named, read_model
from evenhand.records.decision import Effect, Explained, as_plain
from evenhand.records.insight import Insight, LearningPoint
from evenhand.records.pipeline import FINAL, Judgement, Ledger, Model, Plan, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.runtime.text import counted
from evenhand.storage.artifact_store import Store, local
from evenhand.study.registry import METRICS
from evenhand.study.study import Columns, Study

FEWEST_OF_A_CLASS = 2
MODEL_CODE = (
    "evenhand.records.decision:as_plain",
    "evenhand.models.raw_row_model:RawRowModel",
    "evenhand.models.encoder:TableEncoder",
    "evenhand.models.probability_map:ScoreMap",
    "evenhand.estimators.ensemble.selection:EnsembleSelection",
    "evenhand.estimators.ensemble.voting:ScoreVoting",
    "evenhand.estimators.ensemble.stacking:ScoreStacking",
)
CODE = ("evenhand.tasks.explaining.served_model:_explained", *MODEL_CODE)
INSIGHT_CODE = (
    "evenhand.tasks.explaining.served_model:_looked_into",
    "evenhand.evaluation.predictions:Predictions",
    *MODEL_CODE,
)


LEARNING_CODE = ("evenhand.tasks.explaining.served_model:_learned", "evenhand.study.study:Study.balance_kind")


@step("explain", anywhere=True)
def explain(
    model: Model, judgement: Judgement, table: Table, ledger: Ledger, study: Study,
    settled: Mapping[tuple[str, str], Plan] | None = None,
) -> Explained:  # fmt: skip
    """The effect of each column on the metric, by shuffling it on the holdout; why, for whom and how sure of more.

    `settled` are the plans as they were fitted on each fold, where they differ from fold to fold.
    """
    rows = fold_rows(ledger, FINAL)[1]
    inputs = {
        "model": model.digest, "members": [model_key(plan) for plan in members_of(judgement)],
        "steps": [step_key(study.encodings[plan.encoding]) for plan in members_of(judgement)],
        "table": table.digest, "ledger": ledger.digest, "metric": judgement.metric,
        "seed": study.seed,
    }  # fmt: skip
    why = _why_not(rows, judgement, table)
    found = Explained(judgement.metric, float("nan"), 0, len(rows), words=why) if why else _effects(
        model, judgement, rows, table, study, inputs
    )  # fmt: skip
    logger().info("%s shuffled on %s", counted(len(found.effects), "column"), counted(found.n_rows, "holdout row"))
    if study.is_multilabel:  # effects, reasons and slices are of one target
        return found
    insight = _insight(model, judgement, found, table, ledger, study, inputs)
    if study.learning_curve:
        plan = members_of(judgement)[0]
        plans = {fold: (settled or {}).get((plan.name, fold), plan) for fold in ledger.folds[:MOST_FOLDS]}
        insight = replace(insight, learning=_learning(judgement, plans, table, ledger, study), learning_of=plan.name)
    return replace(found, insight=insight)


def _effects(
    model: Model, judgement: Judgement, rows: np.ndarray, table: Table, study: Study, inputs: dict[str, Any]
) -> Explained:
    def build(_: Any) -> dict[str, Any]:
        return as_plain(_explained(model, judgement.metric, rows, table, study))

    facts = Store().keep("explained", inputs, [*CODE, *METRICS.modules], build).facts
    return Explained(**{**facts, "effects": tuple(_effect(each) for each in facts["effects"]),
                        "left_out": tuple(facts["left_out"]), "insight": Insight()})  # fmt: skip


def _insight(
    model: Model, judgement: Judgement, found: Explained, table: Table, ledger: Ledger, study: Study,
    inputs: dict[str, Any],
) -> Insight:  # fmt: skip
    winner, beside = judgement.winner, read_slices(table)
    costs = judgement.decided.cost if judgement.decided is not None else None
    more = {
        "predictions": judgement.digest, "name": [winner.plan.name, winner.scale], "costs": costs,
        "important": [each.column for each in found.effects], "protected": study.columns.protected,
        "beside": [list(beside.columns), fingerprint(pa.Table.from_pandas(beside, preserve_index=False))],
    }  # fmt: skip

    def build(_: Any) -> dict[str, Any]:
        predictions = Predictions(local(judgement.predictions), table).of(winner.plan.name, winner.scale)
        return as_plain(_looked_into(model, predictions, inputs | more, table, ledger, study))

    facts = Store().keep("insight", {**inputs, **more}, [*INSIGHT_CODE, *METRICS.modules], build).facts
    return TypeAdapter(Insight).validate_python(facts)


def _looked_into(
    model: Model, predictions: CandidatePredictions, given: dict[str, Any], table: Table, ledger: Ledger, study: Study
) -> Insight:
    served, _ = read_model(local(model.stored), models_named(study))
    trained, held = fold_rows(ledger, FINAL)
    frame, beside = features_of(table), read_slices(table)
    names = [*frame.columns, *beside.columns]
    known = Known(
        served, frame, trained, held, predictions, given["important"] or list(frame.columns), read_order(table),
        beside, given["metric"], judged_by(Columns(protected=study.columns.protected), names), given["costs"],
        study.seed,
    )  # fmt: skip
    return insight_of(known)


def _learning(
    judgement: Judgement, plans: dict[str, Plan], table: Table, ledger: Ledger, study: Study
) -> tuple[LearningPoint, ...]:
    """The metric of the best candidate of the winner on shares of the rows of some folds."""
    first, metric = next(iter(plans.values())), judgement.metric
    figures = next(each for each in judgement.figures if each.plan.name == first.name)
    whole = dict(zip(plans, figures.folds.get(metric, ()), strict=False))
    if len(whole) < len(plans) or not np.isfinite(list(whole.values())).all():
        return ()
    n_rows = len(fold_rows(ledger, next(iter(plans)))[0])
    single = [each.plan for each in judgement.figures if each.plan.name not in judgement.ensembles]
    shares = shares_within(n_rows, first, single, len(ledger.folds))
    sampled = sampler_code(study.balance_kind(first.balance))
    inputs = {
        "plans": [model_key(plan) for plan in plans.values()], "whole": whole, "shares": shares, "metric": metric,
        "steps": step_key(study.encodings[first.encoding]), "encoding": study.encodings[first.encoding],
        "balance": [study.balance_kind(first.balance), study.balance[first.balance]],
        "rows": [table.digest, ledger.digest, table.features], "seed": study.seed, **study.cleaning.of_folds,
    }  # fmt: skip

    def build(_: Any) -> dict[str, Any]:
        return _learned(plans, whole, shares, metric, table, ledger, study)

    facts = Store().keep("learning", inputs, [*LEARNING_CODE, *sampled, *METRICS.modules], build).facts
    return tuple(LearningPoint(**each) for each in facts["points"])


def _learned(
    plans: dict[str, Plan], whole: dict[str, float], shares: tuple[float, ...], metric: str,
    table: Table, ledger: Ledger, study: Study,
) -> dict[str, Any]:  # fmt: skip
    points = learning_curve(plans, whole, shares, metric, features_of(table), read_target(table), table, ledger, study)
    return {"points": [asdict(one) for one in points]}


def _why_not(rows: np.ndarray, judgement: Judgement, table: Table) -> str:
    """Why there is nothing to explain, in words; empty where there is."""
    if not len(rows):
        return "No rows are held out, so no column was shuffled: a model is not asked about rows that it was fitted on."
    counts = {name: int(side.sum()) for name, side in sides_of(read_target(table)[rows], table).items()}
    if few := [name for name, n in counts.items() if n < FEWEST_OF_A_CLASS]:
        return f"The holdout has fewer than {FEWEST_OF_A_CLASS} rows of {few[0]}, so no column was shuffled."
    if judgement.metric not in judgement.winner.holdout:
        return f"The model that is served gives no {judgement.metric} on the holdout, so no column was shuffled."
    return ""


def _explained(model: Model, metric: str, rows: np.ndarray, table: Table, study: Study) -> Explained:
    served, _ = read_model(local(model.stored), models_named(study))
    frame = features_of(table).iloc[rows]
    return explain_columns(served, frame, read_target(table)[rows], metric, seed=study.seed)


def _effect(facts: dict[str, Any]) -> Effect:
    return Effect(**{**facts, "values": tuple(facts["values"])})
