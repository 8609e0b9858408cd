"""The guard before a web application: nobody without the key gets in, under foreign names and origins nobody at all.

A browser enters once, with the key in a form or by a link that works once, and has a session from then on; programs
send the key as HTTP Basic or Bearer authorization.
"""

import hmac
import os
import secrets
import time
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
HOSTS, ENTER, HEALTH, ONCE = "EVENHAND_HOSTS", "/enter", "/health", "once"
SESSION_SECONDS, MOST_SESSIONS, MOST_FORM_BYTES = 12 * 3600, 100, 4096
App = Callable[[Any, Any, Any], Awaitable[None]]
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Evenhand: key needed</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}}
input,button{{font:inherit;padding:.4rem .6rem}}input{{width:100%;box-sizing:border-box;margin:.3rem 0 .8rem}}
</style><h1>Key needed</h1><p>{words}</p><form method="post" action="{enter}">
<label for="key">Key</label><input id="key" name="key" type="password" autocomplete="current-password" autofocus>
<button>Open</button></form>
<script nonce="{nonce}">document.forms[0].action += location.hash</script></html>"""
WORDS = "<code>evenhand ui</code> and <code>evenhand up</code> print the file that it stands in."
WRONG = "That is not the key. " + WORDS


def allowed_hosts() -> frozenset[str]:
    """The names that pages may be asked for under: the loopback, and those of $EVENHAND_HOSTS."""
    return LOOPBACK | {name.strip().lower() for name in os.environ.get(HOSTS, "").split(",") if name.strip()}


class Guard:
    """A web application behind a key."""

    def __init__(
        self, app: App, key: str, port: int, *, link: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.app, self.key, self.link, self.clock = app, key, link, clock
        self.cookie, self.hosts = f"evenhand_{port}", allowed_hosts()
        self.sessions: dict[str, float] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, refuse, or hand the request on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        headers = Headers(scope["headers"])
        if why := stranger(headers, self.hosts):
            await answer(send, 403, why)
        elif scope["path"] == HEALTH:
            await self.app(scope, receive, send)
        elif scope["path"] == ENTER:
            await self._enter(scope, receive, send)
        elif self._is_key(headers.one("authorization")) or self._has_session(headers):
            inside = [(name, value) for name, value in scope["headers"] if name not in {b"origin", b"cookie"}]
            await self.app({**scope, "headers": inside}, receive, send)
        else:
            await self._ask(send, headers)

    def _is_key(self, authorization: str) -> bool:
        kind, _, given = authorization.partition(" ")
        if kind.lower() == "bearer":
            return self._fits(given.strip())
        try:
            return kind.lower() == "basic" and self._fits(b64decode(given, validate=True).decode())
        except (NotBase64, UnicodeDecodeError):
            return False

    def _fits(self, given: str) -> bool:
        """Whether this is the key, with its user or without."""
        fits = [hmac.compare_digest(given.encode(), each.encode()) for each in (self.key, self.key.partition(":")[2])]
        return bool(given) and any(fits)

    def _has_session(self, headers: "Headers") -> bool:
        try:
            found = SimpleCookie(headers.one("cookie")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and self.sessions.get(found.value, 0.0) > self.clock()

    async def _enter(self, scope: Any, receive: Any, send: Any) -> None:
        """Open a session for who knows the key, or comes by the link that works once."""
        once = parse_qs(scope["query_string"].decode("latin-1")).get(ONCE, [""])[0]
        if scope["method"] == "GET" and self.link and hmac.compare_digest(once.encode(), self.link.encode()):
            self.link = ""
            await self._open(send)
        elif scope["method"] == "POST" and self._fits(await _posted_key(receive)):
            await self._open(send)
        else:
            await _form(send, WRONG if scope["method"] == "POST" else WORDS)

    async def _open(self, send: Any) -> None:
        now, session = self.clock(), secrets.token_urlsafe(32)
        kept = [(name, end) for name, end in self.sessions.items() if end > now]
        self.sessions = dict(kept[-MOST_SESSIONS + 1 :]) | {session: now + SESSION_SECONDS}
        cookie = f"{self.cookie}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECONDS}"
        await answer(send, 303, "", {"location": "/", "set-cookie": cookie})

    async def _ask(self, send: Any, headers: "Headers") -> None:
        if "text/html" in headers.one("accept"):
            await _form(send, WORDS)
            return
        asks = {} if headers.one("sec-fetch-mode") else {"www-authenticate": 'Basic realm="evenhand"'}
        await answer(send, 401, "The key is needed: send it as HTTP Basic or Bearer authorization.", asks)


class NameGuard:
    """A web application that asks for a key itself, under known names and for its own pages alone."""

    def __init__(self, app: App) -> None:
        self.app, self.hosts = app, allowed_hosts()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse, or hand the request on."""
        why = "" if scope["type"] == "lifespan" else stranger(Headers(scope["headers"]), self.hosts)
        if not why:
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await answer(send, 403, why)
        else:
            await send({"type": "websocket.close", "code": 1008})


def stranger(headers: "Headers", hosts: Container[str]) -> str:
    """Why a request is refused whatever key it has; empty if it is not."""
    names, origins = headers.every("host"), headers.every("origin")
    if len(names) != 1 or _host_of(f"//{names[0]}") not in hosts:
        return f"This name of the machine is not known here. Add it to {HOSTS}, or use 127.0.0.1."
    if any(urlsplit(origin).netloc.lower() != names[0].lower() for origin in origins):
        return "Requests from pages of other origins are refused."
    is_other = headers.one("sec-fetch-site") in {"cross-site", "same-site"}
    return "Requests from pages of other sites are refused." if is_other and not headers.is_navigation else ""


class Headers:
    """The headers of a request by their names."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self.raw = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]

    def every(self, name: str) -> list[str]:
        """Every value that was sent under a name."""
        return [value for each, value in self.raw if each == name]

    def one(self, name: str) -> str:
        """The value of a header that is sent once; empty where it is not sent, or more than once."""
        found = self.every(name)
        return found[0] if len(found) == 1 else ""

    @property
    def is_navigation(self) -> bool:
        """Whether a person follows a link or types the address; such a page cannot be read by another one."""
        return self.one("sec-fetch-mode") == "navigate" and self.one("sec-fetch-dest") == "document"


def _host_of(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


async def _posted_key(receive: Any) -> str:
    content, goes_on = b"", True
    while goes_on and len(content) <= MOST_FORM_BYTES:
        message = await receive()
        content += message.get("body", b"")
        goes_on = message.get("more_body", False)
    return parse_qs(content[:MOST_FORM_BYTES].decode("latin-1")).get("key", [""])[0].strip()


async def _form(send: Any, words: str) -> None:
    nonce = secrets.token_urlsafe(12)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; frame-ancestors 'none'"
    page = PAGE.format(words=words, enter=ENTER, nonce=nonce)
    more = {"content-security-policy": policy, "content-type": "text/html; charset=utf-8"}
    await answer(send, 401, page, more)


async def answer(send: Any, status: int, text: str, more: Mapping[str, str] | None = None) -> None:
    """Send a short answer that nobody keeps."""
    headers = {
        "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff", "x-frame-options": "DENY", **(more or {}),
    }  # fmt: skip
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": text.encode()})
