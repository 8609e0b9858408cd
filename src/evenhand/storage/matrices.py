"""Encoded matrices on disk: dense ones are mapped into memory, sparse ones are read."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from evenhand.storage.arrays import read_array, read_sparse

DENSE, SPARSE, TARGET, ROWS = "X.npy", "X.npz", "y.npy", "rows.npy"
PARENTS = "parents.npy"


def write_matrix(folder: Path, X: Any, y: np.ndarray, rows: np.ndarray | None = None) -> None:
    """Write a matrix, its target and the table rows it was made of."""
    folder.mkdir(parents=True, exist_ok=True)
    if sparse.issparse(X):
        sparse.save_npz(folder / SPARSE, sparse.csr_matrix(X), compressed=False)
    else:
        np.save(folder / DENSE, np.ascontiguousarray(X, dtype=np.float64))
    np.save(folder / TARGET, y)
    if rows is not None:
        np.save(folder / ROWS, rows)


def read_matrix(folder: Path) -> tuple[Any, np.ndarray]:
    """The matrix and its target."""
    return read_unlabelled(folder), read_labels(folder)


def read_unlabelled(folder: Path) -> Any:
    """The matrix alone: its target is in a file of its own, which is not opened."""
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
