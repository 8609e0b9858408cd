"""What is done about rare classes: on training rows only."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from evenhand.errors import DataError, listed
from evenhand.models.packing.made_rows import MakerInParts
from evenhand.models.sampler_lineage import NOBODY
from evenhand.models.samplers import Resampled, Resampler, sampler_arguments, sampler_code
from evenhand.records.pipeline import Balanced, Table, Training
from evenhand.runtime.memory import free_bytes, room_for
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Store, local
from evenhand.storage.matrices import (
    read_labels,
    read_matrix_rows,
    read_packed,
    read_source,
    write_matrix,
    write_parents,
    write_source,
)
from evenhand.storage.packed import Packed
from evenhand.study.study import Study

CODE = ("evenhand.tasks.balancing:_build", "evenhand.models.samplers:Resampler", "evenhand.storage.packed:Blended")


@step("balance", anywhere=True)
def balance(training: Training, table: Table, study: Study, name: str) -> Balanced:
    """Training rows after the balance of that name; anything but training rows is a type error."""
    if not isinstance(training, Training):
        raise TypeError(f"only training rows may be balanced, not {type(training).__name__}")
    kind = study.balance_kind(name)
    if kind in {"none", "class_weight"}:
        return Balanced(balance=name, training=training, is_weighted=kind == "class_weight")
    resampler = Resampler(name, study.balance[name], training.outputs, study.seed)
    inputs = {
        "training": training.digest, "kind": resampler.kind, "balance": study.balance[name], "seed": study.seed,
        "asked": resampler.asked, "n_classes": len(table.classes), "arguments": sampler_arguments(resampler.asked),
        "is_blind": resampler.is_blind,
    }  # fmt: skip
    entry = Store().keep(
        "balanced",
        inputs,
        [*CODE, *sampler_code(resampler.asked)],
        lambda folder: _build(folder, training, table, resampler),
    )
    made = Training(entry.part("training"), entry.reference.inside("training"), entry.facts["n_rows"], training.outputs)
    counts = {key: entry.facts[key] for key in ("n_made", "n_unexplained")}
    return Balanced(name, made, **counts, whole=tuple(entry.facts["whole"]), reused=entry.reused)


def _build(folder: Path, training: Training, table: Table, resampler: Resampler) -> dict[str, Any]:
    X, y = read_packed(local(training.stored)), read_labels(local(training.stored))
    maker = resampler.in_parts(X)
    needed = 0 if _is_by_place(X, resampler) else _bytes_needed(X, y, resampler, len(table.classes), maker)
    _check_room(needed, X, y, resampler)
    with room_for(needed):
        if maker is not None:
            return _made_in_parts(folder, training, table, resampler, maker, y)
        return _balanced(folder, training, table, resampler, X, y)


def _is_by_place(X: Any, resampler: Resampler) -> bool:
    """Whether rows are chosen by their numbers and their cells are not looked at."""
    return isinstance(X, Packed) and resampler.is_blind


def _bytes_needed(X: Any, y: np.ndarray, resampler: Resampler, n_classes: int, maker: MakerInParts | None) -> int:
    """About what a sampler that reads the rows takes: these and what comes out, dense, and a copy of both."""
    if sparse.issparse(X):
        return 0
    counts = np.bincount(y.astype(int), minlength=n_classes)
    n_rows = resampler.n_rows(counts[counts > 0])
    return 2 * 8 * int(X.shape[1]) * (len(y) + n_rows) if maker is None else maker.bytes_needed(counts, n_rows)


def _check_room(needed: int, X: Any, y: np.ndarray, resampler: Resampler) -> None:
    """Refuse, before it begins, a balance that memory is not enough for."""
    if needed > (free := free_bytes()):
        raise DataError(
            f"balance {resampler.name} ({resampler.kind}) of {len(y):,} training rows x {X.shape[1]:,} columns takes "
            f"about {needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB of memory are free. Write undersample, oversample "
            "or class_weight, which make no rows, lower its ratio, or give the candidates an encoding of fewer columns "
            "(as: ordinal)"
        )


def _made_in_parts(
    folder: Path, training: Training, table: Table, resampler: Resampler, maker: MakerInParts, y: np.ndarray
) -> dict[str, Any]:
    """Rows made below those of a matrix in parts, which stay as they are kept."""
    found = resampler.resample_parts(maker, y, table.classes)
    write_matrix(folder / "training", found.matrix, found.y, found.matrix.table_rows)
    if (source := read_source(local(training.stored))) is not None:
        write_source(folder, source)
    _keep_parents(folder, training, found.parents)
    return {
        "n_rows": len(found.y), "kind": resampler.kind, "n_made": len(found.y) - len(y),
        "n_unexplained": maker.n_unexplained(found), "whole": list(maker.whole),
    }  # fmt: skip


def _balanced(
    folder: Path, training: Training, table: Table, resampler: Resampler, X: Any, y: np.ndarray
) -> dict[str, Any]:
    is_by_place = _is_by_place(X, resampler)
    given = np.arange(len(y))[:, None] if is_by_place else _whole(X)
    found = resampler.resample(given, y, table.classes)
    if lost := [table.classes[k] for k in np.setdiff1d(y, found.y)]:
        raise DataError(
            f"{resampler.kind} leaves no training row of class {listed(lost)}: use another balance in its place"
        )
    made = X.taken(found.X[:, 0]) if is_by_place else found.X
    write_matrix(folder / "training", made, found.y.astype(y.dtype), made.table_rows if is_by_place else None)
    if is_by_place and (source := read_source(local(training.stored))) is not None:
        write_source(folder, source)
    facts = {"n_rows": len(found.y), "kind": resampler.kind, "n_made": 0, "n_unexplained": None}
    facts["whole"] = resampler.whole_columns(given)
    return facts if found.parents is None else facts | _traced(folder, training, given, resampler, found)


def _whole(X: Any) -> Any:
    """All rows in memory, dense unless they are of words."""
    return X.dense() if isinstance(X, Packed) else np.asarray(X) if isinstance(X, np.memmap) else X


def _traced(folder: Path, training: Training, X: Any, resampler: Resampler, found: Resampled) -> dict[str, Any]:
    """Keep the table rows that each balanced row was made of, and count the rows that they do not explain."""
    assert found.parents is not None
    _keep_parents(folder, training, found.parents)
    n_made = int(np.sum(np.any(found.parents[:, 1:] != NOBODY, axis=1)))
    return {"n_made": n_made, "n_unexplained": int(resampler.unexplained(X, found).sum())}


def _keep_parents(folder: Path, training: Training, parents: np.ndarray) -> None:
    rows = np.append(read_matrix_rows(local(training.stored)), NOBODY)
    write_parents(folder / "training", rows[parents])
