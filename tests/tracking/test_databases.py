"""A place of the runs that cannot be used is told before MLflow tries it, with what to do."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mlflow.store.db import utils
from sqlalchemy import create_engine

from evenhand.errors import PlaceError
from evenhand.tracking import databases
from evenhand.tracking.databases import one_line, prepare_sqlite
from evenhand.tracking.mlflow_client import open_store


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


def content(file):
    """All that is in a database, its schema and its rows; MLflow makes indexes in an order that varies."""
    with closing(sqlite3.connect(file)) as connection:
        return sorted(connection.iterdump())


def made_here(name, monkeypatch):
    """A folder with a database that was made there, and the database."""
    Path(name).mkdir()
    monkeypatch.chdir(Path(name))
    open_store()
    return Path("mlruns", "mlflow.db").absolute()


def without_default(lines):
    """All but the line of the experiment that MLflow makes in each folder."""
    return [line for line in lines if not line.startswith('INSERT INTO "experiments"')]


@pytest.fixture
def no_schema_yet(tmp_path, monkeypatch):
    """The folder of the user where a schema would be kept, with nothing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "evenhand"


@pytest.mark.usefixtures("no_schema_yet")
def test_the_database_of_the_next_folder_is_what_mlflow_would_make_and_takes_no_migrations(tmp_path, monkeypatch):
    first = made_here(tmp_path / "first", monkeypatch)
    monkeypatch.setattr(utils, "_upgrade_db", None)

    second = made_here(tmp_path / "second", monkeypatch)

    assert without_default(content(second)) == without_default(content(first))
    (default,) = [line for line in content(second) if line not in without_default(content(second))]
    assert "'Default'" in default
    assert str(tmp_path / "second") in default
    utils._verify_schema(create_engine(f"sqlite:///{second}"))


def small(made):
    """A maker of a database that is quick, and notes each time that it is asked."""

    def make(file):
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE experiments (name TEXT)")
            connection.execute("INSERT INTO experiments VALUES ('Default')")
            connection.commit()
        made.append(file)

    return make


def test_a_schema_with_a_flipped_bit_is_not_used(tmp_path, no_schema_yet):
    prepare_sqlite(tmp_path / "first" / "mlflow.db", small([]))
    (kept,) = no_schema_yet.iterdir()
    flipped = bytearray(kept.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    kept.write_bytes(flipped)

    prepare_sqlite(tmp_path / "second" / "mlflow.db", small(made := []))
    prepare_sqlite(tmp_path / "third" / "mlflow.db", small(made))

    assert len(made) == 1


@pytest.mark.usefixtures("no_schema_yet")
def test_a_schema_of_another_version_is_not_used(tmp_path, monkeypatch):
    prepare_sqlite(tmp_path / "first" / "mlflow.db", small([]))
    monkeypatch.setattr(databases, "version", lambda name: "another")

    prepare_sqlite(tmp_path / "second" / "mlflow.db", small(made := []))

    assert len(made) == 1


def test_where_a_schema_cannot_be_kept_the_database_is_made_all_the_same(tmp_path, no_schema_yet):
    no_schema_yet.parent.write_text("no folder")

    prepare_sqlite(tmp_path / "mlruns" / "mlflow.db", small([]))

    assert "CREATE TABLE experiments (name TEXT);" in content(tmp_path / "mlruns" / "mlflow.db")
