"""Which rows are held out and how the others are folded: the only place where a holdout is born."""

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)

from evenhand.data import splits
from evenhand.data.frames import TableColumns, read_rows, read_target
from evenhand.errors import DataError
from evenhand.records.pipeline import HOLDOUT, NEVER_JUDGED, TRAINING, WITHHELD, Ledger, Table
from evenhand.reporting.split_words import of_copies, share_words
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.statistics.group_draws import draw_parts, drawn_by_place, shared_places
from evenhand.storage.artifact_store import Store
from evenhand.storage.digests import digest
from evenhand.study.study import Split, Study

CODE = "evenhand.tasks.splitting:_build"


@step("split")
def split(table: Table, study: Study) -> Ledger:
    """The ledger of the table: a side and folds for every row, with a split id."""
    inputs = {
        "table": table.digest,
        "split": study.split,
        "seed": study.seed,
        "columns": {"key": study.columns.key, "time": study.columns.time, "group": study.columns.group},
    }
    entry = Store().keep("ledger", inputs, CODE, lambda folder: _build(folder, table, study))
    facts = entry.facts
    logger().info(
        "%d training rows in %d folds, %d held out by %s, %d withheld; split id %s",
        facts["n_training"],
        len(facts["folds"]),
        facts["n_holdout"],
        study.split.holdout,
        facts["n_withheld"],
        facts["split_id"][:12],
    )
    return Ledger(
        digest=entry.digest,
        stored=entry.reference.inside("ledger.parquet"),
        n_training=facts["n_training"],
        n_holdout=facts["n_holdout"],
        n_withheld=facts["n_withheld"],
        folds=tuple(facts["folds"]),
        is_by_time=facts["is_by_time"],
        notes=tuple(facts["notes"]),
        split_id=facts["split_id"],
    )


@dataclass(frozen=True)
class _Rows:
    """What a split may look at, one value for each row of the table."""

    y: np.ndarray
    strata: np.ndarray
    content: np.ndarray
    links: np.ndarray
    keys: np.ndarray | None
    times: np.ndarray | None
    groups: np.ndarray | None

    @cached_property
    def hashed(self) -> np.ndarray:
        """A number in [0, 1) that rows of one key share, or else copies of a row, and that depends on nothing else."""
        if self.keys is not None:
            return splits.as_share(self.keys)
        return splits.as_share(splits.least_content(self.content, self.links, self.times))

    def kept_together(self, holdout: str) -> tuple[np.ndarray, str]:
        """What rows that stay on one side share, with a word for them; by time each is looked at alone."""
        if holdout == "group" and self.groups is not None:
            return self.groups, "rows of a group"
        if holdout == "hash" and self.keys is not None:
            return self.keys, "rows of a key"
        return (self.links, "copies of a row") if holdout in {"hash", "random"} else (np.arange(len(self.y)), "")


def _build(folder: Path, table: Table, study: Study) -> dict[str, Any]:
    rows = _rows(table, study)
    with _as_data_error(f"split.holdout: {study.split.holdout}"):
        side = _sides(rows, table, study)
    if study.split.holdout != "none":
        side[(side == TRAINING) & np.isin(rows.links, rows.links[side == HOLDOUT])] = WITHHELD
    _check_sides(side, rows, table, study.split)
    judged: dict[str, np.ndarray] = {"side": side.astype(np.int8), "content": rows.content}
    training = np.flatnonzero(side == TRAINING)
    with _as_data_error(f"split.folds: {study.split.folds} by {fold_kind(study, table)}"):
        fold_of = _folds(training, rows, table, study)
    _check_folds(fold_of, training, rows, table, study)
    for repeat, numbers in enumerate(fold_of):
        judged[f"repeat_{repeat}"] = np.full(len(side), NEVER_JUDGED, dtype=np.int16)
        judged[f"repeat_{repeat}"][training] = numbers
    matched = {"link": rows.links} | ({} if rows.keys is None else {"key": rows.keys})
    pq.write_table(pa.table({**judged, **matched}), folder / "ledger.parquet", compression="zstd")
    is_by_time = fold_kind(study, table) == "time"
    return {
        "split_id": split_id_of({**judged, "target": rows.y}, table.classes, is_by_time),
        "n_training": len(training),
        "n_holdout": int((side == HOLDOUT).sum()),
        "n_withheld": int((side == WITHHELD).sum()),
        "folds": splits.fold_names(fold_of),
        "is_by_time": is_by_time,
        "notes": list(_notes(side, rows, study.split)),
    }


def _notes(side: np.ndarray, rows: _Rows, split_: Split) -> Iterator[str]:
    """What a person would not expect of the sides."""
    if n_withheld := int((side == WITHHELD).sum()):
        yield f"{n_withheld} rows with an exact or near copy in the holdout are not trained on"
    by_hash = rows.hashed if split_.holdout == "hash" else None
    if words := share_words(side == HOLDOUT, split_.holdout_share, *rows.kept_together(split_.holdout), by_hash):
        yield words


def split_id_of(columns: Mapping[str, np.ndarray], classes: Sequence[str], is_by_time: bool) -> str:
    """The digest of which row, with its target, lies on which side and in which fold; nothing else goes into it."""
    found = hashlib.blake2b(digest([list(classes), is_by_time, list(columns)]).encode(), digest_size=16)
    for values in columns.values():
        found.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()


def _rows(table: Table, study: Study) -> _Rows:
    hashes = splits.row_hashes(TableColumns(table, [feature.name for feature in table.features]))
    key_columns = [name for name, role in table.roles.items() if role == "key"]
    beside = {name for name in (*key_columns, study.columns.time, study.columns.group) if name is not None}
    frame = read_rows(table, beside) if beside else pd.DataFrame(index=range(table.n_rows))
    y = read_target(table)
    return _Rows(
        y=y,
        strata=splits.strata_of(y, table, study.split.folds) if table.classes else np.zeros(len(y), dtype=int),
        content=hashes.near,
        links=hashes.links,
        keys=splits.content_hashes(frame[key_columns]) if key_columns else None,
        times=_times(frame, study),
        groups=_groups(frame, study),
    )


def _times(frame: pd.DataFrame, study: Study) -> np.ndarray | None:
    if not study.columns.time:
        return None
    return _complete(frame, "time", study.columns.time).to_numpy()


def _groups(frame: pd.DataFrame, study: Study) -> np.ndarray | None:
    if not study.columns.group:
        return None
    return pd.factorize(_complete(frame, "group", study.columns.group))[0]


def _complete(frame: pd.DataFrame, role: str, name: str) -> pd.Series:
    values = frame[name]
    if values.isna().any():
        raise DataError(
            f"columns.{role} '{name}' has {int(values.isna().sum())} rows without a value: "
            f'drop them with cleaning.rows: "{name} is not missing"'
        )
    return values


@contextmanager
def _as_data_error(asked: str) -> Iterator[None]:
    """What a splitter of scikit-learn refuses is a matter of the rows."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            yield
    except ValueError as error:
        raise DataError(
            f"{asked} cannot be done with these rows: {' '.join(str(error).split())} Get more rows or change split."
        ) from error


def _sides(rows: _Rows, table: Table, study: Study) -> np.ndarray:
    how, share = study.split.holdout, study.split.holdout_share
    side = np.full(table.n_rows, TRAINING)
    if how == "time":
        assert rows.times is not None
        last = min(int(np.ceil(table.n_rows * (1 - share))), table.n_rows) - 1
        side[rows.times > np.sort(rows.times)[last]] = HOLDOUT
    elif how == "group":
        assert rows.groups is not None
        side[_drawn_by_group(rows.groups, share, study.seed)] = HOLDOUT
    elif how == "hash":
        side[drawn_by_place(rows.hashed, rows.kept_together(how)[0], rows.strata, share)] = HOLDOUT
    elif how == "random":
        side[_drawn_at_random(rows, table, share, study.seed)] = HOLDOUT
    return side


def _drawn_by_group(groups: np.ndarray, share: float, seed: int) -> np.ndarray:
    """The rows of a holdout of whole groups, which have the share of rows asked for as nearly as groups allow."""
    same, shares = np.zeros(len(groups), dtype=int), np.array([1 - share, share])
    drawn = np.flatnonzero(draw_parts(groups, same, shares, seed) == 1)
    if 0 < len(drawn) < len(groups):
        return drawn
    return next(GroupShuffleSplit(1, test_size=share, random_state=seed).split(same, groups=groups))[1]


def _drawn_at_random(rows: _Rows, table: Table, share: float, seed: int) -> np.ndarray:
    """The rows of a random holdout: linked ones together, and of each class the share asked for."""
    if _is_linked(rows.links):
        return np.flatnonzero(draw_parts(rows.links, rows.strata, np.array([1 - share, share]), seed) == 1)
    order = np.argsort(rows.links)
    is_even = table.classes and np.unique(rows.strata, return_counts=True)[1].min() > 1
    strata = rows.strata[order] if is_even else None
    return order[train_test_split(np.arange(len(order)), test_size=share, random_state=seed, stratify=strata)[1]]


def _is_linked(links: np.ndarray) -> bool:
    return len(np.unique(links)) < len(links)


def _check_sides(side: np.ndarray, rows: _Rows, table: Table, split_: Split) -> None:
    n_training, n_holdout = int((side == TRAINING).sum()), int((side == HOLDOUT).sum())
    if n_training < split_.folds or (split_.holdout != "none" and n_holdout == 0):
        raise DataError(
            f"split.holdout: {split_.holdout} with holdout_share {split_.holdout_share} leaves {n_training} training "
            f"and {n_holdout} holdout rows of {table.n_rows}, too few for {split_.folds} folds{of_copies(rows.links)}: "
            "get more rows or change split"
        )
    if not table.classes:
        return
    members = splits.sides_of(rows.y, table)
    rarest = min(members, key=lambda name: np.sum(members[name][side == TRAINING]))
    n_rarest = int(np.sum(members[rarest][side == TRAINING]))
    if n_rarest < split_.folds:
        leave = "take that label out of target" if table.is_multilabel else "leave that class out with cleaning.rows"
        lower = f"lower split.folds to {n_rarest}, " if n_rarest >= 2 else "lower split.holdout_share, "
        raise DataError(
            f"split.folds is {split_.folds}, but {rarest} has {n_rarest} training rows of "
            f"{int(np.sum(members[rarest]))} in all{of_copies(rows.links)}: {lower}{leave}, or get more rows of it"
        )
    held = {name: int(np.sum(member[side == HOLDOUT])) for name, member in members.items()}
    if n_holdout and (only := next((name for name, n in held.items() if n == n_holdout), "")):
        raise DataError(
            f"split.holdout: {split_.holdout} gives a holdout of {n_holdout} rows that are all of {only}, so "
            "nothing can be judged on it: raise split.holdout_share or hold out another way"
        )


def _folds(training: np.ndarray, rows: _Rows, table: Table, study: Study) -> list[np.ndarray]:
    """For each repeat the fold of every training row."""
    how, n_folds = fold_kind(study, table), study.split.folds
    if how == "time":
        assert rows.times is not None
        return [splits.time_folds(rows.times[training], n_folds)]
    if how == "group":
        assert rows.groups is not None
        kind, labels, groups = (
            StratifiedGroupKFold if table.classes else GroupKFold,
            rows.strata[training],
            rows.groups[training],
        )
        return [_numbered(splitter, training, labels, groups) for splitter in _seeded(kind, study)]
    links, labels = rows.links[training], rows.strata[training]
    if _is_linked(links):
        labels = labels if how == "stratified" else np.zeros(len(labels), dtype=int)
        shares, seeds = np.full(n_folds, 1 / n_folds), [study.seed + repeat for repeat in range(study.split.repeats)]
        return [draw_parts(links, labels, shares, seed) for seed in seeds]
    order = np.argsort(links)
    kind = StratifiedKFold if how == "stratified" else KFold
    return [_numbered(splitter, order, labels[order])[np.argsort(order)] for splitter in _seeded(kind, study)]


def _check_folds(fold_of: list[np.ndarray], training: np.ndarray, rows: _Rows, table: Table, study: Study) -> None:
    """Every fold needs training rows, and rows of every class among them, once copies of judged rows are left out."""
    how, links, y = fold_kind(study, table), rows.links[training], rows.y[training]
    members, places = splits.sides_of(y, table), shared_places(links)
    for numbers, number in [(each, k) for each in fold_of for k in np.unique(each[each >= 0])]:
        is_judged = numbers == number
        is_trained = numbers < number if how == "time" else ~is_judged
        is_trained[places] &= ~np.isin(links[places], links[places][is_judged[places]])
        missing = [name for name, member in members.items() if not member[is_trained].any()]
        if is_trained.any() and not missing:
            continue
        lacks = f"row of {missing[0]}" if missing else "row"
        raise DataError(
            f"split.folds: {study.split.folds} by {how} leaves no {lacks} to train fold {int(number)} on, out of "
            f"{len(training)} training rows: lower split.folds, or choose another split.folds_by"
        )


def _seeded(kind: Any, study: Study) -> list[Any]:
    return [
        kind(study.split.folds, shuffle=True, random_state=study.seed + repeat) for repeat in range(study.split.repeats)
    ]


def fold_kind(study: Study, table: Table) -> str:
    """What `split.folds_by` says, or what suits the holdout and the target."""
    if study.split.folds_by:
        return study.split.folds_by
    if study.split.holdout in {"time", "group"}:
        return study.split.holdout
    return "stratified" if table.classes else "plain"


def _numbered(splitter: Any, rows: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    numbers = np.full(len(rows), NEVER_JUDGED)
    for number, (_, judged) in enumerate(splitter.split(rows.reshape(-1, 1), labels, groups)):
        numbers[judged] = number
    return numbers
