"""A place of the runs that cannot be used is told before MLflow tries it, with what to do."""

import os
import sqlite3
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient

from evenhand.errors import PlaceError
from evenhand.tracking import databases
from evenhand.tracking.databases import made_from_schema, one_line, prepare_sqlite
from evenhand.tracking.mlflow_client import open_store

sys.path.insert(0, str(Path(__file__).parent))

from keep_schema import migrated, parts


def touched(file):
    """A database without tables, as MLflow would make one with them."""
    sqlite3.connect(file).execute("PRAGMA user_version = 1").connection.close()


def test_a_folder_that_is_read_only_is_reported_with_the_variable_that_names_another(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: False)  # root may write where others may not

    with pytest.raises(PlaceError, match=r"mlruns' is not writable: it is read-only.*Set MLFLOW_TRACKING_URI"):
        prepare_sqlite(tmp_path / "mlruns" / "mlflow.db", touched)

    assert not (tmp_path / "mlruns" / "mlflow.db").exists()


def test_a_file_in_the_place_of_the_folder_is_reported(tmp_path):
    (tmp_path / "mlruns").write_text("no folder")

    with pytest.raises(PlaceError, match=r"mlruns' cannot be used: .*Set MLFLOW_TRACKING_URI"):
        prepare_sqlite(tmp_path / "mlruns" / "mlflow.db", touched)


def test_another_kind_of_file_is_no_database(tmp_path):
    (tmp_path / "mlflow.db").write_text("a,b\n1,2\n" * 200)

    with pytest.raises(PlaceError, match="is no SQLite database"):
        prepare_sqlite(tmp_path / "mlflow.db", touched)


def test_writers_wait_for_each_other(tmp_path):
    prepare_sqlite(tmp_path / "mlruns" / "mlflow.db", touched)

    with sqlite3.connect(tmp_path / "mlruns" / "mlflow.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_error_is_reported_without_the_statement():
    error = Exception("disk is full\n[SQL: CREATE TABLE params]")

    assert one_line(error) == "disk is full"


def test_the_schema_that_ships_is_what_mlflows_own_migrations_come_to(tmp_path):
    assert made_from_schema(tmp_path / "made.db"), "keep it: python tests/tracking/keep_schema.py"

    assert parts(tmp_path / "made.db") == parts(migrated(tmp_path))


def test_a_database_made_from_the_schema_has_the_experiment_that_mlflow_makes(tmp_path):
    made_from_schema(tmp_path / "made.db")

    found = MlflowClient(f"sqlite:///{tmp_path / 'made.db'}").search_experiments()

    assert [(each.name, each.experiment_id) for each in found] == [("Default", "0")]


def test_of_a_version_whose_schema_does_not_ship_mlflow_makes_the_database_itself(monkeypatch, tmp_path):
    monkeypatch.setattr(databases, "schema_file", lambda: tmp_path / "none.sql")

    store = open_store()

    assert [each.name for each in store.client().search_experiments()] == ["Default"]
