"""What became of the rows that were scored: true labels joined with scores, as metrics over time."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from evenhand.data.casting import as_text
from evenhand.data.sources import find_files, opened
from evenhand.errors import ConfError, DataError, listed, nearest
from evenhand.monitoring.realized_performance import (
    KEY,
    LabelledRows,
    RealizedPerformance,
    ScoredRows,
    figures_of,
    keys_of,
    truths_of,
)
from evenhand.monitoring.reference_profile import PROFILE_FILE, Profile
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import home
from evenhand.storage.locks import waiting
from evenhand.study.study import Source, Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded_models import artifact

ONE_DAY_MS = 86_400_000
PREDICTED = ("prediction", "decision", "score", "probability")


@step("join truths")
def join_truths(study: Study) -> tuple[list[RealizedPerformance], list[str]]:
    """For each model that scored rows of a study, what its labelled rows say of it; notes on rows that do not fit."""
    if study.feedback is None:
        raise ConfError(
            f"study '{study.name}' says nothing of labels that arrive later. Add to its file: feedback: {{source: "
            "{path: labels.csv}, scored: scored/*.parquet}, with columns.key naming a row in both."
        )
    key, truth = study.feedback.key or study.columns.key, study.feedback.truth or study.target_name
    labels = pa.concat_tables(_tables(study, study.feedback.source, (*key, truth), "feedback.source"))
    truths, notes = truths_of(labels, key, truth)
    scores = ScoredRows(truths)
    for rows in _scored(study, key):
        scores.add(rows)
    labelled_rows, more = scores.labelled_rows()
    return [_realized(study, each) for each in labelled_rows], [*notes, *more]


@step("record feedback")
def record_feedback(study: str, found: Sequence[RealizedPerformance], as_of: str) -> list[RealizedPerformance]:
    """The same with the MLflow run of each model that has its metrics over time; a point for each `as_of`."""
    place, moment = mlflow_client.open_experiment(study), _moment(as_of)
    kept = []
    with waiting(home() / "locks" / f"{study}.feedback.lock"):
        for each in found:
            run_id = _run_of(place, study, each)
            values = {f"realized_{name}": value for name, value in each.metrics.items()}
            counts = {"scored_rows": each.n_scored, "labelled_rows": each.n_labelled}
            mlflow_client.log_point(place, run_id, {**values, **counts}, moment, moment // ONE_DAY_MS)
            kept.append(RealizedPerformance(**{**vars(each), "mlflow_run": run_id}))
            logger().info("%s: %d of %d scored rows have a label", each.name, each.n_labelled, each.n_scored)
    return kept


def _run_of(place: mlflow_client.Place, study: str, each: RealizedPerformance) -> str:
    """The run that has a model's realized metrics, made for its first labels."""
    tags = {"evenhand.kind": "feedback", "evenhand.study": study, "evenhand.of": each.run_id}
    if (known := mlflow_client.run_tagged(place, tags)) is not None:
        return known
    with mlflow_client.running(place, f"feedback {each.name}", tags) as run_id:
        judged = {f"judged_{name}": value for name, value in each.judged.items()}
        mlflow_client.log_metrics(place, run_id, judged)
    return run_id


def _moment(as_of: str) -> int:
    try:
        when = datetime.fromisoformat(as_of)
    except ValueError:
        raise ConfError(f"--as-of {as_of} is no time: write it as 2026-05-01 or 2026-05-01T12:00") from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def _realized(study: Study, labelled_rows: LabelledRows) -> RealizedPerformance:
    run_id = labelled_rows.run_id
    place = mlflow_client.open_store()
    run = mlflow_client.run_of(place, run_id)
    if run.data.tags.get("evenhand.study") != study.name:
        raise DataError(
            f"feedback.scored has rows that run '{run_id}' of study '{run.data.tags.get('evenhand.study')}' scored: "
            f"name files of study '{study.name}' only."
        )
    profile = Profile.from_json(artifact(place, run_id, PROFILE_FILE).read_text(encoding="utf-8"))
    classes = profile.targets[0].values if profile.targets[0].is_named else ()
    found = figures_of(labelled_rows.labelled, classes)
    judged = {name: run.data.metrics[f"holdout_{name}"] for name in found if f"holdout_{name}" in run.data.metrics}
    return RealizedPerformance(
        run_id, labelled_rows.version, labelled_rows.n_scored, len(labelled_rows.labelled), found, judged
    )


def _scored(study: Study, key: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The rows of all scored files in pieces, in the order of the files' names."""
    assert study.feedback is not None
    files = [file for file in find_files(study.feedback.scored, study._file) if _is_scored(file)]
    if not files:
        raise DataError(f"feedback.scored names no file of scores: {listed(study.feedback.scored)}.")
    for file in files:
        needed, where = (*key, "run", "version"), f"the scored file '{file}'"
        for table in _tables(study, Source(path=(str(file),)), needed, where, with_predictions=True):
            predicted = {name: _column(table, name) for name in table.column_names if name not in key}
            yield pd.DataFrame({**predicted, KEY: keys_of(table, key)})


def _column(table: pa.Table, name: str) -> Any:
    column = table[name].combine_chunks()
    return (as_text(column) if name == "decision" else column).to_pandas()


def _is_scored(file: Path) -> bool:
    """Neither the manifest nor the rows put aside, which lie beside."""
    return not file.name.endswith((".manifest.json", ".quarantine.parquet"))


def _tables(
    study: Study, source: Source, needed: Sequence[str], where: str, with_predictions: bool = False
) -> Iterator[pa.Table]:
    """Some columns of a source, piece by piece; an empty source is one empty piece."""
    with opened(study.model_copy(update={"source": source})) as found:
        rows = found.read()
        names = rows.schema.names
        lacking = [name for name in needed if name not in names]
        if lacking:
            raise DataError(f"{where} lacks {listed(lacking)}.{nearest(lacking[0], names)} It has {listed(names)}.")
        kept = [*needed, *(name for name in names if with_predictions and name.partition(":")[0] in PREDICTED)]
        yield rows.schema.empty_table().select(kept)
        for batch in rows.batches():
            yield pa.Table.from_batches([batch.select(kept)])
