"""What the server hears of task runs is written together, and soon."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import uuid4

import pytest
from prefect.server.events.schemas.events import ReceivedEvent, Resource
from prefect.server.services import task_run_recorder

from evenhand.service.prefect_server.batches import MOST, write_together


@pytest.fixture
def written(monkeypatch):
    """The sizes of the batches that are written."""
    sizes = []

    async def record(events):
        sizes.append(len(events))

    monkeypatch.setattr(task_run_recorder, "record_bulk_task_run_events", record)
    monkeypatch.setattr(task_run_recorder, "consumer", task_run_recorder.consumer)  # it is put back
    write_together()
    return sizes


def heard():
    """A message that a task run has a new state."""
    resource = {"prefect.resource.id": f"prefect.task-run.{uuid4()}", "prefect.orchestration": "client"}
    event = ReceivedEvent(
        event="prefect.task-run.Running", resource=Resource(resource), occurred=datetime.now(UTC), id=uuid4()
    )
    return SimpleNamespace(data=event.model_dump_json())


def test_what_is_heard_at_once_is_written_together_and_the_rest_a_moment_later(written):
    async def listen():
        async with task_run_recorder.consumer(write_batch_size=1, flush_every=5) as handle:
            for _ in range(MOST + 3):
                await handle(heard())
            at_once = list(written)
            async with asyncio.timeout(60):
                while sum(written) < MOST + 3:
                    await asyncio.sleep(0.01)
        return at_once

    assert asyncio.run(listen()) == [MOST]
    assert written == [MOST, 3]


def test_what_was_heard_before_the_server_ends_is_written(written):
    async def listen():
        async with task_run_recorder.consumer(write_batch_size=1, flush_every=5) as handle:
            await handle(heard())

    asyncio.run(listen())

    assert written == [1]


def test_a_size_that_settings_name_is_kept(written):
    async def listen():
        async with task_run_recorder.consumer(write_batch_size=2, flush_every=5) as handle:
            for _ in range(4):
                await handle(heard())

    asyncio.run(listen())

    assert written == [2, 2]
