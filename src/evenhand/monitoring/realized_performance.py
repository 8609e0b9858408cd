"""How a model really did: its scored rows joined by key with the true labels that arrived since."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa

from evenhand.data.casting import as_numbers, as_text
from evenhand.data.snapshot import arrow_column, as_kept, kept_type
from evenhand.errors import DataError, listed
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.runtime.text import counted
from evenhand.study.registry import PROBABILITY_METRICS

KEY, TRUTH = "key", "truth"
SEPARATOR = "\x1f"


@dataclass(frozen=True)
class RealizedPerformance:
    """What is known of the rows that one model scored: how many have a label, and the metrics of those."""

    run_id: str
    version: int
    n_scored: int
    n_labelled: int
    metrics: dict[str, float] = field(default_factory=dict)
    judged: dict[str, float] = field(default_factory=dict)
    mlflow_run: str = ""

    @property
    def name(self) -> str:
        """The model for people."""
        return f"version {self.version}" if self.version else f"run {self.run_id}"


def keys_of(table: pa.Table, names: Sequence[str]) -> pd.Series:
    """One text for the key of each row, the same whichever file format it came from; missing where a part is."""
    parts = [as_text(as_kept(table[name], kept_type(table[name].type))).to_pandas() for name in names]
    joined = parts[0].astype(object)
    for part in parts[1:]:
        joined = joined + SEPARATOR + part.astype(object)
    return joined


def truths_of(table: pa.Table, key: Sequence[str], truth: str) -> tuple[pd.Series, list[str]]:
    """The true label of each key, and notes; keys with two different labels are left out and named."""
    values = as_text(as_kept(table[truth], kept_type(table[truth].type))).to_pandas()
    frame = pd.DataFrame({KEY: keys_of(table, key), TRUTH: values}).dropna()
    n_labels = frame.groupby(KEY)[TRUTH].nunique()
    torn = n_labels.index[n_labels > 1]
    kept = frame[~frame[KEY].isin(torn)]
    n_twice = int(kept.duplicated(KEY).sum())
    notes = [f"{counted(n_twice, 'label')} repeated with the same value"] * bool(n_twice)
    if len(torn):
        shown = listed((key.replace(SEPARATOR, ", ") for key in torn), 3)
        notes.append(f"{counted(len(torn), 'key')} with two different labels, left out: {shown}")
    return kept.drop_duplicates(KEY).set_index(KEY)[TRUTH], notes


@dataclass(frozen=True)
class LabelledRows:
    """What is known of one model's scored rows: how many there are, and those with a label, the last score of each."""

    run_id: str
    version: int
    n_scored: int
    labelled: pd.DataFrame


class ScoredRows:
    """Scored rows taken in piece by piece: those with a label are kept, of the others a number for each key."""

    def __init__(self, truths: pd.Series) -> None:
        self._truths, self._is_scored = truths, np.zeros(len(truths), dtype=bool)
        self._kept: list[pd.DataFrame] = []
        self._numbers: dict[str, list[np.ndarray]] = {}
        self._versions: dict[str, int] = {}
        self._n_nameless = 0

    def add(self, rows: pd.DataFrame) -> None:
        """Take in more rows, with the columns run, version and what was predicted."""
        nameless = rows[KEY].isna()
        self._n_nameless += int(nameless.sum())
        rows = rows[~nameless]
        for run, part in rows.groupby("run", sort=False):
            numbers = pd.util.hash_array(part[KEY].to_numpy(object), categorize=False)
            self._numbers.setdefault(str(run), []).append(numbers)
            self._versions |= {str(run): int(number) for number in part["version"].dropna().tail(1)}
        self._is_scored |= self._truths.index.isin(rows[KEY])
        self._kept.append(rows[rows[KEY].isin(self._truths.index)])

    def labelled_rows(self) -> tuple[list[LabelledRows], list[str]]:
        """What came together of each model, and notes on rows that do not fit."""
        rows = pd.concat(self._kept, ignore_index=True)
        last = rows[~rows.duplicated(["run", KEY], keep="last")]
        last = last.assign(truth=last[KEY].map(self._truths))
        counts = {run: (sum(map(len, each)), len(np.unique(np.concatenate(each)))) for run, each in
                  self._numbers.items()}  # fmt: skip
        found = [
            LabelledRows(run, self._versions.get(run, 0), n_keys, last[last["run"] == run])
            for run, (_, n_keys) in counts.items()
        ]
        return found, list(self._notes(rows, sum(n_rows - n_keys for n_rows, n_keys in counts.values())))

    def _notes(self, rows: pd.DataFrame, n_twice: int) -> Iterator[str]:
        if self._n_nameless:
            yield f"{counted(self._n_nameless, 'scored row')} without a key, left out"
        if n_twice:
            known = rows.loc[rows.duplicated(["run", KEY], keep="last"), KEY].unique()
            shown = f": {listed((key.replace(SEPARATOR, ', ') for key in known), 3)}" if len(known) else ""
            yield f"{counted(n_twice, 'row')} scored more than once, the last score counts{shown}"
        if n_unknown := int((~self._is_scored).sum()):
            yield f"{counted(n_unknown, 'label')} of rows that were not scored"


def figures_of(rows: pd.DataFrame, classes: Sequence[str]) -> dict[str, float]:
    """Every metric that labelled rows of one model give; `classes` are the model's, in its order, as text."""
    if not len(rows):
        return {}
    if not classes:
        truth, predicted = (_as_numbers(rows[name]) for name in (TRUTH, "prediction"))
        return metrics_of(PredictionSet(truth, predicted, None), 0)
    codes = {label: code for code, label in enumerate(classes)}
    truth, predicted = rows[TRUTH].map(codes), rows["decision"].map(codes)
    if truth.isna().any():
        raise DataError(
            f"feedback has labels that the model does not know: {listed(rows.loc[truth.isna(), TRUTH].unique(), 5)}. "
            f"It knows {listed(classes)}: fix the labels, or map them in the query of feedback.source."
        )
    parts = truth.to_numpy(int), predicted.to_numpy(int)
    rarest = int(np.argmin(np.bincount(parts[0], minlength=len(classes))))
    found = metrics_of(PredictionSet(*parts, _columns(rows, "score", classes)), len(classes), rarest)
    chances = _columns(rows, "probability", classes)
    if chances is not None:
        surer = metrics_of(PredictionSet(*parts, chances, True), len(classes), rarest)
        found |= {name: value for name, value in surer.items() if name in PROBABILITY_METRICS}
    return found


def _columns(rows: pd.DataFrame, name: str, classes: Sequence[str]) -> np.ndarray | None:
    """Scores or probabilities: of the positive class of two, else of each class."""
    names = [name] if name in rows else [f"{name}:{label}" for label in classes]
    if any(each not in rows or rows[each].isna().any() for each in names):
        return None
    values = rows[names].to_numpy(float)
    return values[:, 0] if len(names) == 1 else values


def _as_numbers(column: pd.Series) -> np.ndarray:
    numbers, wrong = as_numbers(arrow_column(column))
    if len(wrong):
        examples = listed(wrong.unique().to_pylist(), 3)
        raise DataError(f"feedback has labels that are no numbers, such as {examples}. Fix feedback.source.")
    return numbers.to_numpy(zero_copy_only=False).astype(float)
