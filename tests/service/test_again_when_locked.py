"""A writing request that SQLite ended because another wrote in between is asked again in the server."""

import asyncio
from typing import Any

import pytest

from evenhand.service.prefect_server.again_when_locked import AgainWhenLocked
from evenhand.service.prefect_server.writers import is_writer


class Locked:
    """An application that answers 503 for so many times, as Prefect's does: with the error raised after the answer."""

    def __init__(self, n_locked: int, raises: bool = True) -> None:
        self.n_locked, self.raises = n_locked, raises
        self.bodies: list[bytes] = []
        self.was_writer: list[bool] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part["body"], part["more_body"]
        self.bodies.append(body)
        self.was_writer.append(is_writer.get())
        is_locked = len(self.bodies) <= self.n_locked
        await send({"type": "http.response.start", "status": 503 if is_locked else 201})
        await send({"type": "http.response.body", "body": b"no" if is_locked else b"yes"})
        if is_locked and self.raises:
            raise RuntimeError("database is locked")


def asked(app: Any, method: str = "POST") -> tuple[list[int], bytes]:
    """The status lines and the body that a client gets."""
    parts = [
        {"type": "http.request", "body": b"one ", "more_body": True},
        {"type": "http.request", "body": b"run", "more_body": False},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    async def talk() -> None:
        await app({"type": "http", "method": method, "path": "/task_runs/"}, receive, send)

    try:
        asyncio.run(talk())
    finally:
        app.sent = sent
    return [m["status"] for m in sent if "status" in m], b"".join(m.get("body", b"") for m in sent)


@pytest.mark.parametrize("raises", [True, False])
def test_the_client_sees_one_answer_of_a_request_that_is_asked_again(raises: bool) -> None:
    inner = Locked(3, raises)
    assert asked(AgainWhenLocked(inner)) == ([201], b"yes")
    assert inner.bodies == [b"one run"] * 4


def test_a_request_that_is_asked_again_begins_as_a_writer_and_no_other_does() -> None:
    inner = Locked(2)
    asked(AgainWhenLocked(inner))
    asked(AgainWhenLocked(inner))
    assert inner.was_writer == [False, True, True, False]


def test_what_stays_locked_is_told_when_the_time_is_up() -> None:
    inner = Locked(10_000)
    app = AgainWhenLocked(inner, longest=0.1)
    with pytest.raises(RuntimeError, match="locked"):
        asked(app)
    assert [m["status"] for m in app.sent if "status" in m] == [503]
    assert len(inner.bodies) > 1


def test_reading_requests_are_asked_once() -> None:
    inner = Locked(1, raises=False)
    assert asked(AgainWhenLocked(inner), "GET") == ([503], b"no")
    assert len(inner.bodies) == 1


def test_an_error_without_an_answer_is_raised() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        asked(AgainWhenLocked(broken))
