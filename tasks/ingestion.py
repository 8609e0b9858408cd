"""The first stage: raw rows, wherever they are, become one canonical file with a fingerprint."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.data.remote import Unreachable
from evenhand.data.schema_contract import columns_from, hold
from evenhand.data.snapshot import write_examined
from evenhand.data.sources import Opened, opened
from evenhand.records.pipeline import Snapshot
from evenhand.runtime.fault_injection import around
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.runtime.text import counted
from evenhand.storage.artifact_store import Entry, Store
from evenhand.study.study import Study

ROWS = "rows.parquet"
CODE = ("evenhand.tasks.ingestion:_build", "evenhand.data.sources:_opened")


def _may_pass(task: Any, run: Any, state: Any) -> bool:
    """Whether a failure was of the network, so that trying again makes sense."""
    return isinstance(state.result(raise_on_failure=False), Unreachable)


@step("ingest", retries=2, retry_delay_seconds=[2, 10], retry_condition_fn=_may_pass)
def ingest(study: Study, accepts_contract: bool = False) -> Snapshot:
    """The rows of the study's source as they are, kept under the fingerprint of their content."""
    snapshot = snapshot_of(study)
    if set(study.targets) <= {column.name for column in snapshot.columns}:
        for note in hold(study.name, snapshot.columns, accepts_contract):
            logger().warning(note)
    logger().info(
        "%s and %s %s %s, fingerprint %s",
        counted(snapshot.n_rows, "row"),
        counted(len(snapshot.columns), "column"),
        "found unchanged from" if snapshot.reused else "read from",
        snapshot.origin,
        snapshot.digest[:12],
    )
    return snapshot


def snapshot_of(study: Study) -> Snapshot:
    """The rows of the study's source, held against no contract."""
    with opened(study) as source:
        entry = Store().keep("snapshot", source.inputs, CODE, partial(_build, source))
    return _snapshot(entry, source.origin)


def _build(source: Opened, folder: Path) -> Mapping[str, Any]:
    with around("snapshot.write"):
        n_rows, content, columns = write_examined(folder / ROWS, source.read())
    return {"digest": content, "n_rows": n_rows, "columns": [vars(column) for column in columns]}


def _snapshot(entry: Entry, origin: str) -> Snapshot:
    facts = entry.facts
    return Snapshot(
        digest=facts["digest"],
        stored=entry.reference.inside(ROWS),
        n_rows=facts["n_rows"],
        columns=columns_from(facts["columns"]),
        origin=origin,
        reused=entry.reused,
    )
