"""Locks of a PostgreSQL database that machines share: they end with the connection of who holds them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from evenhand.errors import PlaceError
from evenhand.runtime.redaction import without_secrets
from evenhand.storage.locks import LockHeld, now, who

VARIABLE = "EVENHAND_DATABASE_URL"
SETTINGS: dict[str, Any] = {  # a machine that is gone is noticed within two minutes
    "connect_timeout": 8, "keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 15, "keepalives_count": 4,
}  # fmt: skip
HOLDER = """
SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND ((classid::bigint << 32) | objid::bigint) = %s AND objsubid = 1
"""


@contextmanager
def alone_in_database(name: str, what: str) -> Iterator[None]:
    """Hold a lock of that name on all machines, or report who has it and since when; nothing without a database."""
    if not is_shared():
        yield
        return
    key = key_of(name)
    with connected(f"{who()[:36]} since {now()[:19]}") as connection:
        if not connection.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()[0]:
            found = connection.execute(HOLDER, [key]).fetchone()
            raise LockHeld(f"{what} by {found[0] if found else 'another'}: wait until it has ended, or end it.")
        yield


def is_held_in_database(name: str) -> bool | None:
    """Whether anybody on any machine holds the lock of that name; None without a database."""
    if not is_shared():
        return None
    with connected("evenhand looks") as connection:
        return connection.execute(HOLDER, [key_of(name)]).fetchone() is not None


def is_shared() -> bool:
    """Whether a database is named that machines share."""
    return bool(os.environ.get(VARIABLE))


def key_of(name: str) -> int:
    """The number that PostgreSQL knows a lock by."""
    return int.from_bytes(blake2b(f"evenhand {name}".encode(), digest_size=8).digest(), "big", signed=True)


@contextmanager
def connected(name: str) -> Iterator[Any]:
    """A connection, under a name that others see while it lasts."""
    try:
        import psycopg
    except ImportError:
        raise PlaceError(f"{VARIABLE} needs a driver: pip install 'evenhand[postgres]'") from None
    url = os.environ[VARIABLE]
    plain = f"postgresql://{url.partition('://')[2]}"
    try:
        with psycopg.connect(plain, autocommit=True, application_name=name, **SETTINGS) as connection:
            yield connection
    except psycopg.Error as error:
        cause = without_secrets(" ".join(str(error).split()), url)
        raise PlaceError(
            f"the database of locks and ledgers ({VARIABLE}) cannot be used: {cause}. Start it, or fix the address."
        ) from None
