"""The repeated random splits of a protocol, in parts that the store keeps: a broken run goes on where it was."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.data.frames import read_rows, read_target
from evenhand.models.acceleration import available
from evenhand.models.catalogue import build_model
from evenhand.models.encoder import new_encoder
from evenhand.models.model_code import model_key
from evenhand.records.pipeline import Output, Plan, Table
from evenhand.records.reference import Reference
from evenhand.replication.draws import (
    ScaledOn,
    equal_draw,
    joined,
    judged_classifiers,
    judged_regressors,
    scaled,
    split_rows,
)
from evenhand.replication.made import sine
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Store
from evenhand.study.study import Study

PREDICTED = "predicted.npz"
FAST = {"svr": "sklearnex.svm.SVR", "svm": "sklearnex.svm.SVC"}


@dataclass(frozen=True)
class Protocol:
    """How rows are drawn: all of them, as many of each class, or made anew; and what the scaler learns from."""

    scaled_on: ScaledOn = "all"
    n_per_class: int | None = None
    makes_rows: bool = False


@dataclass(frozen=True)
class Repeats:
    """The measures of some splits by model, and where the predictions of the first of all splits are."""

    measured: dict[str, dict[str, list[float]]]
    stored: Reference


@step("repeat splits", anywhere=True)
def repeat_splits(
    plans: Sequence[Plan], table: Table, study: Study, protocol: Protocol, seeds: Sequence[int]
) -> Repeats:
    """Every plan of a study fitted and judged on one random split for each seed."""
    inputs = {
        "table": table.digest,
        "plans": [[each, model_key(each)] for each in plans],
        "encodings": study.encodings,
        "protocol": protocol,
        "seeds": list(seeds),
    }
    entry = Store().keep(
        "repeats",
        inputs,
        "evenhand.tasks.replication.draws:_build",
        partial(_build, plans, table, study, protocol, seeds),
    )
    return Repeats(entry.facts["measured"], entry.reference)


def hastened(plans: Sequence[Plan]) -> list[Plan]:
    """The same plans with the quicker support-vector machines of scikit-learn-intelex where it is installed."""
    return [replace(each, model=FAST.get(each.model, each.model)) if available() else each for each in plans]


def _build(
    plans: Sequence[Plan], table: Table, study: Study, protocol: Protocol, seeds: Sequence[int], folder: Path
) -> dict[str, Any]:
    each, (frame, y) = [], _rows(table, protocol)
    for seed in seeds:
        rows, target, split = _made(frame, seed) if protocol.makes_rows else (frame, y, split_rows(len(y), seed))
        encoder = new_encoder(table, study.encodings[plans[0].encoding], study.seed)
        X = scaled(rows, target, encoder, split[0], protocol.scaled_on)
        estimators = _estimators(plans, table, study)
        if table.classes:
            each.append(judged_classifiers(X, target, estimators, split))
            continue
        measured, predicted = judged_regressors(X, target, estimators, split)
        each.append(measured)
        if seed == 0:
            np.savez(folder / PREDICTED, X=X[split[1]], truth=target[split[1]], **dict[str, Any](predicted))
    return {"measured": joined(each)}


def _rows(table: Table, protocol: Protocol) -> tuple[Any, np.ndarray]:
    """The rows of a table and their target, all of them or as many of each class as the protocol says."""
    frame, y = read_rows(table, [feature.name for feature in table.features]), read_target(table)
    drawn = np.arange(len(y)) if protocol.n_per_class is None else equal_draw(y, protocol.n_per_class)
    return frame.iloc[drawn], y[drawn]


def _made(frame: Any, seed: int) -> tuple[Any, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """New rows of the sine in the form of a frame, their target, and the halves that are trained and judged on."""
    made = np.array(sine(seed))
    trained, judged = np.split(np.arange(len(made)), 2)
    return frame.assign(**{frame.columns[0]: made[:, 0]}), made[:, 1], (trained, judged)


def _estimators(plans: Sequence[Plan], table: Table, study: Study) -> dict[str, Any]:
    outputs = tuple(Output(feature.name, feature.name, "numeric") for feature in table.features)
    return {plan.name: build_model(plan, outputs, len(table.classes), study.seed) for plan in plans}
