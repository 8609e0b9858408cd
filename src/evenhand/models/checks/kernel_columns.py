"""Kernels in a study's words: columns by their names, what an encoding makes of them, and where that cannot be."""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from evenhand.errors import listed, nearest
from evenhand.estimators.machines.composition import ON_NUMBERS, counts_values, leaves, read_kernel
from evenhand.models.catalogue import class_of
from evenhand.models.encoder_steps import step_entry
from evenhand.records.pipeline import Feature, Table
from evenhand.study.loader import refuse
from evenhand.study.registry import MODELS
from evenhand.study.study import Candidate, Encoding, Study
from evenhand.study.validation import Mistake, Place

NOT_READ = {"target": "it is the target", "ignore": "columns.ignore lists it"}


def composes_kernels(model: str) -> bool:
    """Whether a model takes kernels that are put together."""
    return bool(getattr(class_of(model), "composes_kernels", False))


def kernel_mistakes(name: str, model: str, candidate: Candidate) -> Iterator[Mistake]:
    """What is wrong with the kernels of a candidate whatever the columns are."""
    for place, kernel in _kernels(name, candidate):
        if composes_kernels(model):
            yield from read_kernel(kernel, place)[1]
        elif isinstance(kernel, dict):
            takers = [each for each in MODELS if MODELS.is_own(each) and composes_kernels(each)]
            yield place, f"{model} takes one kernel by its name; kernels put together are for {', '.join(takers)}"


def check_kernels(study: Study, table: Table, names: Iterable[str]) -> None:
    """Refuse kernels of some candidates that name columns which are not there, or which they cannot read."""
    refuse(study, list(column_mistakes(study, table, names)))


def column_mistakes(study: Study, table: Table, names: Iterable[str]) -> Iterator[Mistake]:
    """Columns in the kernels of some candidates that are not there, or that an encoding makes something else of."""
    for name in dict.fromkeys(names):
        candidate = study.candidates[name]
        if not composes_kernels(candidate.model or name):
            continue
        for place, kernel in _kernels(name, candidate):
            node, _ = read_kernel(kernel, place)
            for leaf in [] if isinstance(kernel, str) and kernel in ON_NUMBERS else leaves(node):
                yield from _leaf_mistakes(leaf, study, table, candidate.encodings or tuple(study.encodings))


def counts_nothing(model: str, params: dict[str, Any]) -> bool:
    """Whether the kernel of a model counts no values, so that frequencies of all rows would be those of none."""
    if not composes_kernels(model):
        return False
    kernel = params.get("kernel", inspect.signature(class_of(model)).parameters["kernel"].default)
    node, mistakes = (None, []) if kernel is None else read_kernel(kernel)
    return node is not None and not mistakes and not counts_values(node)


def names_columns(study: Study, names: Iterable[str]) -> bool:
    """Whether a kernel of these candidates is put together, so that columns matter to it."""
    return any(isinstance(kernel, dict) for name in names for _, kernel in _kernels(name, study.candidates[name]))


def _kernels(name: str, candidate: Candidate) -> Iterator[tuple[Place, Any]]:
    """Every kernel that a candidate names, with its place."""
    place = ("candidates", name)
    if candidate.params.get("kernel") is not None:
        yield (*place, "params", "kernel"), candidate.params["kernel"]
    over = candidate.tune.over or {} if candidate.tune else {}
    for key, values in ((("grid",), candidate.grid), (("tune", "over"), over)):
        found = values.get("kernel")
        for number, kernel in enumerate(found if isinstance(found, list) else ()):
            if kernel is not None:
                yield (*place, *key, "kernel", str(number)), kernel


def _leaf_mistakes(leaf: Any, study: Study, table: Table, encodings: Iterable[str]) -> Iterator[Mistake]:
    features = {feature.name: feature for feature in table.features}
    for name in leaf.columns or ():
        if name not in features:
            yield leaf.path, _not_there(name, table, list(features))
            continue
        for encoding in encodings:
            if words := _unreadable(leaf.kind, features[name], encoding, study.encodings[encoding]):
                yield leaf.path, words
    for encoding in encodings if leaf.columns is None else ():
        wanted = "codes" if leaf.kind == "similarity" else "numbers"
        if not any(
            _made_of(each, study.encodings[encoding]) in {wanted, "ordered codes"} for each in features.values()
        ):
            yield leaf.path, f"{leaf.kind} reads {wanted}, but encoding '{encoding}' makes none: leave it out"


def _not_there(name: Any, table: Table, known: list[str]) -> str:
    if (role := table.roles.get(name)) is not None:
        return f"no model reads '{name}', as {NOT_READ.get(role, f'columns.{role} lists it')}: take it out"
    return f"there is no column '{name}'.{nearest(str(name), known)} Known: {listed(known)}"


def _made_of(feature: Feature, encoding: Encoding) -> str:
    """What an encoding makes of a column: numbers, codes, codes that have an order, or words."""
    if feature.kind == "text":
        return "words"
    if feature.kind == "numeric" and encoding.numeric.bins is None:
        return "numbers"
    if step_entry("as", encoding.as_).gives != "codes":
        return "numbers"
    return "ordered codes" if feature.kind == "numeric" else "codes"


def _unreadable(kind: str, feature: Feature, name: str, encoding: Encoding) -> str:
    """Why a kernel cannot read what an encoding makes of a column; empty where it can."""
    made = _made_of(feature, encoding)
    if made == "words":
        return f"'{feature.name}' is text, which {kind} does not read: take it out"
    if kind == "similarity" and made == "numbers":
        bins = f" and numeric.bins in encodings.{name}" if feature.kind == "numeric" else ""
        return (
            f"similarity compares codes, but encoding '{name}' makes numbers of '{feature.name}'. "
            f"Set encodings.{name}.as: ordinal{bins}, or use rbf or linear"
        )
    if kind in ON_NUMBERS and made == "codes":
        return (
            f"{kind} needs numbers, but encoding '{name}' leaves '{feature.name}' as codes without an order. "
            "Use similarity, or another encoding"
        )
    return ""
