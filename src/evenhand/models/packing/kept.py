"""How the matrices of a fold are kept, and the numbers of a table that those of all folds stand on."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.data.frames import SomeRows, read_rows, row_batches
from evenhand.models.encoder import TableEncoder
from evenhand.models.packing.few_columns import AsRead
from evenhand.models.packing.parts import packed, scaled, steps_of, with_source
from evenhand.records.pipeline import Table
from evenhand.storage.arrays import read_array
from evenhand.storage.artifact_store import Entry, Store
from evenhand.storage.matrices import NUMBERS, write_source
from evenhand.storage.packed import EVERY, ScaledMatrix
from evenhand.study.study import Encoding

CODE = "evenhand.models.packing.kept:_write"
MANY_BYTES = 2**25  # of a table as numbers, from which its columns are read one at a time; its matrix is packed then


def rows_to_encode(table: Table, encoding: Encoding) -> Callable[[np.ndarray], Any]:
    """Some rows of the table: a frame of them, or where they are many their columns as they are asked for."""
    if is_in_parts(table, encoding):
        return partial(SomeRows, table)
    frame = read_rows(table, [feature.name for feature in table.features])
    return lambda rows: frame.iloc[rows]


def is_in_parts(table: Table, encoding: Encoding) -> bool:
    """Whether columns are read one at a time: of many rows whose matrix will be packed."""
    has_text = any(feature.kind == "text" for feature in table.features)
    is_many = 8 * table.n_rows * len(table.features) >= MANY_BYTES
    return is_many and not has_text and not encoding.unit_length and encoding.select is None


class KeptMatrices:
    """How the matrices of a fold are kept: as they are, or packed where they are large.

    Numbers of the table are put down once for all folds, when they are first needed. What is of words or of unit length
    is not packed.
    """

    def __init__(self, folder: Path, table: Table, encoder: TableEncoder, n_rows: int) -> None:
        self.folder, self.table, self.encoder = folder, table, encoder
        self.n_rows = n_rows

    def matrix(self, parts: list[Any], rows: np.ndarray) -> Any:
        """Parts as the matrix to be kept, with numbers of the table in place of what was made of them by columns."""
        parts = [self._as_read(k, part, rows) if isinstance(part, AsRead) else part for k, part in enumerate(parts)]
        if not self.encoder.is_packable(parts, self.n_rows):
            return self.encoder.joined(
                [part.dense(EVERY, EVERY) if isinstance(part, ScaledMatrix) else part for part in parts]
            )
        steps = [steps_of(transformer) if kind == "numeric" else None for kind, _, transformer in self.encoder.blocks_]
        matrix = packed(parts)
        if all(each is None for each in steps):
            return matrix
        places = [self._places(names) if kind == "numeric" else None for kind, names, _ in self.encoder.blocks_]
        return with_source(matrix, steps, self._source(), rows, places)

    def _as_read(self, k: int, part: AsRead, rows: np.ndarray) -> ScaledMatrix:
        _, names, _ = self.encoder.blocks_[k]
        return scaled(part.steps, self._source(), rows, self._places(names))

    def _places(self, names: list[str]) -> np.ndarray:
        known = _numeric(self.table)
        return np.array([known.index(name) for name in names])

    def _source(self) -> np.ndarray:
        entry = numbers_of(self.table)
        write_source(self.folder, entry.reference)
        return read_array(entry.path / NUMBERS, is_mapped=True)


def _numeric(table: Table) -> list[str]:
    return [feature.name for feature in table.features if feature.kind == "numeric"]


def numbers_of(table: Table) -> Entry:
    """The numeric columns of a table in one file, made once."""
    inputs = {"table": table.digest, "names": _numeric(table)}
    return Store().keep("numbers", inputs, CODE, partial(_write, table))


def _write(table: Table, folder: Path) -> dict[str, Any]:
    """Put the numeric columns of a table into one file that is mapped, some rows after others."""
    names = _numeric(table)
    with (folder / NUMBERS).open("wb") as file:
        facts = {"descr": "<f8", "fortran_order": False, "shape": (table.n_rows, len(names))}
        np.lib.format.write_array_header_1_0(file, facts)
        for batch in row_batches(table, names):
            columns = [column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False) for column in batch.columns]
            file.write(np.column_stack(columns).data)
    return {"n_rows": table.n_rows}
