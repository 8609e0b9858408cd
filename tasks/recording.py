"""Every number, curve and model to MLflow: one parent run, one child for each candidate."""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from evenhand.data.frames import ORDER, features_of, read_order
from evenhand.data.splits import fold_rows, positives_of
from evenhand.errors import PlaceError
from evenhand.evaluation.class_report import class_report
from evenhand.evaluation.explanation.insight import background_of
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.models.serialization import models_named, read_model
from evenhand.monitoring.reference_profile import PROFILE_FILE, profile_of
from evenhand.records.checks import Check
from evenhand.records.decision import Explained, Stage, as_plain, metrics_of_decided
from evenhand.records.failures import Failed
from evenhand.records.pipeline import (
    FINAL,
    Figures,
    Judgement,
    Ledger,
    Model,
    Scores,
    Snapshot,
    Table,
)
from evenhand.records.reference import Reference
from evenhand.records.regression import COEFFICIENTS, RegressionTable
from evenhand.records.report import Report
from evenhand.records.tuning import Tuned
from evenhand.reporting.html.building.page_content import page_content
from evenhand.reporting.html.content import MLFLOW, PREFECT
from evenhand.reporting.html.overview_pictures import leaderboard, overlay
from evenhand.reporting.html.pictures import pictures_of
from evenhand.reporting.html.report import page
from evenhand.reporting.html.run_pictures import NO_PICTURES, RunPictures, run_pictures
from evenhand.reporting.looking_back import Back, champion_of, look_back
from evenhand.reporting.prediction_table import predictions_of
from evenhand.reporting.run_note import candidate_note, run_name, run_note
from evenhand.reporting.run_record import (
    BOARD,
    FIGURES,
    FOLDS,
    board_table,
    candidate_tags,
    commit_tag,
    expected_metrics,
    figures_table,
    fold_table,
    gap_metrics,
    members_text,
    outlier_notes,
    positive_counts,
    regressions_of,
    roc_by_percent,
    run_tags,
    trial_table,
)
from evenhand.runtime.logs import logger
from evenhand.runtime.redaction import masked
from evenhand.runtime.steps import keeping_stages, step
from evenhand.runtime.wall_clock import began
from evenhand.runtime.whole_files import names_at_once, write_text
from evenhand.service.prefect_server.at_hand import page_of_run
from evenhand.service.supervisor import pages_kept_up
from evenhand.storage.artifact_store import Store, home, local, versions
from evenhand.storage.digests import file_digest, text_digest
from evenhand.storage.locks import one_run_of
from evenhand.storage.model_files import BACKGROUND, HOLDOUT_SCORES, MODEL_FILE, folder_digest
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import RecordedModel, database_digests, note_model
from evenhand.tracking.references import entries_tag
from evenhand.tracking.ui.links import mlflow_links
from evenhand.tracking.ui.shared_views import share_views

EXAMPLE_ROWS = 5


@dataclass(frozen=True)
class OpenRun:
    """The MLflow run that a study is being recorded in, and when its work began."""

    place: mlflow_client.Place
    run_id: str
    started: float
    begun: datetime
    stages: list[Stage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Results:
    """All that a run found out, on its way to the record."""

    study: Study
    snapshot: Snapshot
    table: Table
    ledger: Ledger
    judgement: Judgement
    model: Model
    scores: tuple[Scores, ...]
    checks: tuple[Check, ...] = ()
    tuned: tuple[Tuned, ...] = ()
    explained: Explained | None = None
    pictures: RunPictures = NO_PICTURES
    back: Back = field(default_factory=Back)

    @cached_property
    def source_rows(self) -> np.ndarray:
        """For each row of the table its place among the rows of the source."""
        return read_order(self.table)

    @cached_property
    def regressions(self) -> dict[str, RegressionTable]:
        """The tables of the linear regressions among the candidates, best first."""
        found = regressions_of(self.scores)
        return {each.plan.name: found[each.plan.name] for each in self.judgement.figures if each.plan.name in found}


@contextmanager
def opened(study: Study) -> Iterator[OpenRun]:
    """A parent run that ends as FINISHED, as KILLED when interrupted, and as FAILED otherwise; one at a time."""
    started, begun = began(), datetime.now(UTC).astimezone()
    Store().begin()
    place = mlflow_client.open_experiment(study.name)
    tags = {"evenhand.kind": "run", "evenhand.study": study.name, **commit_tag()}
    with one_run_of(study.name), mlflow_client.running(place, study.name, tags) as run_id, keeping_stages() as stages:
        yield OpenRun(place, run_id, started, begun, stages)


@step("record")
def record(run: OpenRun, results: Results) -> Report:
    """The report of a run, after all of it is in MLflow; if it cannot be, report and page are kept beside the store."""
    outliers = outlier_notes(results.judgement, results.table.classes, results.study.cleaning.outliers)
    run.notes.extend((*results.ledger.notes, *outliers))
    with _optional(run, "the pictures of the rows"):
        results = replace(results, pictures=run_pictures(
            results.table, results.ledger, results.model, results.study, results.judgement, results.scores
        ))  # fmt: skip
    with _optional(run, "the differences from earlier runs"):
        back = look_back(results.study, results.snapshot, results.table, results.ledger, results.judgement)
        results = replace(results, back=back)
    report = _report(run, results)
    report = replace(report, page=_page_or_note(run, report, results))
    try:
        scored = _record_candidates(run, results)
        report = replace(report, run_ids={name: run_id for name, (run_id, _) in scored.items()}, notes=_notes(run))
        _record_parent(run, report, results, [words for _, words in scored.values()])
    except Exception as error:
        raise _unrecorded(run, report, error) from error
    logger().info("%d candidates recorded in MLflow run %s", len(report.run_ids), run.run_id)
    return replace(report, notes=_notes(run))


def _report(run: OpenRun, results: Results) -> Report:
    n_reused = sum(each.reused for each in results.scores)
    return Report(
        study=results.study.name,
        split_id=results.ledger.split_id,
        n_training=results.ledger.n_training,
        n_holdout=results.ledger.n_holdout,
        seconds=time.perf_counter() - run.started,
        n_executed=len(results.scores) - n_reused,
        n_reused=n_reused,
        judgement=results.judgement,
        checks=results.checks,
        tuned=results.tuned,
        explained=results.explained,
        regressions=tuple(results.regressions.values()),
        taken=results.table.taken,
        notes=_notes(run),
        stages=tuple(run.stages),
        experiment_id=run.place.experiment_id,
        run_id=run.run_id,
        since=results.back.since,
        shapes=results.back.shapes,
        **positives_of(results.table, results.ledger),
    )


def _notes(run: OpenRun) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run.notes))


def _page_or_note(run: OpenRun, report: Report, results: Results) -> Path | None:
    """The page of the run; what hinders it costs the page alone."""
    with _optional(run, "the page"):
        return _write_page(run, report, results)
    return None


@contextmanager
def _optional(run: OpenRun, what: str) -> Iterator[None]:
    """Note what could not be made for people to look at, and go on: the record is worth more."""
    try:
        yield
    except Exception as error:  # of whatever library draws
        words = " ".join(str(error).split())[:300]
        run.notes.append(f"{what} could not be made: {type(error).__name__}: {words}")
        logger().warning("%s", run.notes[-1])


def _unrecorded(run: OpenRun, report: Report, error: Exception) -> PlaceError:
    """What is lost and what is not where MLflow does not take the record; the report is kept as a file."""
    words = " ".join(str(error).split())[:300]
    lost = f"run {run.run_id} of '{report.study}' was judged, but MLflow did not take its record: {words}"
    kept = _folder_of(run, report.study) / "report.json"
    with _optional(run, f"the report '{kept}'"):
        write_text(kept, json.dumps(report.as_json(), indent=2, default=str))
        lost += f". Its figures are in '{kept}'"
    return PlaceError(f"{lost}. Every fit is in the store: run the study again when MLflow can be used.")


def _record_candidates(run: OpenRun, results: Results) -> dict[str, tuple[str, CandidatePredictions]]:
    """The child of each candidate in MLflow, of those that failed too, and the predictions of the others."""
    judgement = results.judgement
    predictions = Predictions(local(judgement.predictions), results.table)
    found = {}
    for rank, each in enumerate(judgement.figures, 1):
        words = predictions.of(each.plan.name, each.scale)
        found[each.plan.name] = (_record_candidate(run, results, each, words, rank), words)
    for failed in judgement.failed:
        _record_failed(run, failed)
    return found


def _record_failed(run: OpenRun, failed: Failed) -> None:
    """A child that ends as FAILED, with its reason."""
    tags = {"evenhand.kind": "candidate", "evenhand.failed": failed.why[:5000]}
    tags |= {"evenhand.stopped": "yes"} if failed.is_stopped else {}
    run_id = mlflow_client.start_run(run.place, failed.name, tags, parent=run.run_id)
    shown = {"model": failed.model, "encoding": failed.encoding, "balance": failed.balance, "params": failed.params}
    mlflow_client.log_params(run.place, run_id, {name: value for name, value in shown.items() if value})
    mlflow_client.end_run(run.place, run_id, "KILLED" if failed.is_stopped else "FAILED")


def _record_candidate(run: OpenRun, results: Results, figures: Figures, scored: CandidatePredictions, rank: int) -> str:
    plan = figures.plan
    tags = {"evenhand.kind": "candidate", mlflow_client.NOTE: candidate_note(results.judgement, plan.name)}
    tags |= {"evenhand.split_id": results.ledger.split_id, **candidate_tags(results.judgement, figures, rank)}
    with mlflow_client.running(run.place, plan.name, tags, parent=run.run_id) as run_id, names_at_once():
        shown: dict[str, Any] = {"model": plan.model, "encoding": plan.encoding, "balance": plan.balance}
        shown |= {"params": {**plan.params, **plan.settled}} if plan.params or plan.settled else {}
        shown |= {"solver": figures.solver}
        numbers = mlflow_client.numbers_of(figures, results.judgement.metric, roc_by_percent(scored, results.table))
        numbers += [(name, value, 0) for name, value in gap_metrics(results.judgement, plan.name).items()]
        mlflow_client.log_candidate(run.place, run_id, shown, numbers)
        predicted = predictions_of(scored, results.table.classes, results.source_rows)
        mlflow_client.log_table(run.place, run_id, predicted, "predictions.parquet")
        mlflow_client.log_text(run.place, run_id, json.dumps(figures_table(figures, results.judgement.metric)), FIGURES)
        if results.table.classes:
            mlflow_client.log_text(
                run.place, run_id, json.dumps(class_report(scored, results.table.classes)), "classes.json"
            )
        if (ensemble := results.judgement.ensembles.get(plan.name)) is not None:
            mlflow_client.log_text(run.place, run_id, members_text(ensemble), "ensemble.json")
        with _optional(run, f"a picture of {plan.name}"):
            for name, picture in (*pictures_of(scored, results.table), *results.pictures.of(plan.name)):
                mlflow_client.log_text(run.place, run_id, picture, name)
        if (table := results.regressions.get(plan.name)) is not None:
            mlflow_client.log_text(run.place, run_id, json.dumps(as_plain(table.as_columns())), COEFFICIENTS)
            mlflow_client.log_text(run.place, run_id, json.dumps(as_plain(table.measures)), "fit.json")
        if searches := [each for each in results.tuned if each.plan == plan.name]:
            mlflow_client.log_text(run.place, run_id, json.dumps(trial_table(searches)), "tuning.json")
    return run_id


def _record_parent(run: OpenRun, report: Report, results: Results, scored: list[CandidatePredictions]) -> None:
    place, run_id, judgement = run.place, run.run_id, results.judgement
    study, best = results.study, judgement.winner
    settings = study.model_dump(by_alias=True, exclude={"description"}, exclude_defaults=True)
    mlflow_client.log_params(place, run_id, masked(settings))
    mlflow_client.log_figures(place, run_id, mlflow_client.numbers_of(best, judgement.metric))
    mlflow_client.log_metrics(
        place,
        run_id,
        {
            "seconds": report.seconds,
            "fits_executed": report.n_executed,
            "fits_reused": report.n_reused,
            **positive_counts(report),
            **metrics_of_decided(judgement.decided, judgement.calibrated),
            **expected_metrics(judgement),
        },
    )
    mlflow_client.log_tags(
        place,
        run_id,
        {
            "evenhand.split_id": report.split_id,
            "evenhand.data": results.snapshot.digest,
            "evenhand.metric": judgement.metric,
            **entries_tag(_kept_by(results)),
            "evenhand.best": best.plan.name,
            **run_tags(judgement, results.checks),
        },
    )
    mlflow_client.log_data(place, [run_id, *report.run_ids.values()], results.snapshot, study.name)
    mlflow_client.name_run(place, run_id, run_name(judgement, f"{run.begun:%Y-%m-%d %H:%M}"), run_note(report))
    share_views(place, study, judgement.metric, run_id)
    _record_model(run, results, _record_files(run, report, results, scored))


def _record_files(run: OpenRun, report: Report, results: Results, scored: list[CandidatePredictions]) -> dict[str, str]:
    """Log the files of a run; the digests of those that are read back."""
    place, run_id, judgement, study = run.place, run.run_id, results.judgement, results.study
    texts = {
        "study.yaml": yaml.safe_dump(masked(study.model_dump(mode="json", by_alias=True)), sort_keys=False),
        "report.json": json.dumps(report.as_json(), indent=2, default=str),
        BOARD: json.dumps(board_table(judgement)),
        FOLDS: json.dumps(fold_table(judgement)),
        "versions.json": json.dumps(versions(), indent=2),
        PROFILE_FILE: (results.back.profile or profile_of(results.table, results.ledger)).as_json(),
        **{f"{name}.svg": drawn for name, drawn in results.pictures.rows.items()},
    }
    files = (local(results.ledger.stored), local(results.table.stored) / ORDER, local(judgement.predictions))
    for name, text in texts.items():
        mlflow_client.log_text(place, run_id, text, name)
    for file in files:
        mlflow_client.log_file(place, run_id, file)
    if report.page is not None:
        mlflow_client.log_file(place, run_id, report.page)
    with _optional(run, "the picture of the leaderboard"):
        mlflow_client.log_text(place, run_id, leaderboard(judgement), "leaderboard.svg")
    with _optional(run, "the picture of all curves"):
        if (picture := overlay(scored, results.table.classes)) is not None:
            mlflow_client.log_text(place, run_id, picture, "overlay.svg")
    digests = {name: text_digest(text) for name, text in texts.items()} | {
        each.name: file_digest(each) for each in files
    }
    return {**digests, BACKGROUND: _record_background(run, results)}


def _record_background(run: OpenRun, results: Results) -> str:
    """Log the training rows that reasons of scores are set against; the digest of their file."""
    frame = features_of(results.table)
    trained = fold_rows(results.ledger, FINAL)[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / BACKGROUND
        background_of(frame, trained, results.study.seed).to_parquet(file, index=False)
        mlflow_client.log_file(run.place, run.run_id, file)
        return file_digest(file)


def _record_model(run: OpenRun, results: Results, logged: dict[str, str]) -> None:
    """Log the model, and put it into our own ledger before its run can end."""
    file, models = local(results.model.stored), models_named(results.study)
    model, types = read_model(file, models)
    example = features_of(results.table).iloc[np.arange(min(results.table.n_rows, EXAMPLE_ROWS))]
    requirements = [f"evenhand=={version('evenhand')}", *(f"{name}=={number}" for name, number in versions().items())]
    mlflow_client.log_model(run.place, run.run_id, model, example, types=types, requirements=requirements)
    folder = run_reader.model_folder(run.place, run.run_id)
    metric = results.judgement.metric
    mlflow_client.log_metrics_of_model(run.place, run.run_id, [f"{part}_{metric}" for part in ("cv", "holdout")])
    digest = file_digest(folder / MODEL_FILE)
    kept = {"evenhand.model_digest": digest, "evenhand.table": results.table.digest}
    mlflow_client.log_tags(run.place, run.run_id, kept)
    if (scored := file.with_name(HOLDOUT_SCORES)).exists():
        mlflow_client.log_file(run.place, run.run_id, scored)
        logged[HOLDOUT_SCORES] = file_digest(scored)
    logged |= database_digests(run.place, run.run_id)
    note_model(RecordedModel(results.study.name, run.run_id, digest, folder_digest(folder), tuple(models), logged))


def _write_page(run: OpenRun, report: Report, results: Results) -> Path:
    when = run.begun.strftime("%Y-%m-%d %H:%M %Z")
    champion = champion_of(run.place, results.study.name)
    found = mlflow_links(run.place.experiment_id, run.run_id, has_page=False, kept_up=pages_kept_up())
    links = tuple((words, at) for words, at in ((MLFLOW, found.get("mlflow")), (PREFECT, page_of_run())) if at)
    data = (results.study, results.snapshot, results.table, results.ledger)
    content = page_content(report, *data, when, champion, results.pictures.shown, links)
    file = _folder_of(run, results.study.name) / "report.html"
    return write_text(file, page(content), moment="page")


def _folder_of(run: OpenRun, study: str) -> Path:
    return home() / "reports" / study / run.run_id


def _kept_by(results: Results) -> list[Reference]:
    """The entries of the store that the record of a run refers to; all others can be made of them."""
    found = (results.snapshot, results.table, results.ledger, results.model)
    return [*(each.stored for each in found), results.judgement.predictions]
