"""A recorded model behind MLflow's scoring protocol, loaded only after it passed the gate that every model passes."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenhand.models.serialization import load_model
from evenhand.runtime.private_files import private_folder
from evenhand.storage.artifact_store import home
from evenhand.tracking.recorded_models import RecordedModel, check_folder


@contextmanager
def private_copy(found: RecordedModel, folder: Path) -> Iterator[Path]:
    """A copy of a model's files that nobody else can change, if every one of them is what was recorded."""
    private_folder(home() / "served")
    with tempfile.TemporaryDirectory(dir=home() / "served") as room:
        copied = Path(room) / "model"
        shutil.copytree(folder, copied)
        check_folder(found, copied)
        yield copied


def serving_app(folder: Path, digest: str, models: list[str]) -> Any:
    """MLflow's scoring application for a model, whose file has the recorded digest and types of our list."""
    import mlflow
    from mlflow.pyfunc import scoring_server

    load_model(folder, digest, models)
    return scoring_server.init(mlflow.pyfunc.load_model(str(folder)))
