"""New rows against the rows that the champion was trained on, recorded beside its runs."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from evenhand.data.casting import as_text
from evenhand.data.frames import read_rows, read_target
from evenhand.data.sources import opened
from evenhand.data.splits import content_hashes
from evenhand.data.targets import LABEL_WORDS
from evenhand.errors import DataError, listed, nearest
from evenhand.monitoring.drift import Shift, Watched, shifts_of, state_of
from evenhand.monitoring.input_check import Incoming
from evenhand.monitoring.notifications import drifted, notify
from evenhand.monitoring.reference_profile import PROFILE_FILE, Profile, Tallies, target_columns
from evenhand.records.metric_values import plain_key
from evenhand.records.pipeline import Feature, Table
from evenhand.reporting.figures.drift import drift_picture
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.runtime.text import counted
from evenhand.storage.digests import digest
from evenhand.study.study import Cleaning, Source, Study, Watch
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import decisions_of
from evenhand.tracking.recorded_models import artifact
from evenhand.tracking.run_names import latest_run

BATCH_ROWS = 65_536
LONGEST = 200  # letters of a column in the name of a metric
LEDGER_FILE = "ledger.parquet"


@dataclass(frozen=True)
class DriftReference:
    """The champion, or the latest run where there is none, and what its training rows looked like, if that was kept."""

    study: Study
    run_id: str
    version: int
    profile: Profile | None


@step("choose reference")
def choose_reference(name: str) -> DriftReference:
    """What new rows of a study are compared with."""
    place, champion = mlflow_client.open_store(), decisions_of(name).champion
    run_id = champion.run_id if champion else latest_run(name)[1].info.run_id
    study = yaml.safe_load(artifact(place, run_id, "study.yaml").read_text(encoding="utf-8"))
    kept = {item.path for item in place.client().list_artifacts(run_id)}
    profile = None
    if PROFILE_FILE in kept:
        profile = Profile.from_json(artifact(place, run_id, PROFILE_FILE).read_text(encoding="utf-8"))
    return DriftReference(Study.model_validate(study), run_id, champion.version if champion else 0, profile)


@step("look at file")
def look_at_file(reference: DriftReference, source: str, settings: Watch, as_of: str = "") -> Watched:
    """What the rows of a file have moved by."""
    if reference.profile is None:
        return _unknown(reference, as_of)
    study = reference.study.model_copy(update={"source": Source(path=(source,))})
    with opened(study) as found:
        rows = found.read()
        _check_columns(rows.schema.names, reference.profile, source)
        features = [Feature(shape.name, shape.kind) for shape in reference.profile.columns]  # type: ignore[arg-type]
        incoming = Incoming(rows, features, _cleaning(study, features), study.targets)
        new = Tallies(reference.profile)
        for batch in incoming.batches(BATCH_ROWS):
            new.add(batch.columns, _targets(batch.beside, reference.profile, study))
    if not new.n_rows:
        raise DataError(f"there are no rows in '{source}', so nothing is known of drift: check the file.")
    notes = (*_notes(incoming, new), *_no_champion(reference))
    shifts = shifts_of(reference.profile, new, settings)
    return replace(_watched(reference, new, shifts, as_of), data=digest(found.inputs), notes=notes)


@step("look at new rows")
def look_at_new_rows(reference: DriftReference, table: Table, settings: Watch, as_of: str = "") -> Watched:
    """What those rows of a study's own source have moved by that came since the champion's run."""
    if reference.profile is None:
        return _unknown(reference, as_of)
    frame = read_rows(table)
    _check_columns(
        [each.name for each in table.features], reference.profile, f"study '{reference.study.name}' as it is now"
    )
    is_new = _came_since(reference, frame, table)
    if not is_new.any():
        return Watched(reference.study.name, reference.run_id, reference.version, 0, "nothing new", as_of=as_of)
    new = Tallies(reference.profile)
    columns = {shape.name: pa.Array.from_pandas(frame.loc[is_new, shape.name]) for shape in reference.profile.columns}
    new.add(columns, target_columns(table, read_target(table)[is_new]))
    shifts = shifts_of(reference.profile, new, settings)
    return replace(_watched(reference, new, shifts, as_of), data=table.digest)


@step("record watch")
def record_watch(found: Watched, study: Study) -> Watched:
    """The same with the MLflow run that has its table, figure and metrics; drift is notified."""
    place = mlflow_client.open_experiment(found.study)
    tags = {
        "evenhand.kind": "watch",
        "evenhand.study": found.study,
        "evenhand.against": found.against,
        "evenhand.verdict": found.state,
        "evenhand.as_of": found.as_of,
        mlflow_client.NOTE: found.words,
    }
    with mlflow_client.running(place, f"watch {found.as_of}".strip(), tags) as run_id:
        mlflow_client.log_metrics(place, run_id, _metrics(found))
        mlflow_client.log_text(place, run_id, json.dumps(asdict(found), indent=2), "drift.json")
        if found.shifts:
            mlflow_client.log_text(place, run_id, json.dumps(_table(found)), "drift_table.json")
            mlflow_client.log_picture(place, run_id, drift_picture(found), "drift.png")
    if found.state == "drift":
        notify(study, drifted(found.words, f"{found.against} {found.data}", run=run_id, rows=found.n_rows))
    logger().info(found.words)
    return replace(found, run_id=run_id)


def _came_since(reference: DriftReference, frame: pd.DataFrame, table: Table) -> np.ndarray:
    """Which rows are more than the champion's run had of the same key, or of the same content without one."""
    had = pq.read_table(artifact(mlflow_client.open_store(), reference.run_id, LEDGER_FILE))
    keys = [name for name, role in table.roles.items() if role == "key"]
    if keys and "key" in had.column_names:
        name, found = "key", content_hashes(frame[keys])
    else:
        name, found = "content", content_hashes(frame[[feature.name for feature in table.features]], is_near=True)
    now, before = pd.Series(found), had[name].to_pandas().value_counts()
    return (now.groupby(now).cumcount() >= now.map(before).fillna(0)).to_numpy()


def _unknown(reference: DriftReference, as_of: str) -> Watched:
    """The outcome where the reference was recorded by a version that kept no profile."""
    return Watched(reference.study.name, reference.run_id, reference.version, 0, "unknown", as_of=as_of)


def _watched(reference: DriftReference, new: Tallies, shifts: tuple[Shift, ...], as_of: str) -> Watched:
    against = reference.study.name, reference.run_id, reference.version
    return Watched(*against, new.n_rows, state_of(shifts), shifts, as_of)


def _check_columns(names: list[str], profile: Profile, where: str) -> None:
    lacking = [shape.name for shape in profile.columns if shape.name not in names]
    if lacking:
        raise DataError(
            f"the new rows ({where}) lack {counted(len(lacking), 'column')} that the champion reads: {listed(lacking)}."
            f"{nearest(lacking[0], names)} That is no drift but another table: fix the source."
        )


def _cleaning(study: Study, features: list[Feature]) -> Cleaning:
    """The study's rules for single values; a value that is no number counts as missing."""
    names = {feature.name for feature in features}
    types = {name: kind for name, kind in study.cleaning.types.items() if name in names}
    return study.cleaning.model_copy(update={"types": types})


def _targets(beside: dict[str, pa.Array], profile: Profile, study: Study) -> dict[str, pa.Array]:
    """The columns of the target that new rows have, labels in one spelling."""
    found = {shape.name: beside[shape.name] for shape in profile.targets if shape.name in beside}
    known = {name: array for name, array in found.items() if not pa.types.is_null(array.type)}
    return {name: _in_one_spelling(array) for name, array in known.items()} if study.is_multilabel else known


def _in_one_spelling(array: pa.Array) -> pa.Array:
    """A column of a label with 1 for present and 0 for absent; what is neither stays as it is."""
    words = as_text(array)
    for written, spellings in zip("01", zip(*LABEL_WORDS, strict=True), strict=True):
        words = pc.if_else(pc.is_in(words, pa.array(sorted(set(map(str, spellings))))), written, words)
    return words


def _no_champion(reference: DriftReference) -> tuple[str, ...]:
    """What the comparison is with where nothing was promoted."""
    name, run = reference.study.name, reference.run_id
    words = f"'{name}' has no champion: compared with its latest run {run}; `evenhand champion promote` makes it one"
    return () if reference.version else (words,)


def _notes(incoming: Incoming, new: Tallies) -> Iterator[str]:
    for name, each in incoming.strange.items():
        if each.n_rows:
            values = f"{counted(each.n_rows, 'value')} unusable as a number"
            yield f"column '{name}' has {values}, such as {listed(each.examples)}; counted as missing"
    for name, tally in new.targets.items():
        if not tally.n_known + tally.n_unseen:
            yield f"the new rows have no '{name}', so a shift of the target is unknown"
        if tally.n_unseen:
            yield f"target '{name}' has {counted(tally.n_unseen, 'value')} that the champion does not know"


def _metrics(found: Watched) -> dict[str, float]:
    """Totals, and each shift under a name that MLflow takes."""
    each = {f"{shift.measure}/{plain_key(shift.column)[:LONGEST]}": shift.value for shift in found.shifts}
    columns = {shift.column for shift in found.drifted}
    return {"new_rows": found.n_rows, "drifted_columns": len(columns), **each}


def _table(found: Watched) -> dict[str, Any]:
    columns = ["column", "measure", "value", "low", "high", "threshold", "state"]
    return {"columns": columns, "data": [[getattr(shift, name) for name in columns] for shift in found.shifts]}
