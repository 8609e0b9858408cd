"""Each encoding on each fold, once for all candidates that use it."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.data.frames import read_target
from evenhand.data.splits import fold_rows
from evenhand.errors import DataError
from evenhand.models.encoder import new_encoder, without_outliers
from evenhand.models.encoder_steps import step_key
from evenhand.models.packing.kept import KeptMatrices, is_in_parts, numbers_of, rows_to_encode
from evenhand.records.pipeline import FINAL, Held, Ledger, Output, Prepared, Removed, Table, Training
from evenhand.runtime.logs import logger
from evenhand.runtime.memory import room_for
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Entry, Store
from evenhand.storage.matrices import SOURCE, write_matrix
from evenhand.study.study import Study

CODE = ("evenhand.tasks.encoding:_build", "evenhand.models.packing.kept:KeptMatrices")
CELLS_COPIED, CELLS_IN_PARTS = 4, 2  # of the table while it is encoded, whole or one column at a time


@step("prepare", anywhere=True)
def prepare(table: Table, ledger: Ledger, study: Study, encoding: str, fold: str) -> Prepared:
    """The matrices of one encoding on one fold, learned on that fold's training rows alone."""
    inputs = {
        "table": table.digest,
        "ledger": ledger.digest,
        "encoding": study.encodings[encoding],
        "steps": step_key(study.encodings[encoding]),
        "fold": fold,
        "features": table.features,
        "seed": study.seed,
        **study.cleaning.of_folds,
    }

    def build(folder: Path) -> dict[str, Any]:
        copies = CELLS_IN_PARTS if is_in_parts(table, study.encodings[encoding]) else CELLS_COPIED
        with room_for(copies * 8 * table.n_rows * len(table.features)):
            return _build(folder, table, ledger, study, (encoding, fold))

    entry = Store().keep("prepared", inputs, CODE, build)
    if (entry.path / SOURCE).exists():
        numbers_of(table)  # made again if they were pruned
    removed = entry.facts["removed"]
    if fold == FINAL:
        n_rows, n_columns = entry.facts["n_training"], len(entry.facts["outputs"])
        words = "encoding '%s' makes %s columns of %s training rows, %.2f GB as a dense matrix"
        logger().info(words, encoding, f"{n_columns:,}", f"{n_rows:,}", 8 * n_rows * n_columns / 1e9)
    return Prepared(
        encoding=encoding,
        fold=fold,
        training=_matrix(entry, "training", Training),
        held=_matrix(entry, "held", Held),
        seconds=entry.facts["seconds"],
        reused=entry.reused,
        removed=None if removed is None else Removed(fold, removed["n_rows"], tuple(removed["by_class"])),
    )


def _build(folder: Path, table: Table, ledger: Ledger, study: Study, place: tuple[str, str]) -> dict[str, Any]:
    encoding, fold = place
    trained, judged = fold_rows(ledger, fold)
    rows_of, y = rows_to_encode(table, study.encodings[encoding]), read_target(table)
    encoder, removed = new_encoder(table, study.encodings[encoding], study.seed), None
    if study.cleaning.outliers != "none":
        is_kept = without_outliers(rows_of(trained), y[trained], table, study)
        has_classes = table.classes and not table.is_multilabel
        by_class = np.bincount(y[trained[~is_kept]].astype(int), minlength=len(table.classes)) if has_classes else ()
        removed = {"n_rows": len(trained), "by_class": [*map(int, by_class)] or [int(np.sum(~is_kept))]}
        trained = trained[is_kept]
    started = time.perf_counter()
    try:
        X = encoder.fit_parts(rows_of(trained), y[trained])
        held = encoder.parts(rows_of(judged)) if len(judged) else None
    except ValueError as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise DataError(
            f"{fold} cannot be encoded as encodings say: {why}. Change the encoding, or take "
            "the column that it cannot read into columns.ignore."
        ) from error
    seconds = time.perf_counter() - started
    kept = KeptMatrices(folder, table, encoder, len(trained) + len(judged))
    write_matrix(folder / "training", kept.matrix(X, trained), y[trained], trained)
    asked = encoder.transform(rows_of(judged)) if held is None else kept.matrix(held, judged)
    write_matrix(folder / "held", asked, y[judged], judged)
    n_rows = {"n_training": len(trained), "n_held": len(judged)}
    return {"outputs": encoder.outputs_, **n_rows, "removed": removed, "seconds": seconds}


def _matrix(entry: Entry, part: str, kind: type) -> Any:
    return kind(
        digest=entry.part(part, "outputs"),
        stored=entry.reference.inside(part),
        n_rows=entry.facts[f"n_{part}"],
        outputs=tuple(Output(**output) for output in entry.facts["outputs"]),
    )
