"""Data sets that scikit-learn ships with, makes or fetches from OpenML, as rows."""

import inspect
from typing import Any

import numpy as np
import pandas as pd

from evenhand.data.in_memory import frame_rows
from evenhand.data.remote import Unreachable
from evenhand.data.snapshot import Rows
from evenhand.errors import DataError, nearest
from evenhand.storage.artifact_store import home
from evenhand.study.study import BundledSource

LOADED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
MADE = (
    "blobs",
    "circles",
    "classification",
    "friedman1",
    "friedman2",
    "friedman3",
    "gaussian_quantiles",
    "hastie_10_2",
    "moons",
    "multilabel_classification",
    "regression",
    "s_curve",
    "sparse_uncorrelated",
    "swiss_roll",
)
TARGET = "target"


def bundled_rows(source: BundledSource) -> Rows:
    """The rows of a data set or generator, its target in the column `target`, or in `label_1` and so on."""
    frame = _bundled(source)
    if source.majority_per_minority is not None:
        frame = _thinned(frame, source.majority_per_minority, source.seed)
    return frame_rows(frame)


def openml_rows(number: int) -> Rows:
    """The rows of a data set on OpenML, fetched once and kept."""
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=number, as_frame=True, data_home=str(home() / "openml"))
    except (OSError, ValueError) as error:
        kind = Unreachable if isinstance(error, OSError) else DataError
        raise kind(
            f"OpenML data set {number} (source.openml) could not be fetched: {error}. Check the number and the "
            "network, or download the file and name it in source.path."
        ) from None
    return frame_rows(bunch.frame)


def _bundled(source: BundledSource) -> pd.DataFrame:
    from sklearn import datasets

    if source.name in LOADED:
        bunch = _called(getattr(datasets, f"load_{source.name}"), source.params)
        frame = pd.DataFrame(bunch.data, columns=[str(name) for name in bunch.feature_names])
        names = bunch.get("target_names")
        named = names is not None and len(names)
        return frame.assign(**{TARGET: [str(names[code]) for code in bunch.target] if named else bunch.target})
    if source.name in MADE:
        maker = getattr(datasets, f"make_{source.name}")
        seeded = {"random_state": source.seed} if "random_state" in inspect.signature(maker).parameters else {}
        values, target = _called(maker, {**seeded, **source.params})[:2]
        frame = pd.DataFrame(values, columns=[f"x{number}" for number in range(1, values.shape[1] + 1)])
        if target.ndim == 2:
            return frame.assign(**{f"label_{k}": column for k, column in enumerate(target.T, 1)})
        return frame.assign(**{TARGET: target})
    known = sorted((*LOADED, *MADE))
    raise DataError(
        f"source.sklearn names '{source.name}', which scikit-learn does not bring along."
        f"{nearest(source.name, known)} Known: {', '.join(known)}."
    )


def _called(maker: Any, params: dict[str, Any]) -> Any:
    try:
        return maker(**params)
    except (TypeError, ValueError) as error:
        raise DataError(f"source.sklearn.params do not suit scikit-learn's {maker.__name__}: {error}") from None


def _thinned(frame: pd.DataFrame, majority_per_minority: float, seed: int) -> pd.DataFrame:
    """The frame with fewer rows of the rarest class, drawn by the seed, in the same order."""
    if TARGET not in frame:
        raise DataError(
            "source.sklearn.majority_per_minority thins out a class, but these rows have labels: leave it out."
        )
    target = frame[TARGET]
    counts = target.value_counts()
    rare, n_rare = counts.index[-1], int(counts.iloc[-1])
    n_kept = round((len(frame) - n_rare) / majority_per_minority)
    if not 0 < n_kept <= n_rare:
        raise DataError(
            f"source.sklearn.majority_per_minority {majority_per_minority:g} would keep {n_kept} rows of class "
            f"'{rare}', which has {n_rare} beside {len(frame) - n_rare} others: choose one between "
            f"{(len(frame) - n_rare) / n_rare:.3g} and {len(frame) - n_rare}."
        )
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(target == rare))
    return frame.drop(index=frame.index[drawn[n_kept:]]).reset_index(drop=True)
