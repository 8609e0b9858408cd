"""What is done about rare classes: on training rows only."""

from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import DataError, listed
from evenhand.matrices import read_matrix, write_matrix
from evenhand.samplers import Resampler
from evenhand.settings import Study
from evenhand.steps import step
from evenhand.store import Store
from evenhand.tables import Balanced, Table, Training


@step("balance")
def balance(training: Training, table: Table, study: Study, name: str) -> Balanced:
    """Training rows after the balance of that name; anything but training rows is a type error."""
    if not isinstance(training, Training):
        raise TypeError(f"only training rows may be balanced, not {type(training).__name__}")
    kind = study.balance_kind(name)
    if kind in {"none", "class_weight"}:
        return Balanced(balance=name, training=training, is_weighted=kind == "class_weight")
    inputs = {"training": training.digest, "kind": kind, "balance": study.balance[name], "seed": study.seed}
    resampler = Resampler(name, study.balance[name], training.outputs, study.seed)
    entry = Store().keep("balanced", inputs, __name__, lambda folder: _build(folder, training, table, resampler))
    made = Training(entry.digest, entry.path / "training", entry.facts["n_rows"], training.outputs)
    return Balanced(balance=name, training=made, reused=entry.reused)


def _build(folder: Path, training: Training, table: Table, resampler: Resampler) -> dict[str, Any]:
    X, y = read_matrix(training.path)
    made, labels = resampler.resample(X if not isinstance(X, np.memmap) else np.asarray(X), y, table.classes)
    if lost := [table.classes[k] for k in np.setdiff1d(y, labels)]:
        raise DataError(
            f"{resampler.kind} leaves no training row of class {listed(lost)}: use another balance in its place"
        )
    write_matrix(folder / "training", made, labels.astype(y.dtype))
    return {"n_rows": len(labels), "kind": resampler.kind}
