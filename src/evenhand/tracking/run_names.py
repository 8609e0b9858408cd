"""What a person types for a run: its id, a study for the latest, STUDY~1 for the one before, STUDY@3 for the third."""

import re
from dataclasses import dataclass

from evenhand.errors import PlaceError, listed, nearest
from evenhand.tracking import mlflow_client
from evenhand.tracking.databases import shown

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
    if found["way"] is None and ID.fullmatch(word) and word not in mlflow_client.studies():
        return _by_id(word)
    return _of_study(found["study"], found["way"] or "~", int(found["number"] or 0))


HOW = "Give a study (its latest run), STUDY~1 (the one before), STUDY@3 (its third run) or a run id."


def runs_of(study: str) -> list[NamedRun]:
    """The finished runs of a study, the oldest first."""
    _check_known(study)
    place, runs = mlflow_client.finished_runs(study)
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
    run = mlflow_client.run_by_id(word)
    parent = run.data.tags.get("mlflow.parentRunId")
    if parent is not None:
        found = _by_id(parent)
        return NamedRun(found.place, found.run, found.study, found.number, run.info.run_name or "")
    study = mlflow_client.study_of(run)
    for each in runs_of(study):
        if each.run.info.run_id == run.info.run_id:
            return each
    raise PlaceError(f"run '{run.info.run_id}' of study '{study}' is {run.info.status}: name one that has finished")


def _check_known(study: str) -> None:
    names = mlflow_client.studies()
    if study not in names:
        hint = nearest(study, names) or (f" There are {listed(names)}." if names else " Run it first.")
        raise PlaceError(f"there is no study or run '{study}' in {shown(mlflow_client.tracking_uri())}.{hint}")
