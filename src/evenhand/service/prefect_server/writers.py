"""Transactions of Prefect's server that report from their beginning that they will write.

SQLite ends a transaction that begins as a reader and then writes at once ("database is locked"), however long it may
wait, if another wrote in between. One that begins as a writer waits for its turn, and then nobody writes in between.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any

is_writer: ContextVar[bool] = ContextVar("is_writer", default=False)


def count_as_writers() -> None:
    """Have what counts the events of an automation report from its beginning that it will write.

    The end of a run is not counted otherwise when it meets another writer, and its heartbeat is missed.
    """
    from prefect.server.database import provide_database_interface
    from prefect.server.events import triggers

    @asynccontextmanager
    async def session(begin_transaction: bool = False) -> AsyncIterator[Any]:
        database = provide_database_interface()
        async with database.session_context(begin_transaction, with_for_update=begin_transaction) as found:
            yield found

    triggers.automations_session = session


def begin_as_writers() -> None:
    """Have transactions begin as writers where `is_writer` is set; other databases know no such beginning."""
    from prefect.server.database.configurations import AioSqliteConfiguration

    begin = AioSqliteConfiguration.begin_transaction

    def begin_transaction(self: Any, session: Any, with_for_update: bool = False) -> AbstractAsyncContextManager[Any]:
        return begin(self, session, with_for_update=with_for_update or is_writer.get())

    AioSqliteConfiguration.begin_transaction = begin_transaction  # type: ignore[assignment, method-assign]
