"""New rows through a recorded model: checked before, scored in batches, written whole or not at all."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.sources import find_files, opened
from evenhand.errors import DataError, PlaceError, listed
from evenhand.evaluation.explanation.scored_reasons import reason_columns
from evenhand.models.batch_scorer import BatchScorer
from evenhand.models.raw_row_model import RawRowModel
from evenhand.models.serialization import load_model
from evenhand.monitoring.input_check import Incoming
from evenhand.monitoring.output_files import Unfinished, check_output, finished_together, own_files, write_manifest
from evenhand.monitoring.reference_profile import PROFILE_FILE, shapes_in
from evenhand.records.pipeline import Feature
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.storage.digests import file_digest
from evenhand.storage.model_files import BACKGROUND, Distrusted, folder_digest
from evenhand.study.study import Cleaning, Source, Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import Contender, decisions_of
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import check_if_logged, recorded_model, study_of_model
from evenhand.tracking.run_names import latest_run

BATCH_ROWS = 65_536
Ask = Callable[[pd.DataFrame], dict[str, Any]]


@dataclass(frozen=True)
class ChosenModel:
    """The model to score with: its study and run, version and files, and what our own ledger has of it."""

    study: Study
    run_id: str
    version: int
    folder: Path
    digest: str
    models: tuple[str, ...] = ()
    background: Path | None = None
    profile: Path | None = None


@dataclass(frozen=True)
class Scored:
    """What came of scoring: files and counts; rows in are rows scored and rows put aside."""

    run_id: str
    version: int
    output: Path
    manifest: Path
    quarantine: Path | None
    n_rows: int
    n_scored: int
    n_quarantined: int
    strange: dict[str, dict[str, Any]]


@step("choose model")
def choose_model(name: str, run_id: str | None = None) -> ChosenModel:
    """The model of the run named, else the champion's, else that of the latest finished run."""
    place, champion = mlflow_client.open_store(), decisions_of(name).champion
    if run_id is None:
        run_id = champion.run_id if champion else latest_run(name)[1].info.run_id
    run = run_reader.run_of(place, run_id)
    if run.data.tags.get("evenhand.study") != name:
        raise PlaceError(f"run '{run_id}' is no run of study '{name}': leave out --run, or name one of its runs")
    folder = run_reader.model_folder(place, run_id)
    version = _version(champion, run_id, folder)
    found = recorded_model(name, run_id, folder)
    kept = [check_if_logged(found, place, each) for each in (BACKGROUND, PROFILE_FILE)]
    return ChosenModel(study_of_model(found, place), run_id, version, folder, found.digest, found.models, *kept)


def _version(champion: Contender | None, run_id: str, folder: Path) -> int:
    """The version of the champion, whose files must be as they were when it was promoted; 0 for any other model."""
    if champion is None or champion.run_id != run_id:
        return 0
    if champion.digest and folder_digest(folder) != champion.digest:
        raise Distrusted(
            f"the champion's files in '{folder}' are not those that were promoted. Nothing was loaded: bring them "
            "back from a backup, or go back to another version with `evenhand champion rollback`."
        )
    return champion.version


@step("score rows")
def score_rows(
    chosen: ChosenModel, source: str, output: Path, batch_rows: int = BATCH_ROWS, n_reasons: int = 0
) -> Scored:
    """The rows of a file with scores, probabilities and decisions, and reasons if asked, in a file of their own."""
    quarantine, manifest = output.with_name(f"{output.name}.quarantine.parquet"), _manifest_of(output)
    read = [*find_files((source,), chosen.study._file), *own_files(chosen.study)]
    check_output(output, read, (output, quarantine, manifest))
    model = load_model(chosen.folder, chosen.digest, list(chosen.models))
    study = chosen.study.model_copy(update={"source": Source(path=(source,))})
    with opened(study) as found:
        incoming = _incoming(found.read(), model, study, chosen.profile)
        with finished_together(output, quarantine) as (scored, aside):
            n_rows = _score(incoming, _scorer(model, chosen, n_reasons), scored, aside, chosen, batch_rows)
            _check_any(scored, incoming, n_rows)
        unreadable = _unreadable(incoming)
        kept = quarantine if aside.n_rows else None
        result = Scored(
            chosen.run_id, chosen.version, output, manifest, kept, n_rows, scored.n_rows, aside.n_rows, unreadable
        )
        write_manifest(manifest, _content(result, chosen, found.inputs["files"], incoming, model))
    logger().info("%d rows scored by run %s, %d put aside", result.n_scored, chosen.run_id, result.n_quarantined)
    return result


def _scorer(model: RawRowModel, chosen: ChosenModel, n_reasons: int) -> Ask:
    """What gives the columns for a batch of rows."""
    scorer = BatchScorer(model)
    if not n_reasons:
        return scorer.columns
    if chosen.background is None:
        raise PlaceError(
            f"run '{chosen.run_id}' kept no rows that reasons are set against. Run the study again, or leave out "
            "--reasons."
        )
    background, seed = pd.read_parquet(chosen.background), chosen.study.seed
    return lambda frame: {**scorer.columns(frame), **reason_columns(model, frame, background, n_reasons, seed)}


def _manifest_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.manifest.json")


def _incoming(rows: Any, model: RawRowModel, study: Study, kept: Path | None) -> Incoming:
    features = [Feature(name, kind) for name, kind in model.features]  # type: ignore[arg-type]
    return Incoming(rows, features, Cleaning.model_validate(model.cleaning or {}), study.columns.key, shapes_in(kept))


def _score(
    incoming: Incoming, columns_of: Ask, scored: Unfinished, aside: Unfinished, chosen: ChosenModel, batch_rows: int
) -> int:
    """Write the scores of all rows that can be scored and the others aside; how many rows there were."""
    n_rows = 0
    for batch in incoming.batches(batch_rows):
        places = pa.array(np.arange(n_rows, n_rows + batch.n_rows))
        known = pa.table({"row": places, **batch.beside})
        is_right = batch.is_right
        if pc.any(is_right).as_py():
            frame = pa.table(batch.columns).filter(is_right).to_pandas()
            scored.add(_output(known.filter(is_right), columns_of(frame), chosen))
        if batch.wrong:
            aside.add(known.append_column("wrong", batch.why_not).filter(pc.invert(is_right)))
        n_rows += batch.n_rows
    return n_rows


def _output(known: pa.Table, columns: dict[str, Any], chosen: ChosenModel) -> pa.Table:
    for name, values in columns.items():
        known = known.append_column(name, pa.array(values))
    version = pa.repeat(pa.scalar(chosen.version or None, pa.int32()), known.num_rows)
    return known.append_column("run", pa.repeat(chosen.run_id, known.num_rows)).append_column("version", version)


def _check_any(scored: Unfinished, incoming: Incoming, n_rows: int) -> None:
    if not scored.n_rows:
        unreadable = [f"'{name}' (such as {listed(each['examples'])})" for name, each in _unreadable(incoming).items()]
        raise DataError(
            f"none of the {n_rows:,} rows can be scored: the model needs numbers in {', '.join(unreadable)}. "
            "Nothing was written."
        )


def _unreadable(incoming: Incoming) -> dict[str, dict[str, Any]]:
    """What was of the wrong type, column by column."""
    return {
        name: {"rows": each.n_rows, "examples": each.examples} for name, each in incoming.strange.items() if each.n_rows
    }


def _content(
    result: Scored, chosen: ChosenModel, digests: list[str], incoming: Incoming, model: RawRowModel
) -> dict[str, Any]:
    """The manifest: nothing in it depends on when or how fast the rows were scored."""
    files = {"output": result.output, **({"quarantine": result.quarantine} if result.quarantine else {})}
    return {
        "study": chosen.study.name,
        "run": chosen.run_id,
        "version": chosen.version or None,
        "model_digest": chosen.digest,
        "is_calibrated": bool(model.calibration),
        "input_digests": digests,
        "rows": {"in": result.n_rows, "scored": result.n_scored, "quarantined": result.n_quarantined},
        "wrong": result.strange,
        "columns_left_out": incoming.extra,
        "files": {name: {"name": file.name, "digest": file_digest(file)} for name, file in files.items()},
    }
