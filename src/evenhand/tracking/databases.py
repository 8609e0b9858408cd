"""Whether the place of the runs can be used, asked before MLflow is: it would try for minutes, or fail late."""

import errno
import logging
import os
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

from evenhand.errors import EvenhandError, PlaceError
from evenhand.runtime.patience import no_answer, waiting_aloud
from evenhand.runtime.private_files import private_folder
from evenhand.runtime.redaction import masked_text, without_secrets
from evenhand.runtime.whole_files import put_in_place
from evenhand.storage.digests import digest
from evenhand.storage.locks import waiting
from evenhand.storage.user_cache import keep, kept

POSTGRES = "postgresql+asyncpg"
LOCKED_SECONDS, KNOCK_SECONDS = 10, 4.0
PORTS = {"postgresql": 5432, "postgres": 5432, "mysql": 3306, "mssql": 1433}


def prepare_sqlite(file: Path, make: Callable[[Path], object]) -> None:
    """Make the folder and the database, and let writers wait for each other instead of failing."""
    try:
        _check_folder(file.parent)
        if not file.exists():
            _make_whole(file, make)
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
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise PlaceError(
            f"'{file}' is no SQLite database ({error}): move it away or set MLFLOW_TRACKING_URI"
        ) from error
    except OSError as error:
        raise PlaceError(f"the folder '{file.parent}' cannot be used: {error}. Set MLFLOW_TRACKING_URI.") from error


def _check_folder(folder: Path) -> None:
    private_folder(folder)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only for this user or as it is mounted")


def _make_whole(file: Path, make: Callable[[Path], object]) -> None:
    """Make a database under another name and rename it: one that is killed in the middle of its schema stays broken."""
    with waiting(lock_of(file)):
        if file.exists():
            return
        unfinished = file.with_name(f".{file.name}.unfinished")
        for end in ("", "-journal", "-wal", "-shm"):
            unfinished.with_name(unfinished.name + end).unlink(missing_ok=True)
        if (schema := kept(name := _schema_name())) is not None:
            unfinished.write_bytes(schema)
        else:
            _make(unfinished, file, make)
            _keep_schema(name, unfinished)
        put_in_place(unfinished, file)


def _make(unfinished: Path, file: Path, make: Callable[[Path], object]) -> None:
    try:
        make(unfinished)
    except Exception as error:
        raise PlaceError(f"the MLflow database '{file}' cannot be made: {one_line(error)}") from error


def _schema_name() -> str:
    """What the schema is kept under: of this MLflow, its migrations, and the packages by which it makes them."""
    spec = find_spec("mlflow")
    migrations = Path(spec.origin).parent / "store" / "db_migrations" / "versions" if spec and spec.origin else Path()
    files = sorted((each.name, each.stat().st_size) for each in migrations.glob("*.py"))
    made_by = {name: version(name) for name in ("mlflow", "alembic", "sqlalchemy")}
    return f"mlflow-{digest([made_by, files, sqlite3.sqlite_version])}"


def _keep_schema(name: str, made: Path) -> None:
    """Keep a database that MLflow has just made for the next folder, without the experiment `Default` of this one.

    MLflow makes that where there is none.
    """
    try:
        with TemporaryDirectory() as room:
            schema = Path(room) / "schema.db"
            with closing(sqlite3.connect(made)) as found, closing(sqlite3.connect(schema)) as copy:
                found.backup(copy)
                copy.execute("DELETE FROM experiments")
                copy.commit()
            keep(name, schema.read_bytes())
    except (OSError, EvenhandError, sqlite3.Error) as error:
        logging.getLogger("evenhand").info("MLflow's schema is not kept for the next folder: %s", error)


def lock_of(file: Path) -> Path:
    """The lock that is held while the schema of a database is made or looked at."""
    return file.with_name(f".{file.name}.lock")


def database_url() -> str:
    """$EVENHAND_DATABASE_URL, which puts Prefect and MLflow into one PostgreSQL database; empty for SQLite."""
    url = os.environ.get("EVENHAND_DATABASE_URL", "")
    if url and urlsplit(url).scheme != POSTGRES:
        raise PlaceError(
            f"EVENHAND_DATABASE_URL begins with '{urlsplit(url).scheme}': write it as "
            f"{POSTGRES}://user:password@host:port/database, or unset it for SQLite"
        )
    return url


def runs_uri() -> str:
    """The address of MLflow's schema in that database; empty for SQLite."""
    if not (url := database_url()):
        return ""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(scheme="postgresql+psycopg", query="options=-csearch_path%3Dmlflow"))


def shown(uri: str) -> str:
    """An address without a password."""
    return masked_text(uri)


def prefect_surroundings() -> dict[str, str]:
    """What has Prefect's server keep its tables in a schema of that database; nothing for SQLite."""
    if not (url := database_url()):
        return {}
    return {
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": url,
        "PREFECT_SERVER_DATABASE_SQLALCHEMY_CONNECT_ARGS_SEARCH_PATH": "prefect, public",
    }


def prepare_postgres() -> None:
    """Make the two schemas if they are not there."""
    try:
        import psycopg
    except ImportError:
        raise PlaceError("EVENHAND_DATABASE_URL needs a driver: pip install 'evenhand[postgres]'") from None
    parts = urlsplit(database_url())
    try:
        with psycopg.connect(
            urlunsplit(parts._replace(scheme="postgresql")), connect_timeout=round(KNOCK_SECONDS)
        ) as connection:
            for schema in ("prefect", "mlflow"):
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    except psycopg.Error as error:
        cause = without_secrets(one_line(error), database_url())
        raise PlaceError(
            f"the database at {parts.hostname}:{parts.port or 5432} (EVENHAND_DATABASE_URL) cannot be used: {cause}"
        ) from None


def check_runs() -> None:
    """Refuse a place of the runs that cannot be used, by a knock alone: neither MLflow nor a driver is imported."""
    uri = os.environ.get("MLFLOW_TRACKING_URI") or runs_uri()
    parts = urlsplit(uri)
    if not uri:
        _check_folder_of_runs(Path("mlruns").absolute())
    elif parts.scheme.startswith("http"):
        check_server(uri)
    elif parts.scheme in {"", "file"}:
        raise PlaceError(
            f"MLFLOW_TRACKING_URI={shown(uri)} names a folder, where MLflow keeps runs no more: write it as "
            "sqlite:////folder/mlflow.db or http://host:port, or unset it to keep runs under mlruns/"
        )
    elif parts.hostname and (why := knock(parts.hostname, parts.port or PORTS.get(parts.scheme.partition("+")[0], 0))):
        name = "MLFLOW_TRACKING_URI" if os.environ.get("MLFLOW_TRACKING_URI") else "EVENHAND_DATABASE_URL"
        raise PlaceError(
            f"the database at {name}={shown(uri).partition('?')[0]} cannot be reached ({why}): start it, correct the "
            f"address, or unset {name} to keep runs under mlruns/"
        )


def _check_folder_of_runs(folder: Path) -> None:
    try:
        _check_folder(folder)
    except OSError as error:
        raise PlaceError(f"the folder '{folder}' is not writable: {error.strerror}. Set MLFLOW_TRACKING_URI.") from None


def knock(host: str, port: int) -> str:
    """Why nobody opens at a port; empty if somebody does. Looking up the name of a machine has no time limit itself."""
    found: SimpleQueue[str] = SimpleQueue()

    def call() -> None:
        try:
            socket.create_connection((host, port), timeout=KNOCK_SECONDS).close()
            found.put("")
        except OSError as error:
            found.put(error.strerror or str(error))

    threading.Thread(target=call, daemon=True).start()
    try:
        return found.get(timeout=KNOCK_SECONDS + 1)
    except Empty:
        return f"no answer within {KNOCK_SECONDS:g} seconds"


def check_server(uri: str) -> None:
    """One short knock, since MLflow's own client would go on trying for minutes."""
    if why := unanswered(uri, f"the MLflow server at {shown(uri)}"):
        raise PlaceError(
            f"the MLflow server at MLFLOW_TRACKING_URI={shown(uri)} cannot be reached ({why}): start it, correct "
            "the address, or unset MLFLOW_TRACKING_URI to keep runs under mlruns/"
        )


def unanswered(address: str, what: str) -> str:
    """Why a server does not answer for its health; empty if it answers, also with a refusal.

    One that nobody opens at is dead, which is found at once; one that opens and is silent may be busy, so it waits.
    """
    try:
        parts = urlsplit(address)
        if why := knock(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)):
            return why
    except ValueError as error:  # a port that is no number
        return str(error)
    with waiting_aloud(what):
        return no_answer(f"{address.rstrip('/')}/health")


def one_line(error: Exception) -> str:
    """What an error says, on one line, without the statement that a database adds."""
    return " ".join(str(error).partition("[SQL:")[0].split())[:300]
