"""The rows of a published study for the pipeline of today, and what it reaches on them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.data.frames import read_rows, read_target
from evenhand.evaluation.calibrated_scores import fold_places, row_codes
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.evaluation.threshold_objectives import Purpose, cross_thresholds
from evenhand.records.pipeline import ENSEMBLE, Figures, Judgement, Table
from evenhand.replication.draws import equal_draw
from evenhand.replication.lines import Line
from evenhand.replication.modern import ensemble_of, with_beyond
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Store, local
from evenhand.study.study import Study

ROWS = "drawn.parquet"


@step("keep drawn rows")
def keep_drawn(study: Study, table: Table, n_per_class: int) -> Study:
    """The study with the drawn rows of a table as its source."""
    inputs = {"table": table.digest, "target": table.target, "n_per_class": n_per_class}
    entry = Store().keep(
        "drawn", inputs, "evenhand.tasks.replication.beyond:_written", partial(_written, table, n_per_class)
    )
    source = study.source.model_copy(update={"path": (str(entry.path / ROWS),)})
    return study.model_copy(update={"source": source, "columns": type(study.columns)()})


@step("say beyond")
def report_beyond(
    lines: Sequence[Line], name: str, judgements: Mapping[str, Judgement], table: Table, n_folds: int
) -> tuple[Line, ...]:
    """The lines with what an ensemble steered by each measure reaches on folds that it was not chosen on."""
    ensembles = {metric: ensemble_of(judgement) for metric, judgement in judgements.items()}
    if (judgement := judgements.get("accuracy")) is not None:
        candidate = Predictions(local(judgement.predictions), table).of(ENSEMBLE, "probability").out_of_fold
        ensembles["accuracy"] = _with_threshold(ensembles["accuracy"], candidate)
    return with_beyond(lines, name, ensembles, 1 / n_folds)


def _with_threshold(best: Figures, candidate: CandidatePredictions) -> Figures:
    """The accuracy in each fold at the threshold that served the other folds best; both classes are equally many."""
    purpose, places = Purpose("metric", "balanced_accuracy", "best balanced accuracy"), fold_places(candidate)
    assert candidate.scores is not None
    is_right = (
        candidate.scores >= cross_thresholds(purpose, candidate.truth, candidate.scores, row_codes(candidate))
    ) == candidate.truth
    accuracies = np.bincount(places, weights=is_right) / np.bincount(places)
    return replace(best, folds={**best.folds, "accuracy": tuple(accuracies.tolist())})


def _written(table: Table, n_per_class: int, folder: Path) -> dict[str, Any]:
    y = read_target(table)
    drawn = equal_draw(y, n_per_class)
    names = [feature.name for feature in table.features]
    read_rows(table, names).iloc[drawn].assign(**{table.target: y[drawn]}).to_parquet(folder / ROWS, index=False)
    return {"n_rows": len(drawn)}
