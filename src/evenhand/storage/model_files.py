"""The files of a stored model: their names, and the digest by which they are known."""

from pathlib import Path

from evenhand.errors import EvenhandError
from evenhand.storage.digests import digest, file_digest

MODEL_FILE = "model.skops"
NOTED_BY_MLFLOW = "registered_model_meta"  # name and version, which MLflow writes beside the files it serves
BACKGROUND = "background.parquet"  # training rows that reasons of scores are set against
HOLDOUT_SCORES = "holdout_scores.npz"  # of the refitted model, before it was stored


class Distrusted(EvenhandError):
    """A model's file is not what was recorded."""


def folder_digest(folder: Path) -> str:
    """The digest of all files of a model, by their names; what MLflow notes there when it serves them is none."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file != folder / NOTED_BY_MLFLOW)
    return digest({str(file.relative_to(folder)): file_digest(file) for file in files})
