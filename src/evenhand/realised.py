"""How a model really did: its scored rows joined by key with the true labels that arrived since."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa

from evenhand.canonical import arrow_column, as_kept, kept_type
from evenhand.coercion import as_numbers, as_text
from evenhand.errors import DataError, listed
from evenhand.metrics import Told, metrics_of
from evenhand.wording import counted

KEY, TRUTH = "key", "truth"
LOSSES = ("log_loss", "brier_score_loss")
SEPARATOR = "\x1f"


@dataclass(frozen=True)
class Realised:
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


def joined(scored: pd.DataFrame, truths: pd.Series) -> tuple[pd.DataFrame, list[str]]:
    """The scored rows with their labels, the last score of a key where the same model gave several, and notes."""
    nameless = scored[KEY].isna()
    notes = [f"{counted(int(nameless.sum()), 'scored row')} without a key, left out"] * bool(nameless.any())
    scored = scored[~nameless]
    twice = scored.duplicated(["run", KEY], keep="last")
    if twice.any():
        shown = listed((key.replace(SEPARATOR, ", ") for key in scored.loc[twice, KEY].unique()), 3)
        notes.append(f"{counted(int(twice.sum()), 'row')} scored more than once, the last score counts: {shown}")
    rows = scored[~twice]
    n_unknown = int((~truths.index.isin(rows[KEY])).sum())
    notes += [f"{counted(n_unknown, 'label')} of rows that were not scored"] * bool(n_unknown)
    return rows.assign(truth=rows[KEY].map(truths)), notes


def figures_of(rows: pd.DataFrame, classes: Sequence[str]) -> dict[str, float]:
    """Every metric that labelled rows of one model give; `classes` are the model's, in its order, as text."""
    if not len(rows):
        return {}
    if not classes:
        truth, said = (_as_numbers(rows[name]) for name in (TRUTH, "prediction"))
        return metrics_of(Told(truth, said, None), 0)
    codes = {label: code for code, label in enumerate(classes)}
    truth, said = rows[TRUTH].map(codes), rows["decision"].map(codes)
    if truth.isna().any():
        raise DataError(
            f"feedback has labels that the model does not know: {listed(rows.loc[truth.isna(), TRUTH].unique(), 5)}. "
            f"It knows {listed(classes)}: mend the labels, or map them in the query of feedback.source."
        )
    parts = truth.to_numpy(int), said.to_numpy(int)
    rarest = int(np.argmin(np.bincount(parts[0], minlength=len(classes))))
    found = metrics_of(Told(*parts, _columns(rows, "score", classes)), len(classes), rarest)
    chances = _columns(rows, "probability", classes)
    if chances is not None:
        surer = metrics_of(Told(*parts, chances, True), len(classes), rarest)
        found |= {name: value for name, value in surer.items() if name in LOSSES}
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
        raise DataError(f"feedback has labels that are no numbers, such as {examples}. Mend feedback.source.")
    return numbers.to_numpy(zero_copy_only=False).astype(float)
