"""Keep the schema that the migrations of the installed MLflow come to: python tests/tracking/keep_schema.py"""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from mlflow import MlflowClient

from evenhand.tracking.databases import schema_file

PASSING = 'INSERT INTO "experiments"'  # the one that MLflow makes itself where there is none


def migrated(folder):
    """An empty database, made by MLflow's own migrations."""
    file = Path(folder) / "migrated.db"
    MlflowClient(f"sqlite:///{file}").search_experiments(max_results=1)
    return file


def statements(file):
    """The statements that make a database again, but for the experiment that is made anew."""
    with closing(sqlite3.connect(file)) as database:
        return [line for line in database.iterdump() if not line.startswith(PASSING)]


def parts(file):
    """What each of these statements says, whatever order its constraints come in, which differs."""
    return sorted(sorted(part.strip(" ,\t") for part in each.split("\n")) for each in statements(file))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as room:
        schema_file().write_text("\n".join(statements(migrated(room))) + "\n", encoding="utf-8")
