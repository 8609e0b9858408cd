"""The second stage: rows as the study wants them, with the role of each column; nothing is learned."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenhand.data.as_of import Bound, bound, is_seen
from evenhand.data.casting import as_configured, as_dates, as_numbers, as_text
from evenhand.data.column_roles import given_roles, grouped_notes, inferred_role, judged_by, summary
from evenhand.data.frames import DATES, ORDER, ROWS, SLICES, TARGET, as_array, columns_of, in_one_piece
from evenhand.data.row_filter import compile_rule
from evenhand.data.snapshot import Fingerprint, canonical_writer, fingerprint, rows_at_once
from evenhand.data.splits import canonical_order, table_hashes
from evenhand.data.targets import target_of
from evenhand.data.type_inference import TIME, ZONED_TIME, read_as
from evenhand.errors import DataError, listed, nearest
from evenhand.records.pipeline import Feature, Snapshot, Table
from evenhand.runtime.engines.ahead import ahead, each_beside
from evenhand.runtime.logs import logger
from evenhand.runtime.progress import remark
from evenhand.runtime.steps import step
from evenhand.runtime.text import counted
from evenhand.storage.artifact_store import Entry, Store, local
from evenhand.storage.digests import digest
from evenhand.study.study import Cleaning, Study

KEPT = ("numeric", "categorical", "text", "key", "time", "group")
FEATURES = ("numeric", "categorical", "text")
MOST_NAMED = 5
CODE = "evenhand.tasks.cleaning:_build"
PLACE = "\0place"  # of each row in the source; no column of a file or frame is called so


@step("clean")
def clean(snapshot: Snapshot, study: Study, as_of: datetime | None = None) -> Table:
    """The rows a study learns from, their target and the role of each column, by row rules only.

    With `as_of`, rows that are later by columns.time are not seen; where that is unknown, `unbounded` says why.
    """
    found = _bound(snapshot, study, as_of)
    until = found.until
    inputs = {
        "snapshot": snapshot.digest,
        "cleaning": study.cleaning.row_rules,
        "columns": study.columns,
        "target": [study.target, study.positive, study.kind_of_task],
        **({} if until is None else {"until": str(until)}),
    }
    entry = Store().keep("table", inputs, CODE, partial(_build, snapshot, study, until))
    table = replace(_table(entry, snapshot, study), unbounded=found.why_none)
    if found.why_none:
        table = replace(table, notes=(*table.notes, found.why_none))
    for line in _notes_of(table):
        logger().info(line)
        remark("clean", line)
    return table


def _notes_of(table: Table) -> list[str]:
    """What was done to rows and what columns were taken for, in lines."""
    taken = [f"{counted(n_taken, 'row')} taken out by {rule}" for rule, n_taken in table.taken.items()]
    return [*taken, *table.notes, f"{counted(table.n_rows, 'row')} left; columns: {summary(table.roles)}"]


def _table(entry: Entry, snapshot: Snapshot, study: Study) -> Table:
    facts = entry.facts
    return Table(
        digest=facts["digest"],
        stored=entry.reference,
        n_rows=facts["n_rows"],
        features=tuple(Feature(**feature) for feature in facts["features"]),
        target=study.target_name,
        is_multilabel=study.is_multilabel,
        classes=tuple(facts["classes"]),
        roles=facts["roles"],
        taken=facts["taken"],
        notes=tuple(facts["notes"]),
        contract=snapshot.columns,
    )


def _bound(snapshot: Snapshot, study: Study, as_of: datetime | None) -> Bound:
    """Up to which time rows are seen; a columns.time that is not there is reported with the other columns."""
    name = study.columns.time
    if as_of is None or name is None or name not in {column.name for column in snapshot.columns}:
        return Bound()
    return bound(as_array(pq.read_table(local(snapshot.stored), columns=[name]), name), study, as_of)


def _build(snapshot: Snapshot, study: Study, until: pa.Scalar | None, folder: Path) -> Mapping[str, Any]:
    file = local(snapshot.stored)
    given = given_roles(study.columns, study.targets, pq.read_schema(file).names)
    notes: list[str] = []
    rows, taken = _by_rules(_read(file, study, given, until, notes), study, notes)
    places, rows = as_array(rows, PLACE).to_numpy(), rows.drop_columns([PLACE])
    roles = _roles(rows, given, notes)
    wanted = {*judged_by(study.columns, rows.column_names), *study.targets}
    beside = rows.select([name for name in rows.column_names if name in wanted or roles[name] == "ignored"])
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    del rows  # so that no column is held twice
    kept = _kept(columns, roles)
    classes, target, target_notes = target_of(beside, study)
    features = [Feature(name, role) for name, role in roles.items() if role in FEATURES]  # type: ignore[arg-type]
    _check_some(features, roles)
    order = canonical_order(kept.append_column(TARGET, pa.array(target)), study.columns.time)
    content = [
        _write_in_order(kept, order, folder / ROWS),
        fingerprint(pa.table({study.target_name: target[order]})),
        classes,
        [asdict(f) for f in features],
    ]
    judged = [name for name in judged_by(study.columns, list(roles)) if name not in kept.column_names]
    pq.write_table(beside.select([name for name in judged if name != study.target]).take(order), folder / SLICES)
    pq.write_table(_dates(beside, roles).take(order), folder / DATES)
    np.save(folder / TARGET, target[order])
    np.save(folder / ORDER, places[order])
    return {
        "digest": digest(content),
        "n_rows": len(order),
        "features": [asdict(feature) for feature in features],
        "classes": list(classes),
        "roles": roles,
        "taken": taken,
        "notes": [*notes, *target_notes],
    }


def _write_in_order(kept: pa.Table, order: np.ndarray, file: Path) -> str:
    """Write rows in this order, piece by piece, so that they are not held twice; their fingerprint."""
    content, size = Fingerprint(kept.schema), rows_at_once(kept.num_columns)
    pieces = (content.add(kept.take(order[start : start + size])) for start in range(0, len(order), size))
    with canonical_writer(file, kept.schema) as writer:
        for piece in ahead(pieces):
            writer.write_table(piece)
    return content.digest()


def _read(file: Path, study: Study, given: Mapping[str, str], until: pa.Scalar | None, notes: list[str]) -> pa.Table:
    """The rows that are seen, their columns as configured, with the place of each row in the source."""
    read = _read_as_configured(file, study.cleaning, given, notes)
    read = read.append_column(PLACE, pa.array(np.arange(read.num_rows)))
    return _bounded(read, str(study.columns.time), until, notes)


def _read_as_configured(file: Path, cleaning: Cleaning, given: Mapping[str, str], notes: list[str]) -> pa.Table:
    """The columns after `missing_values` and `types`; text that orders rows in time is read as dates."""
    names = pq.read_schema(file).names
    for name in cleaning.types:
        if name not in names:
            raise DataError(f"cleaning.types names '{name}', which is no column.{nearest(name, names)}")
    columns = {}
    for name, array in columns_of(file):
        columns[name], lost = as_configured(name, array, cleaning, given.get(name) == "time")
        notes += [lost] * bool(lost)
    return pa.table(columns)


def _bounded(rows: pa.Table, time: str, until: pa.Scalar | None, notes: list[str]) -> pa.Table:
    """The rows that are no later than the last that is seen."""
    if until is None:
        return rows
    left = rows.filter(is_seen(as_array(rows, time), until))
    notes.append(f"{counted(rows.num_rows - left.num_rows, 'row')} later than {until} not seen")
    return _some_left(left, f"those later than {until} in '{time}' were left out")


def _by_rules(rows: pa.Table, study: Study, notes: list[str]) -> tuple[pa.Table, dict[str, int]]:
    """The rows that every rule keeps, and how many each took out."""
    taken = {}
    for text in study.cleaning.rows:
        mask = compile_rule(text, rows.drop_columns([PLACE]).schema).mask(rows)
        left = rows.filter(mask)
        taken[text] = rows.num_rows - left.num_rows
        if mask.null_count:
            notes.append(
                f"rule '{text}' took out {counted(mask.null_count, 'row')} because a value it needs is missing"
            )
        rows = _some_left(left, f"cleaning.rows '{text}'")
    n_rows = rows.num_rows
    for name in study.targets:
        if rows.column(name).null_count:
            rows = _some_left(rows.filter(_with_target(name, rows.column(name), study)), "drop_missing_target")
    if n_rows > rows.num_rows:
        taken["drop_missing_target"] = n_rows - rows.num_rows
    if study.cleaning.drop_missing:
        rows = _with_values(rows, study, taken, notes)
    if study.cleaning.drop_duplicates:
        left = rows.filter(pa.array(~_repeats(rows.drop_columns([PLACE]))))
        taken["drop_duplicates"] = rows.num_rows - left.num_rows
        rows = left
    return rows, taken


def _with_values(rows: pa.Table, study: Study, taken: dict[str, int], notes: list[str]) -> pa.Table:
    """The rows that have a value in each column of drop_missing; `any` is every column that models read."""
    names = study.cleaning.drop_missing
    if is_any := names == ("any",) and "any" not in rows.column_names:
        roles = _roles(rows, given_roles(study.columns, study.targets, rows.column_names), [])
        names = tuple(name for name, role in roles.items() if role in FEATURES)
    if strange := [name for name in names if name not in rows.column_names]:
        raise DataError(
            f"cleaning.drop_missing names '{strange[0]}', which is no column.{nearest(strange[0], rows.column_names)} "
            "Name a column, or any."
        )
    lacks = {name: pc.is_null(rows.column(name), nan_is_null=True) for name in names}
    kept = np.ones(rows.num_rows, dtype=bool)
    for mask in lacks.values():
        kept &= ~mask.to_numpy()
    rule = f"drop_missing: {'any' if is_any else ', '.join(names)}"
    taken[rule] = int(np.sum(~kept))
    found = {name: n for name, mask in lacks.items() if (n := pc.sum(mask).as_py())}
    if found:
        most = sorted(found, key=lambda name: -found[name])[:MOST_NAMED]
        words = ", ".join(f"'{name}' {found[name]:,}" for name in most)
        notes.append(
            f"{rule} took out {counted(taken[rule], 'row')} before any is held out; missing in {words}"
            f"{' and others' if len(found) > len(most) else ''}"
        )
    return _some_left(rows.filter(pa.array(kept)), rule)


def _with_target(name: str, target: pa.ChunkedArray, study: Study) -> pa.ChunkedArray:
    if not study.cleaning.drop_missing_target:
        raise DataError(
            f"target '{name}' is missing in {target.null_count:,} of {len(target):,} rows. Fix the source, or "
            "say cleaning.drop_missing_target: true."
        )
    return target.is_valid()


def _some_left(rows: pa.Table, rule: str) -> pa.Table:
    if not rows.num_rows:
        raise DataError(f"no rows are left after {rule}: loosen it, or check the source.")
    return rows


def _repeats(rows: pa.Table) -> np.ndarray:
    """Which rows are exact copies of an earlier one."""
    repeats = pd.Series(table_hashes(rows)).duplicated(keep=False).to_numpy(copy=True)
    if repeats.any():
        suspects = np.flatnonzero(repeats)
        repeats[suspects] = rows.take(suspects).to_pandas().duplicated().to_numpy()
    return repeats


def _roles(rows: pa.Table, given: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """The role of every column in their order."""
    roles, found = {}, []
    names = rows.column_names
    for name, (role, note) in zip(
        names, each_beside(lambda each: _role(each, as_array(rows, each), given.get(each)), names), strict=True
    ):
        roles[name] = role
        found += [(name, note)] * bool(note)
    notes += grouped_notes(found)
    return roles


def _role(name: str, array: pa.Array, given: str | None) -> tuple[str, str]:
    if given is None:
        role, note = inferred_role(name, array)
        return role, f"{role}: {note}" if note else ""
    if given in FEATURES and array.null_count == len(array):
        return "dropped", "dropped: has no values"
    if given == "numeric" and (pa.types.is_string(array.type) or pa.types.is_timestamp(array.type)):
        is_text = pa.types.is_string(array.type)
        remedy = f"Say cleaning.types: {{{name}: numeric}} to read it as numbers, or give" if is_text else "Give"
        raise DataError(
            f"columns.numeric names '{name}', which holds {'text' if is_text else 'dates'} such as "
            f"'{pc.drop_null(array)[0]}'. {remedy} it another role in columns."
        )
    return given, ""


def _kept(columns: dict[str, pa.ChunkedArray], roles: Mapping[str, str]) -> pa.Table:
    """The columns that are kept, in the form of their role; they are taken out of what is given."""
    kept = {name: _as_role(in_one_piece(columns.pop(name)), role) for name, role in roles.items() if role in KEPT}
    numeric = {name: array for name, array in kept.items() if roles[name] == "numeric"}
    if infinite := list(_infinite(numeric)):
        raise DataError(
            f"infinite values in {counted(len(infinite), 'numeric column')}: {'; '.join(infinite[:8])}. Name them in "
            "cleaning.missing_values ([inf, -inf]), or leave those rows out with cleaning.rows."
        )
    return pa.table(kept)


def _as_role(array: pa.Array, role: str) -> pa.Array:
    if role == "numeric" or (role == "time" and not pa.types.is_timestamp(array.type)):
        return as_numbers(array)[0]
    return array if role == "time" else as_text(array)


def _dates(rows: pa.Table, roles: Mapping[str, str]) -> pa.Table:
    """The columns of dates that are ignored, for leakage checks to look at."""
    found = {}
    for name in (name for name, role in roles.items() if role == "ignored"):
        array = as_array(rows, name)
        is_date = pa.types.is_timestamp(array.type) or (
            pa.types.is_string(array.type) and any(read_as(array, kind) is not None for kind in (TIME, ZONED_TIME))
        )
        if is_date and array.null_count < len(array):
            found[name] = as_dates(name, array)[0].cast(TIME)
    return pa.table(found) if found else rows.select([])


def _infinite(columns: Mapping[str, pa.Array]) -> Iterator[str]:
    for name, array in columns.items():
        if n_infinite := pc.sum(pc.is_inf(array)).as_py():
            yield f"'{name}' has {n_infinite:,}"


def _check_some(features: list[Feature], roles: Mapping[str, str]) -> None:
    if not features:
        left_out = [f"{name} ({role})" for name, role in roles.items() if role != "target"]
        why = f"Left out: {listed(left_out)}. Name some in columns." if left_out else "There is none but the target."
        raise DataError(f"no column is left to learn from. {why}")
