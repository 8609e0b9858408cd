"""Models: the one that a run serves, any other of its candidates refitted, and rows scored with either."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import ConfError, EvenhandError
from evenhand.service.prefect_session import be_quiet
from evenhand.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.api.champions import Champion
    from evenhand.api.runs import Run
    from evenhand.models.raw_row_model import RawRowModel
    from evenhand.records.pipeline import Ensemble, Figures, Judgement, Plan
    from evenhand.tasks.scoring import Scored
    from evenhand.tracking.past_run import PastRun

__all__ = ["load_model", "model_of", "score"]


def load_model(name: str) -> "RawRowModel":
    """The champion's model of a study, else that of its latest run; or the model of a run by its id or STUDY@3.

    Examples
    --------
    >>> load_model("clouds").pipeline.steps[0][0]
    'encoder'
    """
    be_quiet()
    from evenhand.api.runs import load_run
    from evenhand.tracking.champion_ledger import decisions_of

    champion = decisions_of(name).champion
    return load_run(champion.run_id if champion else name).model()


def score(
    model: "RawRowModel | Run | Champion | str",
    rows: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    run_id: str | None = None,
    n_reasons: int = 0,
) -> "pd.DataFrame | Scored":
    """Score, probability and decision for each of some rows, under the index of the frame that was given.

    `model` is an estimator, a run, a champion, or the name of a study: its champion's model, else its latest run's.
    `rows` is a data frame or the path of a file. With `output`, the rows of a file are scored in batches into that
    file, with a manifest beside it; what became of them is returned. With `n_reasons` that file has so many reasons of
    every score too, the strongest first.

    Examples
    --------
    >>> score("clouds", frame.head(2)).columns.tolist()
    ['score', 'probability', 'decision']
    """
    be_quiet()
    if output is not None:
        return _into_file(model, rows, Path(output), run_id, n_reasons)
    if n_reasons:
        raise ConfError("reasons are written beside the scores of a file: give output, and rows as a file.")
    from evenhand.api.frames import as_frame

    return _estimator(model if run_id is None else run_id).score(as_frame(rows))


def _into_file(model: Any, rows: Any, output: Path, run_id: str | None, n_reasons: int = 0) -> "Scored":
    from evenhand.api.frames import as_file
    from evenhand.api.launch import run_scoring

    name = model if isinstance(model, str) else _study_of(model)
    chosen = run_id or (model.id if hasattr(model, "leaderboard") else None)
    return run_scoring(name, as_file(rows), output, chosen, n_reasons)


def _study_of(model: Any) -> str:
    study = getattr(model, "study", None)
    if study is None:
        raise ConfError(
            f"output takes a study, a run or a champion to score with, since its manifest names them, but a "
            f"{type(model).__name__} was given. Leave output out and write the data frame that is returned."
        )
    return study.name if isinstance(study, Study) else str(study)


def _estimator(model: Any) -> Any:
    if isinstance(model, str):
        return load_model(model)
    return model.model() if callable(getattr(model, "model", None)) else model


def model_of(recorded: "PastRun", name: str | None) -> "RawRowModel":
    """The stored model of a run, or that of another candidate, refitted."""
    from evenhand.tracking.recorded.run_reader import model_folder
    from evenhand.tracking.recorded_models import check_logged, load_recorded, recorded_model, study_of_model

    place, run_id, study = recorded.chosen.place, recorded.run_id, recorded.chosen.study
    if name is None or name == recorded.report["chosen"]:
        return load_recorded(place, study, run_id)
    recorded.figures_of(name)
    found = recorded_model(study, run_id, model_folder(place, run_id))
    check_logged(found, place, "report.json")
    return _refitted(recorded, name, study_of_model(found, place))


def _refitted(recorded: "PastRun", name: str, study: Study) -> "RawRowModel":
    """A candidate fitted on all training rows as the winner was, or found in the store."""
    from evenhand.models.ensembling import members_of
    from evenhand.models.serialization import load_model, models_named
    from evenhand.records.pipeline import FINAL
    from evenhand.storage.artifact_store import local
    from evenhand.tasks.balancing import balance
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.encoding import prepare
    from evenhand.tasks.ingestion import ingest
    from evenhand.tasks.refitting import refit
    from evenhand.tasks.splitting import split

    table = clean.fn(ingest.fn(study), study)
    _check_rows(recorded, name, table.digest)
    ledger, judgement = split.fn(table, study), _judgement(recorded, name, study)
    plans = members_of(judgement)
    prepared = {(e, FINAL): prepare.fn(table, ledger, study, e, FINAL) for e in {each.encoding for each in plans}}
    balanced = {
        (e, b, FINAL): balance.fn(prepared[e, FINAL].training, table, study, b)
        for e, b in {(each.encoding, each.balance) for each in plans}
    }
    made = refit.fn(judgement, prepared, balanced, table, study)
    return load_model(local(made.stored).parent, made.digest, models_named(study))


def _check_rows(recorded: "PastRun", name: str, digest: str) -> None:
    if recorded.tags.get("evenhand.table") != digest:
        raise EvenhandError(
            f"'{name}' of run '{recorded.run_id}' is refitted on the rows of that run, but the data of study "
            f"'{recorded.chosen.study}' is not what the run was made of. Run the study again, or bring the data back."
        )


def _judgement(recorded: "PastRun", name: str, study: Study) -> "Judgement":
    """The judgement of a run as its report has it, with another candidate chosen and nothing decided on that one."""
    from evenhand.records.pipeline import Judgement
    from evenhand.storage.artifact_store import kept_file
    from evenhand.tasks.planning import plan

    plans, report = {made.name: made for made in plan.fn(study)}, recorded.report
    return Judgement(
        metric=recorded.metric,
        metrics=(),
        figures=tuple(_figures(each, plans) for each in report["candidates"]),
        predictions=kept_file(recorded.all_predictions.file),
        ensembles=_ensembles(recorded) if study.ensemble is not None else {},
        chosen=name,
    )


def _figures(each: dict[str, Any], plans: "dict[str, Plan]") -> "Figures":
    """The plan of a candidate with the parameters that tuning or a budget settled on."""
    from evenhand.records.pipeline import Figures, Plan

    brief = {key: each[key] for key in ("name", "model", "encoding", "balance", "params")}
    plan = plans.get(each["name"]) or Plan(candidate=each["name"], **brief)
    settled = {key: value for key, value in each["params"].items() if key not in plan.params}
    folds = {metric: tuple(found["folds"]) for metric, found in each["cv"].items()}
    return Figures(
        replace(plan, params={**plan.params, **settled}, tuning=None), folds, each["train"], each["holdout"],
        each["fit_seconds"], each["predict_seconds"], each["peak_mb"], each["solver"], each["scale"],
    )  # fmt: skip


def _ensembles(recorded: "PastRun") -> "dict[str, Ensemble]":
    from evenhand.records.pipeline import Ensemble
    from evenhand.study.registry import RESERVED_NAMES
    from evenhand.tracking.recorded.run_reader import artifact

    found = {}
    for each in recorded.report["candidates"]:
        if each["name"] in RESERVED_NAMES:
            file = artifact(recorded.chosen.place, each["mlflow_run_id"], "ensemble.json")
            content = json.loads(file.read_text(encoding="utf-8"))
            weights = {one["candidate"]: one["weight"] for one in content["members"]}
            found[each["name"]] = Ensemble(weights, content["average"], content["metric"], content.get("threshold"))
    return found
