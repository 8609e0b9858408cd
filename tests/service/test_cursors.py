"""The event loop of Prefect's server is not held up by a connection that waits for its turn to write."""

import asyncio
import gc
import sqlite3
from pathlib import Path

import aiosqlite
import pytest
from aiosqlite.cursor import Cursor

from evenhand.service.prefect_server.cursors import close_what_failed

WAITS_SECONDS = 5.0  # of the connection: the loop never waits for it


@pytest.fixture
def closing(monkeypatch):
    monkeypatch.setattr(Cursor, "_execute", Cursor._execute)
    close_what_failed()


async def failed(connection):
    """A cursor whose statement met another writer."""
    cursor = await connection.cursor()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        await cursor.execute("insert into runs values (1)")
    return cursor


async def given_up(connection):
    """A cursor of a question whose answer nobody waits for any more."""
    cursor = await connection.cursor()
    await cursor.execute("select 1 union select 2")
    asking = asyncio.create_task(cursor.fetchone())
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    return cursor


@pytest.mark.parametrize("left", [failed, given_up])
def test_the_loop_goes_on_while_a_connection_with_a_statement_that_is_left_waits_for_its_turn(closing, left):
    async def written():
        async with opened() as writer, opened() as other:
            await writer.execute("create table runs (number)")
            await writer.execute("begin immediate")
            dropped = [await left(other)]

            await other.execute(f"pragma busy_timeout = {1000 * WAITS_SECONDS:.0f}")
            waiting = asyncio.create_task(other.execute("insert into runs values (2)"))
            await asyncio.sleep(0.3)  # by now it waits, in the thread of its connection
            dropped.clear()
            gc.collect()
            await writer.commit()  # too late, if the loop waited too: the other's time would be up

            await waiting
            return await (await writer.execute("select number from runs")).fetchall()

    assert asyncio.run(written()) == [(2,)]


def opened():
    return aiosqlite.connect(Path("runs.db"), isolation_level=None, timeout=0)
