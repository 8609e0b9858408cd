"""What must not stand in a record: addresses of webhooks, and passwords and tokens in addresses.

`${NAME}` stays as it is, since it names a secret and is none; what a person wrote out in the study file is masked.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

MASK = "***"
USER_PART = re.compile(r"([a-z][a-z0-9+.-]*)://([^\s/?#@]+)@", re.IGNORECASE)
QUERY_PART = re.compile(
    r"([?&;][^=&#\s]*(?:token|secret|passw|pwd|sig|key|auth|credential)[^=&#\s]*=)([^&#;\s'\"]+)", re.IGNORECASE
)


def masked(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a study without the secrets that are written out in it."""
    plain: dict[str, Any] = _walked(dict(content))
    notify = plain.get("notify") or {}
    if notify.get("webhook"):
        notify["webhook"] = _masked_webhook(content["notify"]["webhook"])
    if (notify.get("email") or {}).get("password"):
        notify["email"]["password"] = _unless_named(content["notify"]["email"]["password"])
    return plain


def is_masked(address: str) -> bool:
    """Whether an address came out of a record, without what it takes to use it."""
    return MASK in address


def _walked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _walked(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_walked(inner) for inner in value]
    return _masked_address(value) if isinstance(value, str) else value


def _masked_address(text: str) -> str:
    """A text without the passwords and tokens of the addresses in it."""
    text = USER_PART.sub(lambda found: f"{found[1]}://{_masked_user(*found.groups())}@", text)
    return QUERY_PART.sub(lambda found: found[1] + _unless_named(found[2]), text)


def _masked_user(scheme: str, user: str) -> str:
    """The part before the @: a user is shown, a password not; a single word is a token on the web, else a user."""
    name, has_password, password = user.partition(":")
    if has_password:
        return f"{name}:{_unless_named(password)}"
    return _unless_named(user) if scheme.lower().startswith("http") else user


def _masked_webhook(address: str) -> str:
    """Whoever knows all of it can write to the channel, so only the machine is shown."""
    if "${" in address:
        return str(_masked_address(address))
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{MASK}"


def _unless_named(secret: str) -> str:
    """All but the names of variables masked."""
    parts = re.split(r"(\$\{\w+\})", secret)
    return "".join(part if number % 2 else MASK * bool(part) for number, part in enumerate(parts))
