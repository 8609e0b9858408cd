"""Rows of runs, written at once: MLflow makes an object of each, looks each up before and reads it back after.

What is no database, and what MLflow would refuse or sort out, is left to MLflow: then nothing was written.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from mlflow.entities import Metric, Param

Row = dict[str, Any]
Result = TypeVar("Result")


def _of_databases(write: Callable[..., Result | None]) -> Callable[..., Result | None]:
    """A writer that writes nothing, and returns None, where the store is no database or has what would be written."""

    @wraps(write)
    def written(store: Any, *given: Any) -> Result | None:
        from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
        from sqlalchemy.exc import IntegrityError

        if not isinstance(store, SqlAlchemyStore):
            return None
        with store.ManagedSessionMaker(read_only=False) as session:
            try:
                return write(store, session, *given)
            except IntegrityError:
                session.rollback()
                return None

    return written


@_of_databases
def write_run(store: Any, session: Any, experiment_id: str, name: str, tags: Mapping[str, str]) -> str | None:
    """The id of a run that begins now, written as MLflow's `create_run` writes it."""
    from mlflow.store.tracking.dbmodels.models import SqlExperiment, SqlRun, SqlTag
    from mlflow.utils.uri import append_to_uri_path
    from sqlalchemy import select

    is_there = (SqlExperiment.experiment_id == int(experiment_id), SqlExperiment.lifecycle_stage == "active")
    if (artifacts := session.execute(select(SqlExperiment.artifact_location).where(*is_there)).scalar()) is None:
        return None
    run_id = uuid.uuid4().hex
    nothing = dict.fromkeys(("source_name", "entry_point_name", "source_version"), "")
    run = {
        "run_uuid": run_id, "name": name, "experiment_id": int(experiment_id), "status": "RUNNING",
        "start_time": _now(), "artifact_uri": append_to_uri_path(artifacts, run_id, "artifacts"),
        "source_type": "UNKNOWN", "user_id": "unknown", "lifecycle_stage": "active", **nothing,
    }  # fmt: skip
    every = {**tags, "mlflow.runName": name}
    _insert(session, SqlRun, [run])
    _insert(session, SqlTag, [{"run_uuid": run_id, "key": key, "value": value} for key, value in every.items()])
    return run_id


@_of_databases
def write_end(store: Any, session: Any, run_id: str, status: str) -> bool | None:
    """Whether a run was closed, as MLflow's `set_terminated` closes it."""
    from mlflow.store.tracking.dbmodels.models import SqlRun
    from sqlalchemy import update

    table = SqlRun.__table__
    is_there = (table.c.run_uuid == run_id, table.c.lifecycle_stage == "active")
    return bool(session.execute(update(table).where(*is_there).values(status=status, end_time=_now())).rowcount)


@_of_databases
def write_inputs(store: Any, session: Any, like: str, run_ids: Sequence[str]) -> bool | None:
    """Whether the data that a run read was noted of others too, as MLflow's `log_inputs` notes it."""
    from mlflow.store.tracking.dbmodels.models import SqlInput, SqlInputTag
    from sqlalchemy import select

    inputs, tags = SqlInput.__table__, SqlInputTag.__table__
    is_input = (inputs.c.source_type == "DATASET", inputs.c.destination_type == "RUN", inputs.c.destination_id == like)
    for found in session.execute(select(inputs).where(*is_input)).mappings().all():
        notes = session.execute(select(tags).where(tags.c.input_uuid == found["input_uuid"])).mappings().all()
        ids = {run_id: uuid.uuid4().hex for run_id in run_ids}
        _insert(session, SqlInput, [{**found, "input_uuid": ids[each], "destination_id": each} for each in run_ids])
        _insert(session, SqlInputTag, [{**note, "input_uuid": ids[each]} for each in run_ids for note in notes])
    return True


@_of_databases
def write_rows(
    store: Any, session: Any, run_id: str, metrics: Sequence[Metric], params: Sequence[Param]
) -> bool | None:
    """Whether metrics and parameters of a run that has none were written, as MLflow's `log_batch` writes them."""
    from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlMetric, SqlParam, SqlRun
    from mlflow.utils.validation import _validate_batch_log_data
    from sqlalchemy import select

    is_there = (SqlRun.run_uuid == run_id, SqlRun.lifecycle_stage == "active")
    if any(each.model_id for each in metrics) or not session.execute(select(SqlRun.run_uuid).where(*is_there)).all():
        return None
    metrics, params, _ = _validate_batch_log_data(list(metrics), list(params), [])
    points = list(_points(store, metrics))
    _insert(session, SqlParam, [{"run_uuid": run_id, "key": each.key, "value": each.value} for each in params])
    _insert(session, SqlMetric, [{"run_uuid": run_id, **each} for each in points])
    _insert(session, SqlLatestMetric, [{"run_uuid": run_id, **each} for each in _latest(points)])
    return True


def _insert(session: Any, table: Any, rows: Sequence[Row]) -> None:
    from sqlalchemy import insert

    if rows:
        session.execute(insert(table.__table__), rows)


def _points(store: Any, metrics: Iterable[Metric]) -> Iterator[Row]:
    """A row for each metric, the same one once."""
    for each in dict.fromkeys(metrics):
        is_nan, value = store.sanitize_metric_value(each.value)
        yield {"key": each.key, "value": value, "timestamp": each.timestamp, "step": each.step, "is_nan": is_nan}


def _latest(points: Iterable[Row]) -> list[Row]:
    """For each metric the row that is shown: of the last step, and of those the last written, and the highest."""
    found: dict[str, Row] = {}
    for each in points:
        if (known := found.get(each["key"])) is None or _moment(each) > _moment(known):
            found[each["key"]] = each
    return list(found.values())


def _moment(row: Row) -> tuple[int, int, float]:
    return row["step"], row["timestamp"], row["value"]


def _now() -> int:
    return int(time.time() * 1000)
