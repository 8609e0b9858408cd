"""What each raw column is worth to the model that is served, measured on rows that it was not trained on."""

from typing import Any

import numpy as np

from evenhand.data.frames import read_rows, read_target
from evenhand.data.splits import fold_rows, sides_of
from evenhand.evaluation.permutation_importance import explain_columns
from evenhand.models.encoder_steps import step_key
from evenhand.models.ensembling import members_of
from evenhand.models.model_code import model_key
from evenhand.models.serialization import models_named, read_model
from evenhand.records.decision import Effect, Explained, as_plain
from evenhand.records.pipeline import FINAL, Judgement, Ledger, Model, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.runtime.text import counted
from evenhand.storage.artifact_store import Store, local
from evenhand.study.registry import METRICS
from evenhand.study.study import Study

FEWEST_OF_A_CLASS = 2
CODE = (
    "evenhand.tasks.explaining:_explained",
    "evenhand.records.decision:as_plain",
    "evenhand.models.raw_row_model:RawRowModel",
    "evenhand.models.encoder:TableEncoder",
    "evenhand.models.probability_map:ScoreMap",
    "evenhand.estimators.ensemble.selection:EnsembleSelection",
    "evenhand.estimators.ensemble.voting:ScoreVoting",
)


@step("explain", anywhere=True)
def explain(model: Model, judgement: Judgement, table: Table, ledger: Ledger, study: Study) -> Explained:
    """The effect of each column on the metric of the study, by shuffling it on the holdout."""
    rows = fold_rows(ledger, FINAL)[1]
    if why := _why_not(rows, judgement, table):
        return Explained(judgement.metric, float("nan"), 0, len(rows), words=why)
    inputs = {
        "model": model.digest, "members": [model_key(plan) for plan in members_of(judgement)],
        "steps": [step_key(study.encodings[plan.encoding]) for plan in members_of(judgement)],
        "table": table.digest, "ledger": ledger.digest, "metric": judgement.metric,
        "seed": study.seed,
    }  # fmt: skip

    def build(_: Any) -> dict[str, Any]:
        return as_plain(_explained(model, judgement.metric, rows, table, study))

    facts = Store().keep("explained", inputs, [*CODE, *METRICS.modules], build).facts
    found = Explained(**{**facts, "effects": tuple(_effect(each) for each in facts["effects"]),
                         "left_out": tuple(facts["left_out"])})  # fmt: skip
    logger().info("%s shuffled on %s", counted(len(found.effects), "column"), counted(found.n_rows, "holdout row"))
    return found


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
    frame = read_rows(table, [feature.name for feature in table.features]).iloc[rows]
    return explain_columns(served, frame, read_target(table)[rows], metric, seed=study.seed)


def _effect(facts: dict[str, Any]) -> Effect:
    return Effect(**{**facts, "values": tuple(facts["values"])})
