"""What is sent to a Prefect server that has gone: tried once in a while, reported once, and waited for by nobody."""

import asyncio
import logging
from types import SimpleNamespace

import httpx
import pytest
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker

from evenhand.service.prefect_server import unheard
from evenhand.service.prefect_server.unheard import GONE_SECONDS, Listener, give_up_soon


class Server:
    """Takes what is sent, or fails in one way; how often it was tried."""

    def __init__(self, failure=None):
        self.failure, self.n_tried = failure, 0

    async def take(self, *_):
        self.n_tried += 1
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(unheard.time, "monotonic", lambda: now.seconds)
    return now


def sent(listener, server, times=1):
    for _ in range(times):
        asyncio.run(listener.hear(server.take))


@pytest.mark.parametrize(
    "failure", [ConnectionRefusedError(111, "refused"), httpx.ConnectError("refused"), TimeoutError("no answer")]
)
def test_a_server_that_has_gone_is_tried_once_in_a_while_and_reported_once(caplog, clock, failure):
    listener, server = Listener(), Server(failure)

    with caplog.at_level(logging.WARNING, "evenhand"):
        sent(listener, server, times=1000)
        clock.seconds += GONE_SECONDS
        sent(listener, server, times=1000)

    assert server.n_tried == 2
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == ["Prefect's server has gone"]


def test_a_server_that_came_back_is_sent_everything_again(clock):
    listener, server = Listener(), Server(ConnectionRefusedError())
    sent(listener, server)
    clock.seconds += GONE_SECONDS
    server.failure = None

    sent(listener, server, times=3)

    assert server.n_tried == 4


def test_what_the_server_refuses_is_not_taken_for_a_server_that_has_gone():
    listener, server = Listener(), Server(ValueError("too large"))

    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            sent(listener, server)

    assert server.n_tried == 2


def test_both_of_prefects_workers_give_up_and_are_changed_once(monkeypatch, clock):
    server, cache = Server(ConnectionRefusedError()), {1: "context", 2: "context"}
    monkeypatch.setattr(EventsWorker, "_handle", lambda self, event: server.take())
    monkeypatch.setattr(APILogWorker, "_handle_batch", None)
    give_up_soon()
    changed = EventsWorker._handle
    give_up_soon()

    events, lines = (
        SimpleNamespace(_context_cache=cache),
        SimpleNamespace(_client=SimpleNamespace(create_logs=server.take)),
    )
    for key in (1, 2):
        asyncio.run(EventsWorker._handle(events, SimpleNamespace(id=key)))
    asyncio.run(APILogWorker._handle_batch(lines, [{}]))

    assert EventsWorker._handle is changed
    assert server.n_tried == 1
    assert cache == {}
