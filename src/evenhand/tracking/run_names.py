"""What a person types for a run: its id, a study for the latest, STUDY~1 for the one before, STUDY@3 for the third."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.errors import PlaceError, listed, nearest
from evenhand.tracking import mlflow_client
from evenhand.tracking.databases import shown
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import check_candidates, check_run, recorded_ids

MOST_MISSING = 100
ID = re.compile(r"[0-9a-f]{8,32}")
NAMED = re.compile(r"(?P<study>[A-Za-z0-9][A-Za-z0-9_-]*)(?:(?P<way>[~@])(?P<number>\d+))?")


@dataclass(frozen=True)
class NamedRun:
    """A finished run of a study, its number in the order of time, and the candidate asked for, if it was one."""

    place: mlflow_client.Place
    run: mlflow_client.Run
    study: str
    number: int
    candidate: str = ""

    @property
    def label(self) -> str:
        """The run as people and `evenhand compare` call it."""
        return f"{self.study}@{self.number}" + (f" {self.candidate}" if self.candidate else "")


def run_named(word: str) -> NamedRun:
    """The run that a word stands for."""
    found = NAMED.fullmatch(word)
    if found is None:
        raise PlaceError(f"'{word}' names no run. {HOW}")
    if found["way"] is None and ID.fullmatch(word) and word not in run_reader.studies():
        return _by_id(word)
    return _of_study(found["study"], found["way"] or "~", int(found["number"] or 0))


HOW = "Give a study (its latest run), STUDY~1 (the one before), STUDY@3 (its third run) or a run id."


def latest_run(study: str) -> tuple[mlflow_client.Place, mlflow_client.Run, list[mlflow_client.Run]]:
    """The newest finished run of a study and its candidates, as they were recorded."""
    place, runs = finished_runs(study, most=1)
    children = run_reader.children_of(place, runs[0].info.run_id)
    check_candidates(runs[0].info.run_id, children)
    return place, runs[0], children


def finished_runs(study: str, most: int = 5000) -> tuple[mlflow_client.Place, list[mlflow_client.Run]]:
    """The finished runs of a study as they were recorded, the newest first."""
    store = mlflow_client.open_store()
    found = store.client().get_experiment_by_name(study)
    if found is None:
        hint = nearest(study, run_reader.studies()) or " Run it first."
        raise PlaceError(f"there is no study '{study}' in {shown(mlflow_client.tracking_uri())} yet.{hint}")
    place = mlflow_client.Place(store.uri, found.experiment_id)
    runs = run_reader.finished(place, most)
    _check_none_is_lost(place, study, runs, len(runs) < most)
    if not runs:
        where = shown(mlflow_client.tracking_uri())
        raise PlaceError(f"study '{study}' has no finished run in {where} yet: run it first")
    return place, [check_run(run) for run in runs]


def _check_none_is_lost(
    place: mlflow_client.Place, study: str, runs: Sequence[mlflow_client.Run], is_whole: bool
) -> None:
    """Refuse a list that lacks a finished run which was recorded here: one after its newest, or any of a whole list.

    A run that began before the newest although it was recorded later is what a clock that was set back leaves. Of those
    that are missing, as deleted ones are, the latest are looked at.
    """
    listed_ids, recorded = {run.info.run_id for run in runs}, recorded_ids(study)
    last = max((number for number, run_id in enumerate(recorded) if run_id in listed_ids), default=-1)
    first = 0 if is_whole else last + 1
    missing = [(number, run_id) for number, run_id in enumerate(recorded) if run_id not in listed_ids][-MOST_MISSING:]
    for number, run_id in reversed([each for each in missing if each[0] >= first]):
        run = run_reader.run_if_known(place, run_id)
        if run is None and number > last:
            logging.getLogger("evenhand").warning("run %s of '%s' is left out: MLflow has lost it", run_id, study)
        if run is None or run.info.lifecycle_stage == "deleted" or run.info.status != "FINISHED":
            continue
        check_run(run)
        if (run.info.experiment_id, run.data.tags.get("evenhand.kind")) != (place.experiment_id, "run"):
            continue
        if is_whole or (number > last and (not runs or run.info.start_time > runs[0].info.start_time)):
            raise PlaceError(
                f"MLflow's database in {shown(mlflow_client.tracking_uri())} does not list run '{run_id}' of "
                f"'{study}', which it has: it is damaged. Bring it back from a backup, or run the study again."
            )


def runs_of(study: str) -> list[NamedRun]:
    """The finished runs of a study, the oldest first."""
    _check_known(study)
    place, runs = finished_runs(study)
    return [NamedRun(place, run, study, number) for number, run in enumerate(reversed(runs), 1)]


def _of_study(study: str, way: str, number: int) -> NamedRun:
    runs = runs_of(study)
    place = len(runs) - 1 - number if way == "~" else number - 1
    if not 0 <= place < len(runs):
        raise PlaceError(
            f"there is no run '{study}{way}{number}': study '{study}' has {len(runs)} finished, from {study}@1 to "
            f"{study}@{len(runs)}. `evenhand show {study} --history` lists them."
        )
    return runs[place]


def _by_id(word: str) -> NamedRun:
    run = run_reader.run_by_id(word)
    parent = run.data.tags.get("mlflow.parentRunId")
    if parent is not None:
        found = _by_id(parent)
        return NamedRun(found.place, found.run, found.study, found.number, run.info.run_name or "")
    study = run_reader.study_of(run)
    for each in runs_of(study):
        if each.run.info.run_id == run.info.run_id:
            return each
    raise PlaceError(f"run '{run.info.run_id}' of study '{study}' is {run.info.status}: name one that has finished")


def _check_known(study: str) -> None:
    names = run_reader.studies()
    if study not in names:
        hint = nearest(study, names) or (f" There are {listed(names)}." if names else " Run it first.")
        raise PlaceError(f"there is no study or run '{study}' in {shown(mlflow_client.tracking_uri())}.{hint}")
