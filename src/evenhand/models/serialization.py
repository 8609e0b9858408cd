"""Models as files: nothing is loaded that is not, byte for byte, what was recorded, or that holds strange types."""

from pathlib import Path
from typing import Any

from evenhand.models.encoder_steps import steps_named
from evenhand.models.raw_row_model import RawRowModel
from evenhand.models.stored_names import with_current_names
from evenhand.models.trusted_types import STEP, check_types
from evenhand.storage.digests import file_digest
from evenhand.storage.model_files import MODEL_FILE, Distrusted
from evenhand.study.study import Study


def models_named(study: Study) -> list[str]:
    """The models and encoding steps that a study names, whose types may stand in its model's file."""
    steps = [f"{STEP}{step}.{word}" for each in study.encodings.values() for step, word in steps_named(each).items()]
    return [*(candidate.model or name for name, candidate in study.candidates.items()), *dict.fromkeys(steps)]


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
    model, _ = read_model(file, models)
    if not isinstance(model, RawRowModel):
        raise Distrusted(f"'{file}' holds a {type(model).__name__}, not a model of Evenhand. It was not used.")
    return model


def read_model(file: Path, models: list[str]) -> tuple[Any, list[str]]:
    """What a file holds, whatever its types were called when it was written, and the types it was trusted with."""
    import skops.io  # here, as it lists all of scikit-learn first, which a study to be drafted need not wait for

    data = with_current_names(file)
    types = trusted_types(data, models)
    return skops.io.loads(data, trusted=types), types


def trusted_types(data: bytes, models: list[str]) -> list[str]:
    """The types in a stored model, all of them known to us or named in the study; anything else is refused.

    The list inside a model's own file is never taken for granted: it is made by whoever made the file.
    """
    import skops.io

    found = skops.io.get_untrusted_types(data=data)
    check_types(found, models)
    return list(found)
