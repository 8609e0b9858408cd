"""Rows of a run that are written at once are those that MLflow itself writes."""

import sqlite3
from contextlib import closing

import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException

from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded.run_writer import write_rows

METRICS = [
    Metric("late", 0.25, 1000, 3),
    Metric("late", 0.75, 1000, 7),
    Metric("late", 0.5, 1000, 5),
    Metric("rewritten", 1.0, 1000, 0),
    Metric("rewritten", -1.0, 2000, 0),
    Metric("twice", 2.0, 1000, 0),
    Metric("twice", 2.0, 1000, 0),
    Metric("tied", 4.0, 1000, 0),
    Metric("tied", 3.0, 1000, 0),
    Metric("not a number", float("nan"), 1000, 0),
    Metric("endless", float("inf"), 1000, 0),
]
PARAMS = [Param("model", "svm"), Param("params.C", "0.1")]


@pytest.fixture
def place(mlruns):
    return mlflow_client.open_experiment("storm")


@pytest.fixture
def store(place):
    return MlflowClient(place.uri)._tracking_client.store


def rows_of(place, run_id):
    """What the database has of a run, each table in the order in which it was written."""
    columns = {"params": "key, value", "metrics": "key, value, timestamp, step, is_nan"}
    columns["latest_metrics"] = columns["metrics"]
    with closing(sqlite3.connect(place.uri.removeprefix("sqlite:///").partition("?")[0])) as database:
        return {
            table: database.execute(f"SELECT {names} FROM {table} WHERE run_uuid = ?", (run_id,)).fetchall()
            for table, names in columns.items()
        }


def test_each_row_is_as_mlflow_writes_it(place, store):
    theirs, ours = (mlflow_client.start_run(place, name, {}) for name in ("theirs", "ours"))
    store.log_batch(theirs, METRICS, PARAMS, [])

    assert write_rows(store, ours, METRICS, PARAMS)

    expected, found = rows_of(place, theirs), rows_of(place, ours)
    assert {table: sorted(rows) for table, rows in found.items()} == {t: sorted(r) for t, r in expected.items()}
    assert ("late", 0.75, 1000, 7, 0) in found["latest_metrics"]
    assert ("rewritten", -1.0, 2000, 0, 0) in found["latest_metrics"]
    assert ("tied", 4.0, 1000, 0, 0) in found["latest_metrics"]
    assert [len(rows) for rows in found.values()] == [2, 10, 6]


def test_metrics_stand_in_the_order_in_which_they_were_given(place, store):
    run_id = mlflow_client.start_run(place, "ours", {})
    given = [Metric(name, 1.0, 1000, 0) for name in ("roc_auc", "accuracy", "brier")]

    write_rows(store, run_id, given, [])

    assert list(MlflowClient(place.uri).get_run(run_id).data.metrics) == ["roc_auc", "accuracy", "brier"]


def test_where_a_run_has_some_of_them_nothing_is_written_and_mlflow_sorts_it_out(place, store):
    run_id = mlflow_client.start_run(place, "ours", {})
    store.log_batch(run_id, [Metric("late", 0.125, 1000, 9)], [], [])

    assert not write_rows(store, run_id, METRICS, PARAMS)
    assert [len(rows) for rows in rows_of(place, run_id).values()] == [0, 1, 1]
    mlflow_client._client(place.uri).log_first(run_id, METRICS, PARAMS)

    found = MlflowClient(place.uri).get_run(run_id).data
    assert (found.metrics["late"], found.metrics["tied"]) == (0.125, 4.0)
    assert found.params == {"model": "svm", "params.C": "0.1"}


def test_a_store_that_is_no_database_and_metrics_of_a_model_are_left_to_mlflow(place, store):
    run_id = mlflow_client.start_run(place, "ours", {})

    assert not write_rows(object(), run_id, METRICS, PARAMS)
    assert not write_rows(store, run_id, [Metric("late", 1.0, 1000, 0, model_id="m-1")], [])
    assert [len(rows) for rows in rows_of(place, run_id).values()] == [0, 0, 0]


def test_what_mlflow_refuses_is_refused(place, store):
    run_id = mlflow_client.start_run(place, "ours", {})

    with pytest.raises(MlflowException, match=r"Invalid value .* for parameter"):
        write_rows(store, run_id, [Metric("a\tb", 1.0, 1000, 0)], [])
    with pytest.raises(MlflowException, match="not found"):
        write_rows(store, "0" * 32, METRICS, PARAMS)
    MlflowClient(place.uri).delete_run(run_id)
    with pytest.raises(MlflowException, match="must be in the 'active' state"):
        write_rows(store, run_id, METRICS, PARAMS)
