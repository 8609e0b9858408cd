"""Queries of a study: they read, and change nothing."""

import re
from pathlib import Path
from typing import Any

from evenhand.errors import DataError

READS = ("select", "with", "values", "table")
COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|$)|/\*.*?\*/|\()", re.DOTALL)
BARE = re.compile(r"[\w.\"`\[\]]+")
ONLY_READ = {"sqlite": "PRAGMA query_only = ON", "mysql": "SET TRANSACTION READ ONLY"}
MOST = 100_000


def check_query(statement: str) -> None:
    """Refuse what is no query: a name of a table, or a statement that may change something."""
    text = _begun(statement)
    word = re.match(r"\w*", text)[0].lower()  # type: ignore[index]
    if word in READS and len(statement) <= MOST:
        return
    name = statement.strip()
    hint = f" For all rows of a table write SELECT * FROM {name}." if BARE.fullmatch(name) else ""
    found = f"it has {len(statement):,} signs" if len(statement) > MOST else f"it begins with '{text[:20]}'"
    raise DataError(
        f"source.sql.query is to read rows, but {found}. It was not run: begin with SELECT or WITH, and stay under "
        f"{MOST:,} signs.{hint}"
    )


def check_database(engine: Any, shown: str) -> None:
    """Refuse a database file that there is not: opening it would make an empty one."""
    file = engine.url.database
    is_file = engine.dialect.name == "sqlite" and file and file != ":memory:" and not file.startswith("file:")
    if is_file and not Path(file).exists():
        raise DataError(f"there is no database at {shown} (source.sql.url): check the path.")


def read_only(connection: Any) -> None:
    """Have a database refuse to change anything for this connection, where it can."""
    if connection.dialect.name == "postgresql":
        connection.execution_options(postgresql_readonly=True)
    elif statement := ONLY_READ.get(connection.dialect.name):
        connection.exec_driver_sql(statement)


def _begun(statement: str) -> str:
    """A statement from its first word on, without comments and brackets before it."""
    text = statement[: MOST + 1]
    while found := COMMENT.match(text):
        text = text[found.end() :]
    return text.strip()
