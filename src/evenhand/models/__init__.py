"""From the name of a model to a fitted pipeline that takes raw rows, and that pipeline as a file.

Not here: the estimators themselves (estimators), how good a model is (evaluation), who is champion (tracking).
The types of HOMES stand in stored models under the name of this door; each is imported when it is first named.
"""

from importlib import import_module
from typing import Any

ENTRIES = {  # what other packages make their entries of
    "ModelEntry": "entries.models",
    "SamplerEntry": "entries.samplers",
    "EncoderEntry": "entries.encoders",
}
HOMES = {"RawRowModel": "raw_row_model", "TableEncoder": "encoder", "ScoreMap": "probability_map"}
__all__ = [
    "EncoderEntry",
    "ModelEntry",
    "SamplerEntry",
    "acceleration",
    "batch_scorer",
    "catalogue",
    "checks",
    "encoder",
    "encoder_steps",
    "ensembling",
    "entries",
    "failures",
    "fitting",
    "inner_folds",
    "probability_map",
    "raw_row_model",
    "sampler_lineage",
    "samplers",
    "search_space",
    "serialization",
    "stored_names",
    "successive_halving",
    "trusted_types",
]


def __getattr__(name: str) -> Any:
    if (home := HOMES.get(name) or ENTRIES.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
