"""Nobody gets to a page without the key, under a foreign name or from a foreign page; with the key everybody does."""

import asyncio
import stat
from base64 import b64encode

import httpx
import pytest

from evenhand.service.access_key import key, key_file
from evenhand.service.web_guard import HOSTS, MOST_SESSIONS, SESSION_SECONDS, Guard, NameGuard

KEY = "evenhand:a-long-secret"
PAGE = {"Accept": "text/html,application/xhtml+xml"}


class Inside:
    """An application that keeps what reached it."""

    def __init__(self):
        self.got = []

    async def __call__(self, scope, receive, send):
        self.got.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"inside"})


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def inside():
    return Inside()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def guard(inside, clock):
    return Guard(inside, KEY, 5000, link="the-link", clock=clock)


def asked(guard, method="GET", path="/", base="http://127.0.0.1:5000", **more):
    async def ask():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url=base) as client:
            return await client.request(method, path, **more)

    return asyncio.run(ask())


def basic(text):
    return {"Authorization": f"Basic {b64encode(text.encode()).decode()}"}


def session(guard):
    """The cookie of a browser that entered with the key."""
    entered = asked(guard, "POST", "/enter", data={"key": KEY})
    return {"Cookie": entered.headers["set-cookie"].partition(";")[0]}


@pytest.mark.parametrize(
    "path", ["/", "/api/2.0/mlflow/runs/search", "/enter", "/ajax-api/2.0/mlflow/x", "//health", "/health/"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_without_the_key_nothing_is_answered(guard, inside, path, method):
    assert asked(guard, method, path).status_code == 401
    assert inside.got == []


def test_whether_it_is_up_is_answered_to_everybody_under_a_known_name(guard, inside):
    assert asked(guard, path="/health").text == "inside"
    assert asked(guard, path="/health", base="http://evil.example").status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        basic(KEY),
        basic("evenhand:a-long-secret"),
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": "Bearer a-long-secret"},
    ],
)
def test_programs_get_in_with_the_key(guard, headers):
    assert asked(guard, headers=headers).text == "inside"


@pytest.mark.parametrize(
    "headers",
    [
        basic("evenhand:wrong"), basic("evenhand:"), basic(""), basic("evenhand:a-long-secre"),
        {"Authorization": "Basic %%%"}, {"Authorization": "Bearer "}, {"Authorization": "Bearer evenhand"},
        {"Authorization": "Digest a-long-secret"}, {"Cookie": "evenhand_5000=guess"}, {"Cookie": "evenhand_5000="},
        {"Cookie": "=;;;"},
    ],
)  # fmt: skip
def test_nothing_else_gets_in(guard, inside, headers):
    assert asked(guard, headers=headers).status_code == 401
    assert inside.got == []


@pytest.mark.parametrize("name", ["127.0.0.1:5000", "localhost:5000", "LOCALHOST", "[::1]:5000"])
def test_the_names_of_the_loopback_are_known(guard, name):
    assert asked(guard, headers={**basic(KEY), "Host": name}).status_code == 200


@pytest.mark.parametrize(
    "name",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:5000", "127.0.0.2", "0.0.0.0", "", "[::1", "a@127.0.0.2"],
)
def test_other_names_are_refused_even_with_the_key(guard, inside, name):
    found = asked(guard, headers={**basic(KEY), "Host": name})

    assert found.status_code == 403
    assert "EVENHAND_HOSTS" in found.text
    assert inside.got == []


def test_a_name_that_the_owner_gives_is_known(inside, monkeypatch):
    monkeypatch.setenv(HOSTS, "runs.example, Other.example")
    guard = Guard(inside, KEY, 5000)

    found = [
        asked(guard, base=f"https://{name}", headers=basic(KEY)).status_code
        for name in ("runs.example", "other.example", "third.example")
    ]

    assert found == [200, 200, 403]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:8000", "http://localhost:5000", "file://"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_pages_of_other_origins_are_refused_even_with_a_session(guard, inside, origin, method):
    assert asked(guard, method, headers={**session(guard), "Origin": origin}).status_code == 403
    assert inside.got == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_page_loads_is_refused_and_what_a_person_opens_is_not(guard, site):
    embedded = {**session(guard), "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    opened = {**session(guard), "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    assert asked(guard, headers=embedded).status_code == 403
    assert asked(guard, headers=opened).status_code == 200


def test_own_pages_are_answered_and_what_proves_the_session_stays_outside(guard, inside):
    own = {**session(guard), "Origin": "http://127.0.0.1:5000", "Sec-Fetch-Site": "same-origin"}

    assert asked(guard, "POST", "/api", headers=own).status_code == 200
    assert {b"origin", b"cookie"} & {name for name, _ in inside.got[-1]["headers"]} == set()


def test_a_browser_is_shown_a_form_that_keeps_the_place_and_a_program_is_not(guard):
    page, program = asked(guard, headers=PAGE), asked(guard)

    assert page.status_code == program.status_code == 401
    assert '<form method="post" action="/enter">' in page.text
    assert "location.hash" in page.text
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "www-authenticate" not in page.headers
    assert program.headers["www-authenticate"].startswith("Basic")


def test_the_key_opens_a_session_that_scripts_and_other_sites_cannot_use(guard):
    entered = asked(guard, "POST", "/enter", data={"key": KEY})

    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(entered.headers["set-cookie"].split("; "))
    assert KEY not in entered.headers["set-cookie"]


def test_a_wrong_key_opens_none(guard):
    refused = asked(guard, "POST", "/enter", data={"key": "wrong"})

    assert refused.status_code == 401
    assert "That is not the key" in refused.text
    assert "set-cookie" not in refused.headers


def test_a_form_without_end_is_not_read_to_its_end(guard):
    assert asked(guard, "POST", "/enter", content=b"x" * 10_000_000).status_code == 401


def test_the_link_works_once(guard):
    first, second = (asked(guard, path="/enter?once=the-link") for _ in range(2))

    assert (first.status_code, second.status_code) == (303, 401)
    assert asked(guard, headers={"Cookie": first.headers["set-cookie"].partition(";")[0]}).status_code == 200


def test_without_a_link_an_empty_one_opens_nothing(inside):
    assert asked(Guard(inside, KEY, 5000), path="/enter?once=").status_code == 401


def test_a_session_ends_with_its_time(guard, clock):
    own = session(guard)
    clock.now = SESSION_SECONDS - 1
    before = asked(guard, headers=own).status_code
    clock.now = SESSION_SECONDS

    assert (before, asked(guard, headers=own).status_code) == (200, 401)


def test_sessions_are_bounded_and_the_oldest_goes_first(guard):
    first, second, *_, last = [session(guard) for _ in range(MOST_SESSIONS + 1)]

    assert len(guard.sessions) == MOST_SESSIONS
    assert [asked(guard, headers=each).status_code for each in (first, second, last)] == [401, 200, 200]


def test_a_socket_is_closed(guard, inside):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(guard({"type": "websocket", "headers": []}, None, send))

    assert sent == [{"type": "websocket.close", "code": 1008}]
    assert inside.got == []


def test_the_key_is_made_once_and_only_its_owner_can_read_it():
    first, second = key(), key()

    assert first == second
    assert first.startswith("evenhand:")
    assert len(first.partition(":")[2]) == 32
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file().parent.stat().st_mode) == 0o700
    assert sorted(each.name for each in key_file().parent.iterdir()) == ["key", "key.lock"]


@pytest.mark.parametrize("content", ["", "\n", "evenhand:", "evenhand"])
def test_a_key_that_was_cut_off_is_made_anew(content):
    key_file().parent.mkdir(parents=True)
    key_file().write_text(content)

    assert len(key()) == len("evenhand:") + 32
    assert key() == key_file().read_text()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:4200"}, 200),
        ({"Origin": "http://127.0.0.1:4200"}, 200),
        ({"Host": "elsewhere.example"}, 403),
        ({"Origin": "http://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_an_application_with_a_key_of_its_own_is_asked_under_known_names_by_its_own_pages_alone(
    inside, headers, status
):
    found = asked(NameGuard(inside), base="http://127.0.0.1:4200", headers=headers)

    assert found.status_code == status
    assert bool(inside.got) == (status == 200)


@pytest.mark.parametrize(("origin", "is_in"), [("http://127.0.0.1:4200", True), ("http://elsewhere.example", False)])
def test_a_socket_that_another_page_opens_is_closed(origin, is_in):
    reached, sent = [], []

    async def inside(scope, receive, send):
        reached.append(scope)

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:4200"), (b"origin", origin.encode())]
    asyncio.run(NameGuard(inside)({"type": "websocket", "headers": headers}, None, send))

    assert bool(reached) == is_in
    assert sent == ([] if is_in else [{"type": "websocket.close", "code": 1008}])
