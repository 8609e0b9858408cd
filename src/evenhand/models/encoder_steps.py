"""From a word in an encoding to the unfitted transformer of that step."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

from evenhand.errors import ConfError, nearest
from evenhand.estimators.encoding.column_weights import ColumnWeights
from evenhand.models.catalogue import is_estimator
from evenhand.models.checks.parameters import value_mistake
from evenhand.models.entries.encoders import STEPS, EncoderEntry, StepRequest, nothing
from evenhand.models.stored_names import class_code, function_code, function_text
from evenhand.storage.code_digest import code_digest
from evenhand.study.registry import ENCODERS, named_object
from evenhand.study.study import Encoding


def step_entry(step: str, word: str) -> EncoderEntry:
    """The entry of a step, or one made up for the class at a dotted path."""
    if (name := f"{step}.{word}") in ENCODERS:
        return ENCODERS[name]
    return EncoderEntry(step=step, word=word, home=word, arguments=nothing, gives=STEPS[step][-1])  # type: ignore[arg-type]


def step_class(entry: EncoderEntry) -> type:
    """The class of a step; what is no transformer is refused before it is called."""
    found = named_object(str(entry.home), f"{entry.step}: {entry.word}")
    if not (is_estimator(found) and hasattr(found, "transform")):
        raise ConfError(
            f"{entry.step}: {entry.word} should be a scikit-learn transformer class; {entry.home} is none. It was not "
            "called. Name a class that derives from BaseEstimator and TransformerMixin."
        )
    return found


def new_step(step: str, word: str, request: StepRequest) -> Any:
    """The unfitted transformer of a step."""
    entry = step_entry(step, word)
    params = {**entry.arguments(request), **request.encoding.params.get(step, {})}
    if isinstance(params.get("dtype"), str):
        params["dtype"] = np.dtype(params["dtype"]).type
    return step_class(entry)(**params)


def coded(coder: Any, encoding: Encoding, names: list[str], seed: int) -> Any:
    """Codes made into columns, as the encoding says."""
    entry = step_entry("as", encoding.as_)
    if entry.home is None:
        return make_pipeline(coder)
    made = new_step("as", encoding.as_, StepRequest(encoding, names, seed, coder))
    if entry.gives == "evidence":
        return made
    weighs = entry.gives == "dummies" and encoding.dummy_weight != 1
    return make_pipeline(coder, made, *([ColumnWeights(encoding.dummy_weight)] if weighs else []))


def steps_named(encoding: Encoding) -> dict[str, str]:
    """The word of each step that an encoding names."""
    numeric = encoding.numeric
    words = {"scale": numeric.scale, "bins": numeric.bins, "group": encoding.categorical.group,
             "words": encoding.text.words, "as": encoding.as_}  # fmt: skip
    return {step: word for step, word in words.items() if word not in {None, "none"}}


def step_key(encoding: Encoding) -> dict[str, Any]:
    """The part of a key that the steps of an encoding decide: their code, and how their arguments are made."""
    entries = [step_entry(step, word) for step, word in steps_named(encoding).items()]
    roots = [root for entry in entries for root in (*_class_code(entry), *function_code(entry.arguments))]
    return {"code": code_digest(*roots), "arguments": [function_text(entry.arguments) for entry in entries]}


def _class_code(entry: EncoderEntry) -> list[str]:
    return [] if entry.home is None else [class_code(step_class(entry))]


def step_mistakes(encoding: Encoding) -> Iterator[tuple[str, str]]:
    """Steps that are no transformers, and parameters that their classes do not take; with the key each stands at."""
    named = steps_named(encoding)
    for key in encoding.params:
        if key not in named:
            yield "params", f"gives parameters of {key}, which the encoding does not name: take them out"
    for step, word in named.items():
        entry = step_entry(step, word)
        if entry.home is None:
            continue
        try:
            known = inspect.signature(step_class(entry)).parameters
        except ConfError as error:
            yield step, str(error)
            continue
        for name, value in encoding.params.get(entry.step, {}).items():
            if name not in known:
                yield "params", f"{word} has no parameter '{name}'.{nearest(name, known)} Known: {', '.join(known)}"
            elif name != "dtype" and (message := value_mistake(step_class(entry), word, name, value)):
                yield "params", f"{step}.{name}: {message}"
