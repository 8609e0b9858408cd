"""Encoded matrices on disk: dense ones are mapped into memory, sparse ones are read, packed ones are either.

A packed matrix may be made of the numbers of its table, which lie in an entry of their own, once for all encodings and
folds. Which one that is stands beside the matrices, not in them: their digests are of what they hold alone.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from evenhand.records.reference import Reference
from evenhand.storage.arrays import read_array, read_sparse
from evenhand.storage.artifact_store import local
from evenhand.storage.packed import Blended, Dummies, Packed, Part, Plain, ScaledMatrix

DENSE, SPARSE, TARGET, ROWS = "X.npy", "X.npz", "y.npy", "rows.npy"
PARENTS, PARTS, NUMBERS, SOURCE = "parents.npy", "parts.json", "numbers.npy", "numbers.json"
BLENDED = ("ends", "pairs", "steps", "settled", "values")


def write_matrix(folder: Path, X: Any, y: np.ndarray, rows: np.ndarray | None = None) -> None:
    """Write a matrix, its target and the table rows it was made of."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(X, Packed):
        _write_parts(folder, X)
    elif sparse.issparse(X):
        sparse.save_npz(folder / SPARSE, sparse.csr_matrix(X), compressed=False)
    else:
        np.save(folder / DENSE, np.ascontiguousarray(X, dtype=np.float64))
    np.save(folder / TARGET, y)
    if rows is not None:
        is_short = not len(rows) or int(rows.max()) <= np.iinfo(np.int32).max
        np.save(folder / ROWS, rows.astype(np.int32) if is_short else rows)


def read_matrix(folder: Path) -> tuple[Any, np.ndarray]:
    """The matrix and its target."""
    return read_unlabelled(folder), read_labels(folder)


def read_unlabelled(folder: Path) -> Any:
    """The matrix alone: its target is in a file of its own, which is not opened."""
    found = read_packed(folder)
    return found.dense() if isinstance(found, Packed) else found


def read_packed(folder: Path) -> Any:
    """The matrix alone, in parts if it is kept so."""
    if (folder / PARTS).exists():
        return Packed([_read_part(folder, k, facts) for k, facts in enumerate(_facts(folder / PARTS))])
    if (folder / SPARSE).exists():
        return read_sparse(folder / SPARSE)
    return read_array(folder / DENSE, is_mapped=True)


def read_labels(folder: Path) -> np.ndarray:
    """The target of a matrix."""
    return read_array(folder / TARGET)


def read_matrix_rows(folder: Path) -> np.ndarray:
    """The table rows that the matrix was made of."""
    return read_array(folder / ROWS)


def write_parents(folder: Path, parents: np.ndarray) -> None:
    """Write, beside balanced rows, the table rows that each was made of."""
    np.save(folder / PARENTS, parents.astype(np.int32))


def read_parents(folder: Path) -> np.ndarray:
    """The table rows that each balanced row was made of, one line for each, filled up with -1."""
    return read_array(folder / PARENTS)


def write_source(folder: Path, numbers: Reference) -> None:
    """Note, in an entry of matrices, which entry holds the numbers of their table."""
    (folder / SOURCE).write_text(json.dumps(vars(numbers)), encoding="utf-8")


def read_source(folder: Path) -> Reference | None:
    """The entry with the numbers that a matrix is made of; None where it is made of none."""
    return Reference(**_facts(file)) if (file := folder.parent / SOURCE).exists() else None


def _write_parts(folder: Path, matrix: Packed) -> None:
    facts = [_write_part(folder / f"part_{k}.npy", part) for k, part in enumerate(matrix.parts)]
    (folder / PARTS).write_text(json.dumps(facts), encoding="utf-8")


def _write_part(file: Path, part: Part) -> dict[str, Any]:
    """Put the arrays of a part into its file; the other facts of it."""
    if isinstance(part, Blended):
        for name in BLENDED:
            np.save(_beside(file, name), np.ascontiguousarray(getattr(part, name)))
        return {"kind": "blended", "above": _write_part(file, part.above)}
    if isinstance(part, Plain):
        np.save(file, np.ascontiguousarray(part.values))
        return {"kind": "plain"}
    if isinstance(part, Dummies):
        np.save(file, np.ascontiguousarray(part.codes))
        return {"kind": "dummies", "widths": list(part.widths), "value": part.value}
    np.save(file, np.array([values for _, values in part.steps]).reshape(len(part.steps), part.width))
    columns = part.columns.tolist()
    return {"kind": "scaled", "steps": [name for name, _ in part.steps], "columns": columns, "content": part.content}


def _beside(file: Path, name: str) -> Path:
    return file.with_name(f"{file.stem}_{name}.npy")


def _read_part(folder: Path, k: int, facts: dict[str, Any]) -> Part:
    if facts["kind"] == "blended":
        above = _read_part(folder, k, facts["above"])
        assert isinstance(above, Plain | ScaledMatrix)
        files = [_beside(folder / f"part_{k}.npy", name) for name in BLENDED]
        return Blended(above, *(read_array(file, is_mapped=True) for file in files))
    kept = read_array(folder / f"part_{k}.npy", is_mapped=facts["kind"] != "scaled")
    if facts["kind"] == "plain":
        return Plain(kept)
    if facts["kind"] == "dummies":
        return Dummies(kept, tuple(facts["widths"]), facts["value"])
    numbers = read_source(folder)
    assert numbers is not None
    source = read_array(local(numbers) / NUMBERS, is_mapped=True)
    steps = tuple(zip(facts["steps"], kept, strict=True))
    return ScaledMatrix(source, read_matrix_rows(folder), np.array(facts["columns"]), steps, facts["content"])


def _facts(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))
