"""Rows of a run that are written at once are those that MLflow itself writes."""

import sqlite3
from contextlib import closing

import pytest
from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from mlflow.exceptions import MlflowException

from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded.run_writer import write_end, write_inputs, write_rows, write_run

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
    run_id, log_first = mlflow_client.start_run(place, "ours", {}), mlflow_client._client(place.uri).log_first

    with pytest.raises(MlflowException, match=r"Invalid value .* for parameter"):
        write_rows(store, run_id, [Metric("a\tb", 1.0, 1000, 0)], [])
    with pytest.raises(MlflowException, match="not found"):
        log_first("0" * 32, METRICS, PARAMS)
    MlflowClient(place.uri).delete_run(run_id)
    with pytest.raises(MlflowException, match="must be in the 'active' state"):
        log_first(run_id, METRICS, PARAMS)
    with pytest.raises(MlflowException, match="must be in the 'active' state"):
        mlflow_client.end_run(place, run_id)
    MlflowClient(place.uri).delete_experiment(place.experiment_id)
    with pytest.raises(MlflowException, match="must be in the 'active' state"):
        mlflow_client.start_run(place, "late", {})


def everything_of(place, table, run_id, column="run_uuid"):
    """All columns of the rows of a run, but for names made at random and moments."""
    with closing(sqlite3.connect(place.uri.removeprefix("sqlite:///").partition("?")[0])) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute(f"SELECT * FROM {table} WHERE {column} = ?", (run_id,))]
    shown = [{key: str(value).replace(run_id, "its id") for key, value in row.items()} for row in rows]
    return sorted(
        ({key: len(value) if key in ("start_time", "end_time", "input_uuid") else value for key, value in row.items()}
        for row in shown),
        key=str,
    )  # fmt: skip


def test_a_run_begins_and_ends_as_one_of_mlflow(place, store):
    tags = {"evenhand.kind": "candidate", "mlflow.parentRunId": "above"}
    theirs = MlflowClient(place.uri).create_run(place.experiment_id, tags=tags, run_name="knn").info.run_id
    ours = write_run(store, place.experiment_id, "knn", tags)

    assert everything_of(place, "runs", ours) == everything_of(place, "runs", theirs)
    assert everything_of(place, "tags", ours) == everything_of(place, "tags", theirs)

    MlflowClient(place.uri).set_terminated(theirs, "FAILED")
    assert write_end(store, ours, "FAILED")

    assert everything_of(place, "runs", ours) == everything_of(place, "runs", theirs)


def test_the_data_of_a_run_is_noted_of_others_as_mlflow_notes_it(place, store):
    data = DatasetInput(Dataset("storm", "abc", "local", "{}"), [InputTag("mlflow.data.context", "training")])
    first, theirs, ours = (mlflow_client.start_run(place, name, {}) for name in "abc")
    for run_id in (first, theirs):
        MlflowClient(place.uri).log_inputs(run_id, [data])

    assert write_inputs(store, first, [ours])

    (expected,), (found,) = (everything_of(place, "inputs", each, "destination_id") for each in (theirs, ours))
    assert found == expected
    (read,) = MlflowClient(place.uri).get_run(ours).inputs.dataset_inputs
    assert (read.dataset.digest, [(tag.key, tag.value) for tag in read.tags]) == (
        "abc",
        [("mlflow.data.context", "training")],
    )
    assert not write_inputs(store, first, [ours])  # it has it already: left to MLflow
    assert not write_inputs(object(), first, [ours])


def test_runs_of_a_store_that_is_no_database_begin_and_end_by_mlflow(place, store, monkeypatch):
    assert write_run(object(), place.experiment_id, "knn", {}) is None
    assert not write_end(object(), "0" * 32, "FINISHED")
    assert not write_end(store, "0" * 32, "FINISHED")
    for writer in ("write_run", "write_end", "write_inputs"):
        monkeypatch.setattr(mlflow_client, writer, lambda *given: None)
    data = DatasetInput(Dataset("storm", "abc", "local", "{}"), [])

    runs = [mlflow_client.start_run(place, name, {"a": "b"}) for name in ("knn", "svm")]
    mlflow_client._client(place.uri).log_dataset(runs, data)
    mlflow_client.end_run(place, runs[1], "KILLED")

    found = MlflowClient(place.uri).get_run(runs[1])
    assert (found.info.run_name, found.info.status, found.data.tags["a"]) == ("svm", "KILLED", "b")
    assert [each.dataset.name for each in found.inputs.dataset_inputs] == ["storm"]
