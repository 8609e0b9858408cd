"""Every number, curve and model to MLflow: one parent run, one child for each candidate."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from evenhand.data.frames import ORDER, read_rows
from evenhand.errors import EvenhandError
from evenhand.evaluation.class_report import class_report
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.models.serialization import HOLDOUT_SCORES, MODEL_FILE, models_named, read_model
from evenhand.monitoring.reference_profile import PROFILE_FILE, profile_of
from evenhand.records.decision import Explained, Stage, metrics_of_decided
from evenhand.records.pipeline import (
    ENSEMBLE,
    Check,
    Ensemble,
    Figures,
    Judgement,
    Ledger,
    Model,
    Report,
    Scores,
    Snapshot,
    Table,
)
from evenhand.records.tuning import Tuned, Tuning
from evenhand.reporting.figures.run_figures import leaderboard, overlay, pictures_of, roc_by_percent
from evenhand.reporting.html.build import page_content
from evenhand.reporting.html.report import page
from evenhand.runtime.fault_injection import around
from evenhand.runtime.logs import logger
from evenhand.runtime.redaction import masked
from evenhand.runtime.steps import keeping_stages, step
from evenhand.storage.artifact_store import Store, file_digest, home, versions
from evenhand.storage.locks import one_run_of
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import decisions_of

EXAMPLE_ROWS = 5
PICTURED = 3


@dataclass(frozen=True)
class OpenRun:
    """The MLflow run that a study is being recorded in, and when its work began."""

    place: mlflow_client.Place
    run_id: str
    started: float
    stages: list[Stage] = field(default_factory=list)


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


@contextmanager
def opened(study: Study) -> Iterator[OpenRun]:
    """A parent run that ends as FINISHED, as KILLED when interrupted, and as FAILED otherwise; one at a time."""
    started = time.perf_counter()
    Store().sweep()
    place = mlflow_client.open_experiment(study.name)
    tags = {"evenhand.kind": "run", "evenhand.study": study.name, **_commit()}
    with one_run_of(study.name), mlflow_client.running(place, study.name, tags) as run_id, keeping_stages() as stages:
        yield OpenRun(place, run_id, started, stages)


@step("record")
def record(run: OpenRun, results: Results) -> Report:
    """The report of a run, after all of it is in MLflow."""
    judgement = results.judgement
    predictions = Predictions(judgement.predictions, results.table)
    scored = [predictions.of(each.plan.name, each.scale) for each in judgement.figures]
    run_ids = {
        each.plan.name: _record_candidate(run, results, each, words, rank)
        for rank, (each, words) in enumerate(zip(judgement.figures, scored, strict=True), 1)
    }
    n_reused = sum(each.reused for each in results.scores)
    report = Report(
        study=results.study.name,
        split_id=results.ledger.split_id,
        n_training=results.ledger.n_training,
        n_holdout=results.ledger.n_holdout,
        seconds=time.perf_counter() - run.started,
        n_executed=len(results.scores) - n_reused,
        n_reused=n_reused,
        judgement=judgement,
        run_ids=run_ids,
        checks=results.checks,
        tuned=results.tuned,
        explained=results.explained,
        stages=tuple(run.stages),
        experiment_id=run.place.experiment_id,
        run_id=run.run_id,
    )
    report = replace(report, page=_write_page(run, report, results))
    _record_parent(run, report, results, scored)
    logger().info("%d candidates recorded in MLflow run %s", len(run_ids), run.run_id)
    return report


def _record_candidate(run: OpenRun, results: Results, figures: Figures, scored: CandidatePredictions, rank: int) -> str:
    plan = figures.plan
    tags = {
        "evenhand.kind": "candidate",
        "evenhand.candidate": plan.candidate,
        "evenhand.rank": str(rank),
        "evenhand.level": str(plan.name in results.judgement.group[1:]).lower(),
        **({"evenhand.verdict": verdict} if (verdict := results.judgement.verdict(plan.name)) else {}),
        "evenhand.solver": figures.solver,
        "evenhand.split_id": results.ledger.split_id,
        **({"evenhand.sees_unlabelled": "true"} if plan.sees_unlabelled else {}),
        **({"evenhand.warnings": "; ".join(figures.warnings)} if figures.warnings else {}),
        **({"evenhand.tuned": _tuned_words(plan.tuning)} if plan.tuning else {}),
    }
    with mlflow_client.running(run.place, plan.name, tags, parent=run.run_id) as run_id:
        shown: dict[str, Any] = {"model": plan.model, "encoding": plan.encoding, "balance": plan.balance}
        shown |= {"params": {**plan.params, **plan.settled}} if plan.params or plan.settled else {}
        mlflow_client.log_params(run.place, run_id, shown)
        mlflow_client.log_figures(run.place, run_id, figures, roc_by_percent(scored, results.table))
        mlflow_client.log_metrics(run.place, run_id, _gap_metrics(results.judgement, plan.name))
        if results.table.classes:
            mlflow_client.log_text(
                run.place, run_id, json.dumps(class_report(scored, results.table.classes)), "classes.json"
            )
        if plan.name == ENSEMBLE and results.judgement.ensemble is not None:
            mlflow_client.log_text(run.place, run_id, _members(results.judgement.ensemble), "ensemble.json")
        if rank <= PICTURED:
            for name, picture in pictures_of(scored, results.table):
                mlflow_client.log_picture(run.place, run_id, picture, name)
        _record_coefficients(run, run_id, results, figures)
        if searches := [each for each in results.tuned if each.plan == plan.name]:
            mlflow_client.log_text(run.place, run_id, json.dumps(_trial_table(searches)), "tuning.json")
    return run_id


def _gap_metrics(judgement: Judgement, name: str) -> dict[str, float]:
    """How far a candidate is behind the best, as its verdict has it."""
    found = next((each for each in judgement.versus if each.name == name), None)
    return {} if found is None else {f"gap_{key}": value for key, value in found.gap().items()}


def _expected_metrics(judgement: Judgement) -> dict[str, float]:
    """What the best is expected to score on new rows."""
    if (one := judgement.expected) is None:
        return {}
    name = f"expected_{one.metric}"
    return {name: one.estimate, f"{name}_low": one.low, f"{name}_high": one.high}


def _members(ensemble: Ensemble) -> str:
    """What an ensemble is made of, the weightiest first."""
    in_order = sorted(ensemble.weights.items(), key=lambda item: -item[1])
    members = [{"candidate": name, "weight": weight} for name, weight in in_order]
    return json.dumps({"metric": ensemble.metric, "average": ensemble.average, "members": members}, indent=2)


def _record_coefficients(run: OpenRun, run_id: str, results: Results, figures: Figures) -> None:
    last = next((each for each in reversed(results.scores) if each.plan == figures.plan.name), None)
    if last is not None and (file := last.path.parent / "coefficients.json").exists():
        mlflow_client.log_file(run.place, run_id, file)


def _record_parent(run: OpenRun, report: Report, results: Results, scored: list[CandidatePredictions]) -> None:
    place, run_id, judgement = run.place, run.run_id, results.judgement
    study, best = results.study, judgement.winner
    settings = study.model_dump(by_alias=True, exclude={"description"}, exclude_defaults=True)
    mlflow_client.log_params(place, run_id, masked(settings))
    mlflow_client.log_figures(place, run_id, best)
    mlflow_client.log_metrics(
        place,
        run_id,
        {
            "seconds": report.seconds,
            "fits_executed": report.n_executed,
            "fits_reused": report.n_reused,
            **metrics_of_decided(judgement.decided, judgement.calibrated),
            **_expected_metrics(judgement),
        },
    )
    mlflow_client.log_tags(
        place,
        run_id,
        {
            "evenhand.split_id": report.split_id,
            "evenhand.data": results.snapshot.digest,
            "evenhand.metric": judgement.metric,
            "evenhand.best": best.plan.name,
            "evenhand.leaks": ", ".join(each.name for each in results.checks if each.verdict == "failed")
            or "none found",
            **_decided_tags(judgement),
            **{f"evenhand.version.{name}": number for name, number in versions().items()},
        },
    )
    mlflow_client.log_data(place, run_id, results.snapshot, study.name)
    _record_files(run, report, results, scored)
    _record_model(run, results)


def _record_files(run: OpenRun, report: Report, results: Results, scored: list[CandidatePredictions]) -> None:
    place, run_id, judgement, study = run.place, run.run_id, results.judgement, results.study
    settings = masked(study.model_dump(mode="json", by_alias=True))
    mlflow_client.log_text(place, run_id, yaml.safe_dump(settings, sort_keys=False), "study.yaml")
    mlflow_client.log_text(place, run_id, json.dumps(report.as_json(), indent=2, default=str), "report.json")
    mlflow_client.log_text(place, run_id, json.dumps(_fold_table(judgement)), "folds.json")
    mlflow_client.log_file(place, run_id, results.ledger.path)
    mlflow_client.log_file(place, run_id, results.table.path / ORDER)
    mlflow_client.log_text(place, run_id, profile_of(results.table, results.ledger).as_json(), PROFILE_FILE)
    mlflow_client.log_file(place, run_id, judgement.predictions)
    if report.page is not None:
        mlflow_client.log_file(place, run_id, report.page)
    mlflow_client.log_picture(place, run_id, leaderboard(judgement), "leaderboard.png")
    if (picture := overlay(scored, results.table.task)) is not None:
        mlflow_client.log_picture(place, run_id, picture, "overlay.png")


def _decided_tags(judgement: Judgement) -> dict[str, str]:
    """What was decided, in words."""
    helped = ", ".join(trial.name for trial in judgement.trials if trial.helped)
    return {
        **({"evenhand.decided": judgement.decided.words} if judgement.decided else {}),
        **({"evenhand.calibration": judgement.calibrated.kind} if judgement.calibrated else {}),
        **({"evenhand.resampling_helped": helped or "none"} if judgement.trials else {}),
    }


def _tuned_words(tuning: Tuning) -> str:
    """How parameters were chosen; what a clock bounds may be chosen otherwise on another day."""
    over = ", ".join(tuning.over)
    if tuning.trials is not None:
        return f"{over} by {tuning.trials} trials for each fold"
    return f"{over} within {tuning.seconds:g} s in all; bound by time, so another machine may choose otherwise"


def _trial_table(searches: list[Tuned]) -> dict[str, object]:
    """Every trial of every fold as one table, which MLflow's pages show as such."""
    names = list(dict.fromkeys(name for each in searches for trial in each.trials for name in trial.params))
    rows = [
        [each.fold, trial is each.chosen, trial.bracket, trial.round, trial.share]
        + [trial.params.get(name) for name in names]
        + [trial.score if trial.score == trial.score else None, trial.seconds, trial.refused]
        for each in searches
        for trial in each.trials
    ]
    heads = ["fold", "chosen", "bracket", "round", "share", *names, searches[0].metric, "seconds", "refused"]
    return {"columns": heads, "data": rows}


def _fold_table(judgement: Judgement) -> dict[str, object]:
    """Every metric of every fold as one table, which MLflow's pages show as such."""
    rows = [
        [each.plan.name, name, number, value]
        for each in judgement.figures
        for name, values in each.folds.items()
        for number, value in enumerate(values)
    ]
    return {"columns": ["candidate", "metric", "fold", "value"], "data": rows}


def _record_model(run: OpenRun, results: Results) -> None:
    file = results.model.path
    model, types = read_model(file, models_named(results.study))
    features = [feature.name for feature in results.table.features]
    example = read_rows(results.table, features).head(EXAMPLE_ROWS)
    requirements = [f"evenhand=={version('evenhand')}", *(f"{name}=={number}" for name, number in versions().items())]
    folder = mlflow_client.log_model(run.place, run.run_id, model, example, types=types, requirements=requirements)
    kept = {"evenhand.model_digest": file_digest(folder / MODEL_FILE), "evenhand.table": results.table.digest}
    mlflow_client.log_tags(run.place, run.run_id, kept)
    if (scored := file.with_name(HOLDOUT_SCORES)).exists():
        mlflow_client.log_file(run.place, run.run_id, scored)


def _write_page(run: OpenRun, report: Report, results: Results) -> Path:
    when = datetime.now(UTC).astimezone().strftime("%Y-%m-%d %H:%M %Z")
    champion = _champion(run.place, results.study.name)
    content = page_content(report, results.study, results.snapshot, results.table, results.ledger, when, champion)
    file = home() / "reports" / results.study.name / f"{run.run_id}" / "report.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".unfinished")
    with around("page.write"):
        unfinished.write_text(page(content), encoding="utf-8")
    with around("page.rename"):
        return unfinished.rename(file)


def _champion(place: mlflow_client.Place, study: str) -> str:
    """The candidate of the model that serves at present; empty where there is none, or where it is unknown."""
    try:
        champion = decisions_of(study).champion
        return (
            ""
            if champion is None
            else str(mlflow_client.run_of(place, champion.run_id).data.tags.get("evenhand.best", ""))
        )
    except EvenhandError as error:
        logger().warning("the champion of '%s' is not marked on the page: %s", study, error)
        return ""


def _commit() -> dict[str, str]:
    """The commit of the folder that the study is run in, where it is a git checkout."""
    try:
        found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"mlflow.source.git.commit": found.stdout.strip()}
