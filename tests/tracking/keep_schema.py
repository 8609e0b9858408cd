"""Keep the schema that the migrations of the installed MLflow come to: python tests/tracking/keep_schema.py"""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from mlflow import MlflowClient

from evenhand.tracking.databases import schema_file

PASSING = 'INSERT INTO "experiments"'  # the one that MLflow makes itself where there is none


def migrated(folder):
    """The statements that make an empty database as MLflow's own migrations do."""
    file = Path(folder) / "migrated.db"
    MlflowClient(f"sqlite:///{file}").search_experiments(max_results=1)
    return statements(file)


def statements(file):
    """The statements that make a database again, but for the experiment that is made anew."""
    with closing(sqlite3.connect(file)) as database:
        return [line for line in database.iterdump() if not line.startswith(PASSING)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as room:
        schema_file().write_text("\n".join(migrated(room)) + "\n", encoding="utf-8")
