"""The lines of ledgers in a PostgreSQL database, so that machines that share it decide on the same ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenhand.errors import PlaceError
from evenhand.storage.artifact_store import home
from evenhand.storage.database_locks import connected, is_shared, key_of

TABLE = """
CREATE TABLE IF NOT EXISTS evenhand.ledger (
  name text, number integer, line bytea NOT NULL, PRIMARY KEY (name, number)
)
"""


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Hold a ledger on all machines, waiting for whoever has it; nothing without a database."""
    if not is_shared():
        yield
        return
    with connected("evenhand ledger") as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [key_of(f"ledger {_name(file)}")])
        yield


def lines_of(file: Path, here: list[bytes]) -> list[bytes]:
    """The lines of a ledger; those of a file of this machine are brought in where there are none yet."""
    with connected("evenhand ledger") as connection:
        _make_table(connection)
        select = "SELECT line FROM evenhand.ledger WHERE name = %s ORDER BY number"
        found = [bytes(line) for (line,) in connection.execute(select, [_name(file)]).fetchall()]
        if here and not found:
            with connection.transaction(), connection.cursor() as cursor:
                rows = [(_name(file), number, line) for number, line in enumerate(here, 1)]
                cursor.executemany("INSERT INTO evenhand.ledger VALUES (%s, %s, %s)", rows)
            return here
    if found[: len(here)] != here:
        raise PlaceError(
            f"the ledger '{file}' of this machine was kept before the database of all machines had one, and they "
            "differ. Nothing is decided on either: move the file away, with the hidden file .anchor beside it, to go "
            "on with that of the database."
        )
    return found


def put(file: Path, number: int, line: bytes) -> None:
    """Put a line at the end of a ledger; the number of a line is given once."""
    import psycopg

    with connected("evenhand ledger") as connection:
        try:
            connection.execute("INSERT INTO evenhand.ledger VALUES (%s, %s, %s)", [_name(file), number, line])
        except psycopg.errors.UniqueViolation:
            raise PlaceError(
                f"another machine wrote line {number} of the ledger '{_name(file)}' at the same moment, so nothing was "
                "written: run the command again."
            ) from None


def lengths_in(folder: Path) -> dict[str, int]:
    """How many lines each ledger of a folder has, by the name of its study."""
    begin = f"{_name(folder)}/"
    with connected("evenhand ledger") as connection:
        _make_table(connection)
        counts = "SELECT name, max(number) FROM evenhand.ledger WHERE starts_with(name, %s) GROUP BY name"
        return {name.removeprefix(begin): n for name, n in connection.execute(counts, [begin]).fetchall()}


def _make_table(connection: Any) -> None:
    if connection.execute("SELECT to_regclass('evenhand.ledger')").fetchone()[0] is None:
        with connection.transaction():  # two that make it at once would both fail
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [key_of("table of ledgers")])
            connection.execute("CREATE SCHEMA IF NOT EXISTS evenhand")
            connection.execute(TABLE)


def _name(file: Path) -> str:
    """What a ledger is called on every machine: where it would lie under the home."""
    return file.relative_to(home()).with_suffix("").as_posix()
