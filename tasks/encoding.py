"""Each encoding on each fold, once for all candidates that use it."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.data.frames import read_rows, read_target
from evenhand.data.splits import fold_rows
from evenhand.errors import DataError
from evenhand.models.encoder import new_encoder, without_outliers
from evenhand.models.encoder_steps import step_key
from evenhand.records.pipeline import Held, Ledger, Output, Prepared, Removed, Table, Training
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Entry, Store
from evenhand.storage.matrices import write_matrix
from evenhand.study.study import Study

CODE = "evenhand.tasks.encoding:_build"


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
    entry = Store().keep(
        "prepared", inputs, CODE, lambda folder: _build(folder, table, ledger, study, (encoding, fold))
    )
    removed = entry.facts["removed"]
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
    frame, y = read_rows(table, [feature.name for feature in table.features]), read_target(table)
    encoder, removed = new_encoder(table, study.encodings[encoding], study.seed), None
    if study.cleaning.outliers != "none":
        is_kept = without_outliers(frame.iloc[trained], y[trained], table, study)
        has_classes = table.classes and not table.is_multilabel
        by_class = np.bincount(y[trained[~is_kept]].astype(int), minlength=len(table.classes)) if has_classes else ()
        removed = {"n_rows": len(trained), "by_class": [*map(int, by_class)] or [int(np.sum(~is_kept))]}
        trained = trained[is_kept]
    started = time.perf_counter()
    try:
        X = encoder.fit_transform(frame.iloc[trained], y[trained])
        held = encoder.transform(frame.iloc[judged])
    except ValueError as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise DataError(
            f"{fold} cannot be encoded as encodings say: {why}. Change the encoding, or take "
            "the column that it cannot read into columns.ignore."
        ) from error
    seconds = time.perf_counter() - started
    write_matrix(folder / "training", X, y[trained], trained)
    write_matrix(folder / "held", held, y[judged], judged)
    n_rows = {"n_training": len(trained), "n_held": len(judged)}
    return {"outputs": encoder.outputs_, **n_rows, "removed": removed, "seconds": seconds}


def _matrix(entry: Entry, part: str, kind: type) -> Any:
    return kind(
        digest=entry.part(part, "outputs"),
        stored=entry.reference.inside(part),
        n_rows=entry.facts[f"n_{part}"],
        outputs=tuple(Output(**output) for output in entry.facts["outputs"]),
    )
