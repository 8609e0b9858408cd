"""The server that `evenhand up` keeps: how long it knows what, and how what counts events shares its database."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from prefect.settings import Settings

from evenhand.errors import ConfError
from evenhand.service.prefect_server.retention import DAYS, vacuum_surroundings
from evenhand.service.prefect_server.writers import begin_as_writers, count_as_writers, is_writer
from evenhand.service.supervisor import Ports, surroundings


@pytest.mark.parametrize(("given", "days"), [("", 30), ("7", 7), ("1.5", 1.5)])
def test_runs_and_events_are_removed_after_the_days_that_are_asked_for(monkeypatch, given, days):
    monkeypatch.setenv(DAYS, given)
    for name, value in vacuum_surroundings().items():
        monkeypatch.setenv(name, value)

    server = Settings().server

    assert server.services.db_vacuum.retention_period.total_seconds() == days * 86_400
    assert server.events.retention_period.total_seconds() == days * 86_400
    assert server.services.db_vacuum.enabled_vacuum_types == {"events", "flow_runs", "orphans"}


@pytest.mark.parametrize("given", ["0", "-1", "many", "nan", "1e9"])
def test_what_is_no_number_of_days_is_refused(monkeypatch, given):
    monkeypatch.setenv(DAYS, given)

    with pytest.raises(ConfError, match=rf"{DAYS}={given} is no number of days: write one from 1 to 36500"):
        vacuum_surroundings()


def test_what_runs_say_is_kept_and_consoles_are_quiet():
    found = surroundings(Ports())

    assert found["PREFECT_LOGGING_LEVEL"] == "INFO"
    assert found["PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"] == "WARNING"
    assert found["EVENHAND_MLFLOW_PAGES"] == "http://127.0.0.1:5000"


def test_what_counts_events_holds_the_database_from_its_beginning(monkeypatch):
    from prefect.server.database import configurations
    from prefect.server.events import triggers

    file = Path("prefect.db").absolute()
    database = configurations.AioSqliteConfiguration(f"sqlite+aiosqlite:///{file}")

    class Interface:
        def session_context(self, begin_transaction, with_for_update):
            return sessions(database, begin_transaction, with_for_update)

    monkeypatch.setattr("prefect.server.database.provide_database_interface", Interface)
    monkeypatch.setattr(triggers, "automations_session", triggers.automations_session)
    count_as_writers()

    async def held():
        async with triggers.automations_session(begin_transaction=True):
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                sqlite3.connect(file, timeout=0).execute("begin immediate")

    asyncio.run(held())


@pytest.mark.parametrize("is_asked_again", [True, False])
def test_transactions_of_a_request_that_is_asked_again_hold_the_database_from_their_beginning(
    monkeypatch, is_asked_again
):
    from prefect.server.database import configurations

    kind = configurations.AioSqliteConfiguration
    monkeypatch.setattr(kind, "begin_transaction", kind.begin_transaction)
    begin_as_writers()
    file = Path("prefect.db").absolute()
    database = kind(f"sqlite+aiosqlite:///{file}")

    async def is_held():
        is_writer.set(is_asked_again)
        async with sessions(database, True, False):
            other = sqlite3.connect(file, timeout=0)
            try:
                other.execute("begin immediate")
            except sqlite3.OperationalError:
                return True
            return False

    assert asyncio.run(is_held()) == is_asked_again


def sessions(database, begin_transaction, with_for_update):
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def opened():
        assert begin_transaction
        session = await database.session(await database.engine())
        async with session, database.begin_transaction(session, with_for_update=with_for_update):
            await session.connection()
            yield session

    return opened()
