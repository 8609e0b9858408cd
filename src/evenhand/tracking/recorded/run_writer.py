"""The rows of a run that has none yet, written at once: MLflow makes an object of each and looks each up before."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mlflow.entities import Metric, Param

Row = dict[str, Any]


def write_rows(store: Any, run_id: str, metrics: Sequence[Metric], params: Sequence[Param]) -> bool:
    """Whether metrics and parameters were written, in one transaction and as MLflow's `log_batch` writes them.

    Nothing was where the store is no database, or where the run has some of them: then that is MLflow's to sort out.
    """
    from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlMetric, SqlParam
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from mlflow.utils.validation import _validate_batch_log_data
    from sqlalchemy import insert
    from sqlalchemy.exc import IntegrityError

    if not isinstance(store, SqlAlchemyStore) or any(each.model_id for each in metrics):
        return False
    metrics, params, _ = _validate_batch_log_data(list(metrics), list(params), [])
    points = list(_points(store, run_id, metrics))
    rows = {
        SqlParam: [{"run_uuid": run_id, "key": each.key, "value": each.value} for each in params],
        SqlMetric: points,
        SqlLatestMetric: _latest(points),
    }
    with store.ManagedSessionMaker(read_only=False) as session:
        store._check_run_is_active(store._get_run(run_uuid=run_id, session=session))
        try:
            for table, found in rows.items():
                if found:
                    session.execute(insert(table), found)
        except IntegrityError:
            session.rollback()
            return False
    return True


def _points(store: Any, run_id: str, metrics: Iterable[Metric]) -> Iterator[Row]:
    """A row for each metric, the same one once."""
    for each in dict.fromkeys(metrics):
        is_nan, value = store.sanitize_metric_value(each.value)
        yield {
            "run_uuid": run_id,
            "key": each.key,
            "value": value,
            "timestamp": each.timestamp,
            "step": each.step,
            "is_nan": is_nan,
        }


def _latest(points: Iterable[Row]) -> list[Row]:
    """For each metric the row that is shown: of the last step, and of those the last written, and the highest."""
    found: dict[str, Row] = {}
    for each in points:
        if (known := found.get(each["key"])) is None or _moment(each) > _moment(known):
            found[each["key"]] = each
    return list(found.values())


def _moment(row: Row) -> tuple[int, int, float]:
    return row["step"], row["timestamp"], row["value"]
