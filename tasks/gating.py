"""The gate of a run: its model against the champion, on rows that neither was trained on."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.data.frames import kept_columns_of, read_target
from evenhand.errors import DataError, EvenhandError
from evenhand.evaluation.metrics import usual_metric
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.evaluation.predictions import predictions_on
from evenhand.models.raw_row_model import RawRowModel
from evenhand.models.serialization import load_model
from evenhand.monitoring.notifications import notify, promotion
from evenhand.records.pipeline import Ledger, Table
from evenhand.records.report import Report
from evenhand.reporting.html.content import GateVerdict
from evenhand.reporting.html.report import with_verdict
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.runtime.whole_files import write_text
from evenhand.storage.artifact_store import local
from evenhand.storage.model_files import Distrusted, folder_digest
from evenhand.study.registry import PROBABILITY_METRICS
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion import Proposed, promote, proposed_by, register, stand, withdrawn
from evenhand.tracking.champion_ledger import Contender, Decision, Decisions, decide, decisions_of
from evenhand.tracking.promotion_gate import Gated, card, weigh
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import load_recorded
from evenhand.tracking.unseen_rows import Unsure, unseen


def gate(run: Any, report: Report, table: Table, ledger: Ledger, study: Study) -> Report:
    """The report with what the gate says; without a gate in the study, the report."""
    if study.gate is None:
        return report
    found = challenge(run.place, run.run_id, table, ledger, study)
    if report.page is not None:
        _write_verdict_on_page(run.place, run.run_id, report.page, found)
    return replace(report, notes=(*report.notes, f"{found.verdict}: {found.words}"))


@step("gate")
def challenge(place: mlflow_client.Place, run_id: str, table: Table, ledger: Ledger, study: Study) -> Gated:
    """The verdict on a run's model, acted upon and kept with the run and in the ledger of decisions."""
    seen, proposed = _repaired(study.name), proposed_by(place, run_id, study.name)
    found = _verdict(proposed, seen, table, ledger, study)
    try:
        if found.verdict == "promote":
            candidate = register(proposed, table.digest, local(table.stored) / "rows.parquet")
            line = promote(replace(proposed, figures=asdict(found)), candidate, found.words, seen)
            notify(study, promotion(candidate.version, found.words, line.hash, run=run_id))
    except EvenhandError as error:
        found = replace(found, verdict="error", words=f"{found.words}; but it was not promoted: {error}")
    if found.verdict != "promote":
        head, champion = decisions_of(study.name), seen.champion
        data = proposed.tags.get("evenhand.data", "")
        line = Decision(study.name, found.verdict, found.words, Contender(run_id), champion, data, asdict(found))
        decide(line, head.head)
    mlflow_client.log_text(place, run_id, json.dumps(asdict(found), indent=2), "verdict.json")
    mlflow_client.log_text(place, run_id, card(found, study.name), "verdict.md")
    mlflow_client.log_tags(place, run_id, {"evenhand.verdict": found.verdict})
    logger().info("the gate says %s: %s", found.verdict, found.words)
    return found


def _write_verdict_on_page(place: mlflow_client.Place, run_id: str, page: Path, found: Gated) -> None:
    """Write the verdict into the page of the run, here and where the run keeps it."""
    is_name = "_" in found.words.split(" ", 1)[0]  # of a metric, which is written as it is
    words = found.words if is_name else found.words[:1].upper() + found.words[1:]
    verdict = GateVerdict(found.verdict == "promote", words)
    mlflow_client.log_file(place, run_id, write_text(page, with_verdict(page.read_text(encoding="utf-8"), verdict)))


def _repaired(name: str) -> Decisions:
    """The ledger, after what a crash left undone was finished; an alias that cannot be moved ends no run."""
    try:
        standing = stand(name)
    except mlflow_client.MlflowException as error:
        logger().warning("MLflow's alias of '%s' could not be set right: %s", name, " ".join(str(error).split())[:200])
        return decisions_of(name)
    for words in standing.fixed:
        logger().warning("fixed: %s", words)
    return standing.decisions


def _verdict(proposed: Proposed, seen: Decisions, table: Table, ledger: Ledger, study: Study) -> Gated:
    if seen.champion is None:
        return Gated("promote", "there is no champion yet: the first model is promoted")
    if why := withdrawn(proposed, seen):
        return Gated("keep", why)
    try:
        model = _champion(proposed, seen.champion)
        rows = unseen(proposed.place, seen.champion.run_id, model, table, ledger)
        mine = load_model(proposed.folder, proposed.recorded.digest, list(proposed.recorded.models))
        return _weighed(mine, model, rows, seen, table, study)
    except Unsure as error:
        return Gated("keep", f"it cannot be guaranteed that the champion saw none of the rows: {error}")
    except DataError as error:
        return Gated("incomparable", f"the champion cannot be asked about these rows: {error}")
    except EvenhandError as error:
        return Gated("error", f"the champion cannot be asked: {error}")


def _champion(proposed: Proposed, champion: Contender) -> RawRowModel:
    """The champion's model, from files that are as they were when it was promoted."""
    folder = run_reader.model_folder(proposed.place, champion.run_id)
    if folder_digest(folder) != champion.digest:
        raise Distrusted("its files are not those that were promoted")
    return load_recorded(proposed.place, proposed.study.name, champion.run_id)


def _weighed(
    mine: RawRowModel, champion: RawRowModel, rows: np.ndarray, seen: Decisions, table: Table, study: Study
) -> Gated:
    assert study.gate is not None
    if list(champion.classes or []) != list(table.classes):
        return Gated("incomparable", "the champion knows other classes")
    frame, truth = kept_columns_of(table).iloc[rows], read_target(table)[rows]
    metric = study.gate.metric or study.metric or usual_metric(len(table.classes), table.is_multilabel)
    verdict = [predictions_on(model, frame, truth, metric in PROBABILITY_METRICS) for model in (mine, champion)]
    minority = minority_of(verdict[0], len(table.classes))
    return weigh(verdict[0], verdict[1], (len(table.classes), minority), metric, study.gate, study.guards, seen.looks)
