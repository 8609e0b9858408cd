"""Models as files: nothing is loaded that is not, byte for byte, what was recorded, or that holds strange types."""

from pathlib import Path

import skops.io

from evenhand.errors import EvenhandError
from evenhand.models.catalogue import trusted_types
from evenhand.models.raw_row_model import RawRowModel
from evenhand.storage.artifact_store import digest, file_digest
from evenhand.study.study import Study

MODEL_FILE = "model.skops"
NOTED_BY_MLFLOW = "registered_model_meta"  # name and version, which MLflow writes beside the files it serves
HOLDOUT_SCORES = "said.npz"  # what the refitted model said of the holdout, before it was stored


class Distrusted(EvenhandError):
    """A model's file is not what was recorded."""


def folder_digest(folder: Path) -> str:
    """The digest of all files of a model, by their names; what MLflow notes there when it serves them is none."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file != folder / NOTED_BY_MLFLOW)
    return digest({str(file.relative_to(folder)): file_digest(file) for file in files})


def models_named(study: Study) -> list[str]:
    """The models that a study names, whose packages may stand in its model's file."""
    return [candidate.model or name for name, candidate in study.candidates.items()]


def load_model(folder: Path, recorded: str, models: list[str]) -> RawRowModel:
    """The model in a folder, if its file has the recorded digest and holds types of our own list only."""
    file = folder / MODEL_FILE
    if not file.is_file():
        raise Distrusted(
            f"there is no {MODEL_FILE} in '{folder}': the model was moved or removed. Run the study again."
        )
    if (found := file_digest(file)) != recorded:
        raise Distrusted(
            f"the model '{file}' has the digest {found}, but {recorded or 'none'} was recorded when it was logged: the "
            "file was changed since. It was not loaded. Bring it back from a backup, or run the study again."
        )
    model = skops.io.load(file, trusted=trusted_types(file, models))
    if not isinstance(model, RawRowModel):
        raise Distrusted(f"'{file}' holds a {type(model).__name__}, not a model of Evenhand. It was not used.")
    return model
