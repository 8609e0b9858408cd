"""Whether the place of the runs can be used, asked before MLflow is: it would try for minutes, or fail late."""

import sqlite3
import urllib.error
import urllib.request
from pathlib import Path

from evenhand.errors import PlaceError

LOCKED_SECONDS = 10


def prepare_sqlite(file: Path) -> None:
    """Make the folder, and let writers wait for each other instead of failing."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=LOCKED_SECONDS)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
        finally:
            connection.close()
    except PermissionError as error:
        raise PlaceError(
            f"the folder '{file.parent}' is not writable: {error.strerror}. Set MLFLOW_TRACKING_URI."
        ) from error
    except sqlite3.OperationalError as error:
        advice = (
            "another program holds it: end that program and run again"
            if "locked" in str(error)
            else "make the folder writable, or set MLFLOW_TRACKING_URI"
        )
        raise PlaceError(f"the MLflow database '{file}' cannot be written ({error}): {advice}") from error
    except sqlite3.DatabaseError as error:
        raise PlaceError(
            f"'{file}' is no SQLite database ({error}): move it away or set MLFLOW_TRACKING_URI"
        ) from error
    except OSError as error:
        raise PlaceError(f"the folder '{file.parent}' cannot be used: {error}. Set MLFLOW_TRACKING_URI.") from error


def check_server(uri: str) -> None:
    """One short knock, since MLflow's own client would go on trying for minutes."""
    try:
        with urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=5):
            return
    except urllib.error.HTTPError:
        return
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise PlaceError(
            f"the MLflow server at MLFLOW_TRACKING_URI={uri} cannot be reached ({reason}): start it, correct the "
            "address, or unset MLFLOW_TRACKING_URI to keep runs under mlruns/"
        ) from error


def one_line(error: Exception) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split())[:300]
