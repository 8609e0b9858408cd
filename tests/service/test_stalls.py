"""A request that waits long for its answer leaves behind what the server did meanwhile."""

import asyncio
import threading

from evenhand.service.prefect_server.application import LOG, log_in
from evenhand.service.prefect_server.stalls import StallsSeen

SCOPE = {"type": "http", "method": "POST", "path": "/api/artifacts/"}


def test_a_request_that_waits_is_reported_once_with_what_each_task_waits_for():
    written = []

    async def slow(scope, receive, send):
        while not written:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)  # long enough for another look

    asyncio.run(StallsSeen(slow, written.append, longest=0.05)(SCOPE, None, None))

    (text,) = written
    assert "POST /api/artifacts/: " in text
    assert "> slow (" in text
    assert "test_stalls.py" in text


def test_an_event_loop_that_stands_still_is_seen_by_its_stack():
    reported = threading.Event()

    async def still(scope, receive, send):
        assert reported.wait(60)

    written = []

    def write(text):
        written.append(text)
        reported.set()

    asyncio.run(StallsSeen(still, write, longest=0.05)(SCOPE, None, None))

    assert "reported.wait(60)" in written[0]


def test_a_request_that_is_answered_in_time_is_not_reported():
    written = []

    async def quick(scope, receive, send):
        await asyncio.sleep(0)

    async def asked():
        watched = StallsSeen(quick, written.append, longest=60)
        await watched(SCOPE, None, None)
        watched.look()

    asyncio.run(asked())

    assert written == []


def test_the_log_appears_with_its_first_line(tmp_path):
    write = log_in(tmp_path)

    assert not (tmp_path / LOG).exists()

    write("requests without an answer:")
    assert "requests without an answer:" in (tmp_path / LOG).read_text(encoding="utf-8")
