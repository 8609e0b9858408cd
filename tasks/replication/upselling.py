"""What the paper on similarity kernels did beyond an ordinary study: rank all columns, and count over test rows too."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from evenhand.data.frames import read_rows, read_target
from evenhand.estimators.machines.similarity_svm import SimilaritySVC
from evenhand.evaluation.predictions import Predictions
from evenhand.models.encoder import new_encoder
from evenhand.records.pipeline import ENSEMBLE, Judgement, Prepared, Table
from evenhand.replication.facts import published
from evenhand.replication.lines import Line
from evenhand.replication.modern import ensemble_of
from evenhand.replication.upselling import Upselling, compare
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Store, local
from evenhand.storage.matrices import read_matrix
from evenhand.study.study import Study

SEMI = "evenhand.tasks.replication.upselling:_counted"
REFERENCES = ("random_forest", "random_forest_equal", "lin_freed")


@step("rank columns", anywhere=True)
def rank_columns(table: Table, study: Study, encoding: str) -> dict[str, dict[str, float]]:
    """The importance of every column over all rows, by both of the forest's measures."""
    inputs = {"table": table.digest, "encoding": study.encodings[encoding], "seed": study.seed}
    return (
        Store()
        .keep(
            "ranking", inputs, "evenhand.tasks.replication.upselling:_ranked", partial(_ranked, table, study, encoding)
        )
        .facts
    )


@step("count over test rows", anywhere=True)
def count_over_test_rows(prepared: Prepared, C: float) -> float:
    """The area of a lin machine on one fold when frequencies are counted over its training and test rows."""
    inputs = {"training": prepared.training.digest, "held": prepared.held.digest, "C": C}
    return Store().keep("semi_supervised", inputs, SEMI, partial(_counted, prepared, C)).facts["roc_auc"]


@step("compare upselling")
def compare_upselling(
    judgement: Judgement,
    ensembles: Mapping[str, Judgement],
    prepared: Sequence[Prepared],
    rankings: Mapping[str, Mapping[str, float]],
    with_test_rows: Sequence[float],
    of_few: Mapping[str, Judgement],
) -> list[Line]:
    """The paper's tables and claims beside what was measured."""
    found = Upselling(
        figures={each.plan.name: each for each in judgement.figures},
        ensembles={name: ensemble_of(one) for name, one in ensembles.items()},
        counts=[_counts(one) for one in prepared],
        rankings=rankings,
        with_test_rows=with_test_rows,
        of_few={name: ensemble_of(one) for name, one in of_few.items()},
        scored=_scored(judgement, {each.plan.name: each.plan.name for each in judgement.figures})
        | {key: _scored(one, {key: ENSEMBLE})[key] for key, one in ensembles.items()},
    )
    return list(compare(published()["kdd_cup_2009_upselling"], found))


def library(judgement: Judgement) -> Judgement:
    """The judgement with the paper's own kinds of machine only, from which its ensembles were selected."""
    return replace(judgement, figures=tuple(e for e in judgement.figures if e.plan.candidate not in REFERENCES))


def _ranked(table: Table, study: Study, encoding: str, _: Path) -> dict[str, Any]:
    frame = read_rows(table, [feature.name for feature in table.features])
    return new_encoder(table, study.encodings[encoding], study.seed).fit(frame, read_target(table)).importances_


def _counted(prepared: Prepared, C: float, _: Path) -> dict[str, Any]:
    X, y = read_matrix(local(prepared.training.stored))
    held, truth = read_matrix(local(prepared.held.stored))
    model = SimilaritySVC("lin", C=C, frequencies="all", random_state=0).fit(X, y, unlabelled=held)
    return {"roc_auc": float(roc_auc_score(truth, model.decision_function(held)))}


def _scored(judgement: Judgement, names: Mapping[str, str]) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    """Truth and scores of the rows left out, fold by fold, of candidates by the names they are asked for under."""
    predictions = Predictions(local(judgement.predictions))
    scales = {each.plan.name: each.scale for each in judgement.figures}
    return {key: predictions.of(name, scales[name]).folds() for key, name in names.items()}


def _counts(prepared: Prepared) -> tuple[int, int]:
    truth = np.asarray(read_matrix(local(prepared.held.stored))[1])
    return int(truth.sum()), int((1 - truth).sum())
