"""Which models were recorded here: a ledger of our own, for whoever reaches MLflow can write its tags and files.

What may be loaded is decided by this ledger alone. A line holds the digests of the files that a run logged, and the
models that the study of the person who ran it named, which may bring types of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from evenhand.runtime.fault_injection import around
from evenhand.storage.artifact_store import home
from evenhand.storage.digests import digest, file_digest
from evenhand.storage.ledger import append_line, broken, held, ledgers_in, read_chain, repair_chain
from evenhand.storage.locks import now, who
from evenhand.storage.model_files import MODEL_FILE, Distrusted, folder_digest
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import decisions_of
from evenhand.tracking.recorded import run_reader

if TYPE_CHECKING:
    from evenhand.models.raw_row_model import RawRowModel

NAME = "ledger of recorded models"
LINKS = {"number", "before", "hash"}
RUN, CANDIDATES = "MLflow's database", "MLflow's database of the candidates"  # beside names of files
SEALED_TAGS = frozenset(
    f"evenhand.{name}" for name in ("kind", "study", "split_id", "data", "metric", "best", "entries", "leaks", "table")
)


@dataclass(frozen=True)
class RecordedModel:
    """The model of a run as it was when it was recorded: digests of its file, of its folder, and of what was logged."""

    study: str
    run_id: str
    digest: str
    folder: str
    models: tuple[str, ...] = ()
    logged: dict[str, str] | None = None
    who: str = ""
    when: str = ""


def recorded_path(study: str) -> Path:
    """Where the models of a study are kept account of."""
    return home() / "recorded" / f"{study}.jsonl"


def note_model(model: RecordedModel) -> None:
    """Put a model that was just recorded into the ledger."""
    file = recorded_path(model.study)
    with held(file):
        repair_chain(file, read_chain(file, NAME))
        signed = replace(model, who=model.who or who(), when=model.when or now())
        with around("recorded.append"):
            append_line(file, asdict(signed), read_chain(file, NAME))


def recorded_model(study: str, run_id: str, folder: Path) -> RecordedModel:
    """What our own ledgers have of the model of a run; what is in none of them is not loaded."""
    lines = [line for line in read_chain(recorded_path(study), NAME).lines if line.get("run_id") == run_id]
    if lines:
        return _of_line(study, lines[-1])
    for each in decisions_of(study).promotions:  # promoted before there was a ledger of every model
        if each.candidate.run_id == run_id and each.candidate.digest == folder_digest(folder):
            return RecordedModel(study, run_id, file_digest(folder / MODEL_FILE), each.candidate.digest)
    raise Distrusted(
        f"the model of run '{run_id}' stands in no ledger of study '{study}' ('{recorded_path(study)}'), so nobody "
        "knows who made it. It was not loaded: run the study again, or bring the ledger from where it was run."
    )


def check_logged(found: RecordedModel, place: mlflow_client.Place, name: str) -> Path:
    """A file that a run logged, if it is still what was logged."""
    file = run_reader.artifact(place, found.run_id, name)
    if found.logged is not None and file_digest(file) != found.logged.get(name):
        raise _changed(name, found.run_id)
    return file


def check_if_logged(found: RecordedModel, place: mlflow_client.Place, name: str) -> Path | None:
    """The same of a file that not every run logged; None where it did not."""
    return check_logged(found, place, name) if name in (found.logged or {}) else None


def artifact(place: mlflow_client.Place, run_id: str, name: str) -> Path:
    """A file that a run logged, unless it is known here by another digest; of a run made elsewhere none is known."""
    file = run_reader.artifact(place, run_id, name)
    if (expected := _digests_of(run_id).get(name)) is not None and file_digest(file) != expected:
        raise _changed(name, run_id)
    return file


def check_run(run: mlflow_client.Run) -> mlflow_client.Run:
    """A run as MLflow has it, unless its figures, its settings or what it was tagged with were other ones."""
    _check(RUN, run.info.run_id, lambda: run_digest(run))
    return run


def check_candidates(run_id: str, children: Sequence[mlflow_client.Run]) -> None:
    """Refuse candidates of a run that are not those, or have not the figures, that were recorded."""
    _check(CANDIDATES, run_id, lambda: candidates_digest(children))


def run_digest(run: mlflow_client.Run) -> str:
    """The digest of what MLflow's database has of a run since it was recorded; a verdict comes later."""
    tags = {name: value for name, value in run.data.tags.items() if name in SEALED_TAGS}
    return digest([run.info.start_time, run.data.params, run.data.metrics, tags])


def candidates_digest(children: Sequence[mlflow_client.Run]) -> str:
    """The digest of what MLflow's database has of the candidates of a run."""
    found = {run.info.run_id: run for run in children}
    return digest(
        [
            [run_id, run.info.run_name, run.info.status, run.data.params, run.data.metrics, _own_tags(run)]
            for run_id, run in sorted(found.items())
        ]
    )


def database_digests(place: mlflow_client.Place, run_id: str) -> dict[str, str]:
    """Both digests of a run, read back from MLflow when all of it was logged."""
    run = run_reader.run_of(place, run_id)
    here = replace(place, experiment_id=run.info.experiment_id)
    return {RUN: run_digest(run), CANDIDATES: candidates_digest(run_reader.children_of(here, run_id))}


def recorded_ids(study: str) -> list[str]:
    """The runs of a study that were recorded here, the oldest first."""
    return [str(line["run_id"]) for line in read_chain(recorded_path(study), NAME).lines]


def _own_tags(run: mlflow_client.Run) -> dict[str, str]:
    return {name: value for name, value in run.data.tags.items() if name.startswith("evenhand.")}


def _check(part: str, run_id: str, found: Callable[[], str]) -> None:
    if (expected := _digests_of(run_id).get(part)) is not None and found() != expected:
        raise _changed(f"what {part} holds", run_id)


def _digests_of(run_id: str) -> dict[str, str]:
    """The digests of what a run logged, by whichever ledger of ours has it."""
    for file, version in ledgers_in(recorded_path("*").parent).items():
        if run_id in (logged := _logged(file, *version)):
            return logged[run_id]
    return {}


@lru_cache(maxsize=32)
def _logged(file: Path, *version: int) -> dict[str, dict[str, str]]:
    return {str(line["run_id"]): dict(line.get("logged") or {}) for line in read_chain(file, NAME).lines}


def _changed(what: str, run_id: str) -> Distrusted:
    return Distrusted(
        f"{what} of run '{run_id}' was changed since it was logged. It was not used: bring it back from a backup, or "
        "run the study again."
    )


def check_folder(found: RecordedModel, folder: Path) -> None:
    """Refuse files of a model of which one was changed, added or taken away since it was recorded."""
    if folder_digest(folder) != found.folder:
        raise Distrusted(
            f"the files of the model of run '{found.run_id}' in '{folder}' are not those that were recorded. Nothing "
            "was loaded: bring them back from a backup, or run the study again."
        )


def study_of_model(found: RecordedModel, place: mlflow_client.Place) -> Study:
    """The study that a model was recorded with."""
    return Study.model_validate(yaml.safe_load(check_logged(found, place, "study.yaml").read_text(encoding="utf-8")))


def load_recorded(place: mlflow_client.Place, study: str, run_id: str) -> "RawRowModel":
    """The model of a run, if it is what our own ledger has of it."""
    from evenhand.models.serialization import load_model  # with all that a model needs; most only read the ledger

    folder = run_reader.model_folder(place, run_id)
    found = recorded_model(study, run_id, folder)
    return load_model(folder, found.digest, list(found.models))


def _of_line(study: str, line: dict[str, Any]) -> RecordedModel:
    try:
        return RecordedModel(**{key: value for key, value in line.items() if key not in LINKS})
    except TypeError:
        raise broken(f"line {line['number']} of the {NAME} '{recorded_path(study)}'", "cannot be read") from None
