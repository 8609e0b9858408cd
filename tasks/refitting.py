"""The winner as one model that takes raw rows, proved to say what was judged."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import skops.io
from sklearn.utils import gen_batches

from evenhand.data.frames import features_of, read_target
from evenhand.errors import EvenhandError
from evenhand.models.acceleration import plain
from evenhand.models.encoder import new_encoder
from evenhand.models.encoder_steps import step_key
from evenhand.models.ensembling import members_of, score_matrix, weighted_selection
from evenhand.models.fitting import fitted_model
from evenhand.models.model_code import model_key
from evenhand.models.packing.forms import fit_form
from evenhand.models.packing.kept import rows_to_encode
from evenhand.models.probability_map import ScoreMap
from evenhand.models.raw_row_model import RawRowModel
from evenhand.models.serialization import models_named, read_model
from evenhand.records.pipeline import FINAL, Balanced, Judgement, Model, Plan, Prepared, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.statistics.label_sets import label_columns
from evenhand.storage.artifact_store import Store, local
from evenhand.storage.digests import file_digest
from evenhand.storage.matrices import read_labels, read_matrix_rows, read_packed
from evenhand.storage.model_files import HOLDOUT_SCORES, MODEL_FILE
from evenhand.study.study import Study

PreparedAt = Mapping[tuple[str, str], Prepared]
BalancedAt = Mapping[tuple[str, str, str], Balanced]
CODE = (
    "evenhand.tasks.refitting:refit",
    "evenhand.records.pipeline:Judgement.winner",
    "evenhand.records.pipeline:Judgement.best",
    "evenhand.records.pipeline:Judgement.best_served",
    "evenhand.records.pipeline:Table.task",
    "evenhand.records.decision:Decided.served_threshold",
    "evenhand.records.decision:Decided.served_cost",
)
CLOSE_ENOUGH = 1e-9
SCORED_WITHOUT_HOLDOUT, SCORED_AT_ONCE = 1000, 50_000


@step("refit", anywhere=True)
def refit(judgement: Judgement, prepared: PreparedAt, balanced: BalancedAt, table: Table, study: Study) -> Model:
    """The best candidate fitted on all training rows, as one file that takes raw rows."""
    best = judgement.winner.plan
    members = members_of(judgement)
    inputs = {
        "table": table.digest,
        "members": [[plan, model_key(plan), *_trained_on(plan, prepared, balanced)] for plan in members],
        "encodings": [study.encodings[plan.encoding] for plan in members],
        "steps": [step_key(study.encodings[plan.encoding]) for plan in members],
        "predictions": judgement.digest,
        "ensemble": judgement.ensembles.get(best.name),
        "cleaning": _cleaning(table, study),
        "seed": study.seed,
        "decided": _deciding(judgement),
    }

    def build(folder: Path) -> dict[str, Any]:
        parts = _members(members, prepared, balanced, table, study)
        is_joined = best.name in judgement.ensembles
        selection = weighted_selection(judgement, members, table, study) if is_joined else None
        features = tuple((feature.name, feature.kind) for feature in table.features)
        model = RawRowModel(parts, features, list(table.classes), selection, cleaning=_cleaning(table, study))
        model.set_params(is_multilabel=table.is_multilabel)
        model.set_params(**_deciding(judgement))
        difference = _difference(model, judgement, table, prepared[members[0].encoding, FINAL], folder)
        skops.io.dump(model, folder / MODEL_FILE)
        read_model(folder / MODEL_FILE, models_named(study))
        return {"largest_difference": difference, "digest": file_digest(folder / MODEL_FILE)}

    entry = Store().keep("model", inputs, CODE, build)
    difference = entry.facts["largest_difference"]
    logger().info("%s refitted; its scores differ from the judged ones by at most %.1e", best.name, difference)
    return Model(best, entry.reference.inside(MODEL_FILE), entry.facts["digest"], difference)


def _trained_on(plan: Plan, prepared: PreparedAt, balanced: BalancedAt) -> list[Any]:
    made, before = balanced[plan.encoding, plan.balance, FINAL], prepared[plan.encoding, FINAL]
    return [made.training.digest, made.is_weighted, before.training.digest, before.held.digest]


def _deciding(judgement: Judgement) -> dict[str, Any]:
    """Threshold, costs and calibration as the served model holds them."""
    decided, calibrated = judgement.decided, judgement.calibrated
    return {
        "threshold": None if decided is None else decided.served_threshold,
        "cost": None if decided is None or decided.served_cost is None else [list(row) for row in decided.served_cost],
        "calibration": None if calibrated is None else [ScoreMap.from_facts(each) for each in calibrated.maps],
    }


def _cleaning(table: Table, study: Study) -> dict[str, Any]:
    """What must be done to new rows as it was done to the old: values that mean missing, and kinds of columns."""
    names = {feature.name for feature in table.features}
    scores_now = study.cleaning.model_dump(mode="json", include={"missing_values", "types", "unreadable"})
    return {**scores_now, "types": {name: kind for name, kind in scores_now["types"].items() if name in names}}


def _members(
    plans: Sequence[Plan], prepared: PreparedAt, balanced: BalancedAt, table: Table, study: Study
) -> list[tuple[Any, Any]]:
    """A fitted encoder and a fitted estimator of each; the matrix is the judged one, the encoder is learned anew.

    Members with one encoding hold one encoder, so that rows to be scored go through it once.
    """
    y = read_target(table)
    encoders: dict[str, Any] = {}
    for name in dict.fromkeys(plan.encoding for plan in plans):
        rows = read_matrix_rows(local(prepared[name, FINAL].training.stored))
        rows_of = rows_to_encode(table, study.encodings[name])
        encoders[name] = new_encoder(table, study.encodings[name], study.seed).fit(rows_of(rows), y[rows])

    def fitted(plan: Plan) -> tuple[Any, Any]:
        chosen = balanced[plan.encoding, plan.balance, FINAL]
        folder = local(chosen.training.stored)
        X, labels = fit_form(plan, read_packed(folder)), read_labels(folder)
        return encoders[plan.encoding], plain(fitted_model(plan, chosen, X, labels, len(table.classes), study.seed))

    return [fitted(plan) for plan in plans]


def _difference(model: RawRowModel, judgement: Judgement, table: Table, prepared: Prepared, folder: Path) -> float:
    """The largest difference between what the model says of the raw holdout rows and what was judged.

    What it says is kept, so that whoever loads the model later can be asked the same; of other rows without a holdout.
    """
    held = read_matrix_rows(local(prepared.held.stored))
    rows = held if len(held) else np.arange(min(table.n_rows, SCORED_WITHOUT_HOLDOUT))
    frame = features_of(table).iloc[rows]
    scores_now = np.concatenate([model.scores(frame.iloc[some]) for some in gen_batches(len(rows), SCORED_AT_ONCE)])
    np.savez_compressed(folder / HOLDOUT_SCORES, rows=rows, scores=scores_now)
    return _checked_difference(scores_now, judgement, table) if len(held) else 0.0


def _checked_difference(scores_now: np.ndarray, judgement: Judgement, table: Table) -> float:
    judged = pq.read_table(local(judgement.predictions), filters=[("fold", "=", FINAL)])
    best = judgement.winner.plan.name
    has_scores = not table.classes or judgement.winner.scale != "value"
    expected = score_matrix(judged, [best], table) if has_scores else judged[f"predicted:{best}"].to_numpy()
    if table.is_multilabel and not has_scores:
        expected = label_columns(expected, len(table.classes))
    expected = expected.reshape(scores_now.shape)
    difference = float(np.max(np.abs(scores_now - expected)))
    if not difference <= CLOSE_ENOUGH * max(1.0, float(np.max(np.abs(expected)))):
        raise EvenhandError(
            f"the refitted '{best}' does not say what was judged: its holdout scores differ by up to "
            f"{difference:.2g}. Nothing was registered. Set `seed`, or report the model as one that cannot be repeated."
        )
    return difference
