"""Messages on their way out: JSON to a webhook, text to a mailbox; tried a few times, with addresses never shown."""

import http.client
import json
import smtplib
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

from evenhand.study.loader import expanded
from evenhand.study.study import Email

SECONDS = 10.0
PAUSES = (1.0, 4.0)
PASSING = {408, 425, 429}


class Undeliverable(Exception):
    """The other side could not be reached, or refused."""


class Refused(Undeliverable):
    """The other side says no, and will say so again."""


def post(address: str, message: dict[str, Any]) -> None:
    """Post a message as JSON; `text` is what Slack and its like show."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Refused("notify.webhook is no address that begins with http:// or https://")
    headers = {"Content-Type": "application/json", "Idempotency-Key": message["id"], "User-Agent": "evenhand"}
    request = urllib.request.Request(address, json.dumps(message).encode(), headers, method="POST")
    _tried(lambda: _posted(request), f"the webhook at {parts.hostname}")


def email(settings: Email, message: dict[str, Any]) -> None:
    """Send a message as an e-mail; its Message-ID is that of the event."""
    letter = EmailMessage()
    letter["Subject"] = message["text"][:150]
    letter["From"], letter["To"] = settings.sender, ", ".join(settings.to)
    letter["Message-ID"] = f"<{message['id']}@evenhand>"
    facts = "".join(f"{key}: {value}\n" for key, value in message["facts"].items())
    letter.set_content(f"{message['text']}\n\nstudy: {message['study']}\nwhen: {message['when']}\n{facts}")
    login = (expanded(settings.user), expanded(settings.password)) if settings.user and settings.password else None
    _tried(lambda: _sent(settings, letter, login), f"the mail server {settings.host}:{settings.port}")


def _tried(attempt: Callable[[], None], whom: str) -> None:
    for pause in (*PAUSES, None):
        try:
            return attempt()
        except Refused as error:
            raise Refused(f"{whom} {error}") from None
        except (OSError, http.client.HTTPException, smtplib.SMTPException) as error:
            if pause is None:
                raise Undeliverable(f"{whom} could not be reached: {_words_of(error)}") from None
            time.sleep(pause)


def _posted(request: urllib.request.Request) -> None:
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            answer.read(1)
    except urllib.error.HTTPError as error:
        with error:
            if error.code < 500 and error.code not in PASSING:
                raise Refused(f"answered {error.code} {error.reason}: check notify.webhook") from None
        raise


def _sent(settings: Email, letter: EmailMessage, login: tuple[str, str] | None) -> None:
    try:
        with _connected(settings) as server:
            if login is not None:
                server.login(*login)
            server.send_message(letter)
    except (smtplib.SMTPAuthenticationError, smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused) as error:
        raise Refused(f"refused the message: {_words_of(error)}: check notify.email") from None


def _connected(settings: Email) -> smtplib.SMTP:
    if settings.security == "tls":
        return smtplib.SMTP_SSL(settings.host, settings.port, timeout=SECONDS, context=ssl.create_default_context())
    server = smtplib.SMTP(settings.host, settings.port, timeout=SECONDS)
    try:
        if settings.security == "starttls":
            server.starttls(context=ssl.create_default_context())
    except (OSError, smtplib.SMTPException):
        server.close()
        raise
    return server


def _words_of(error: Exception) -> str:
    """What an error says, without what may hold an address."""
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}"
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
    return str(reason or type(error).__name__)
