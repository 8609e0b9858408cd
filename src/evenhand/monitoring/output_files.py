"""Files that scoring leaves: whole under their names, or not there at all."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from evenhand.data.sources import find_files
from evenhand.errors import ConfError, EvenhandError
from evenhand.runtime.fault_injection import around
from evenhand.runtime.io_errors import writing
from evenhand.runtime.private_files import as_usual
from evenhand.runtime.whole_files import put_in_place, sweep, unfinished_name, whole
from evenhand.study.study import Study

CSV, PARQUET = (".csv",), (".parquet", ".pq")
FORMULA = r"^[\s\x00]*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]|^[\t\r\n]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def check_output(output: Path, inputs: Iterable[Path], written: Iterable[Path]) -> None:
    """Refuse an ending that is not written, and a file to be written over that is read."""
    if output.suffix.lower() not in CSV + PARQUET:
        raise ConfError(
            f"the output '{output}' ends in '{output.suffix}': scores are written as .parquet or .csv. Name it so."
        )
    for read in inputs:
        if taken := next((each for each in written if each.exists() and each.samefile(read)), None):
            raise ConfError(f"'{taken}' would be written over the rows that are read from it: name another output.")


def own_files(study: Study) -> list[Path]:
    """The files that a study learns and is evaluated from, as far as they are here."""
    found: list[Path] = []
    for source in (study.source, study.feedback.source if study.feedback else None):
        if source is not None and source.path:
            with suppress(EvenhandError):  # they may be elsewhere by now, and are not read here
                found += find_files(source.path, study._file)
    return found


def without_formulas(table: pa.Table) -> pa.Table:
    """A table of which no text can start a formula in a spreadsheet: a quote stands before it."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            texts = table.column(place)
            starts = pc.and_(
                pc.match_substring_regex(texts, FORMULA), pc.invert(pc.match_substring_regex(texts, NUMBER))
            )
            quote, nothing = pa.scalar("'", field.type), pa.scalar("", field.type)
            quoted = pc.binary_join_element_wise(quote, texts, nothing)
            table = table.set_column(place, field, pc.if_else(starts, quoted, texts))
    return table.rename_columns([_harmless(name) for name in table.schema.names])


def _harmless(name: str) -> str:
    return f"'{name}" if re.match(r"\s*[=+\-@]", name) and not re.match(NUMBER, name) else name


class Unfinished:
    """Tables written one after the other under another name; a file without tables is not made."""

    def __init__(self, file: Path) -> None:
        self.file, self.n_rows = file, 0
        self.hidden = unfinished_name(file)
        self._writer: Any = None

    def add(self, table: pa.Table) -> None:
        """Write one more table."""
        if not table.num_rows:
            return
        is_csv = self.file.suffix.lower() in CSV
        table = without_formulas(table) if is_csv else table
        if self._writer is None:
            self._writer = (pacsv.CSVWriter if is_csv else pq.ParquetWriter)(str(self.hidden), table.schema)
        self._writer.write_table(table)
        self.n_rows += table.num_rows

    def close(self) -> None:
        """Have everything on the disk."""
        if self._writer is not None:
            with around("scored.close"):
                self._writer.close()
            as_usual(self.hidden)


@contextmanager
def finished_together(*files: Path) -> Iterator[list[Unfinished]]:
    """Files that get their names all at the end, or never; one that stayed empty takes away what had its name."""
    parts = [Unfinished(file) for file in files]
    with writing(files[0]):
        files[0].parent.mkdir(parents=True, exist_ok=True)
        for file in files:
            sweep(file)
        try:
            yield parts
            for part in parts:
                part.close()
            for part in reversed(parts):
                if part.n_rows:
                    put_in_place(part.hidden, part.file, moment="scored")
                else:
                    part.file.unlink(missing_ok=True)
        finally:
            for part in parts:
                part.hidden.unlink(missing_ok=True)


def write_manifest(file: Path, content: dict[str, Any]) -> None:
    """What was scored, with what and what came of it; the same bytes for the same rows and model."""
    with whole(file, moment="manifest") as unfinished:
        unfinished.write_text(json.dumps(content, indent=2, default=str) + "\n", encoding="utf-8")
        as_usual(unfinished)
