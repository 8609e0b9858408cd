"""What must not stand in a record: passwords, tokens and keys in addresses, and whatever a webhook's address has.

`${NAME}` stays as it is, since it names a secret and is none; what a person wrote out in the study file is masked. An
address is cut into parts with every doubt against it: readers of addresses differ in where a password ends.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote, unquote_plus, urlsplit

MASK = "***"
START = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
EMBEDDED = re.compile(r"(?:\b[a-z][a-z0-9+.-]*:)?//[^\s'\"<>`]+", re.IGNORECASE)
NAMED = re.compile(r"(\$\{\w+\})")
SECRET_WORD = re.compile(
    r"token|secret|passw|pwd|sig\b|signature|key|auth|credential|sas\b|\bpat\b|\bcode\b|webhook", re.I
)
SETTING = re.compile(
    r"(\b[\w-]*(?:token|secret|passw|pwd|accountkey|accesskey|access_key|api_?key|signature|credential)[\w-]*\s?=\s?)"
    r"(\{[^}]*\}|'[^']*'|\"[^\"]*\"|[^\s;&,'\"]+)",
    re.IGNORECASE,
)
KNOWN_TOKEN = re.compile(
    r"gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk[-_]|rk_live|AKIA|ASIA|eyJ|hf_|npm_|pypi-|dop_v1_|SG\.|bot\d+:|whsec_"
)
HEX, LONG, LONGER, LONG_PART = re.compile(r"[0-9a-f-]{16,}", re.IGNORECASE), 16, 20, 6
Part = tuple[str, bool]


def masked(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a study without the secrets that are written out in it."""
    plain: dict[str, Any] = _walked(dict(content))
    notify = plain.get("notify") or {}
    if notify.get("webhook"):
        notify["webhook"] = _masked_webhook(content["notify"]["webhook"])
    if (notify.get("email") or {}).get("password"):
        notify["email"]["password"] = _unless_named(content["notify"]["email"]["password"])
    return plain


def masked_text(text: str) -> str:
    """A text without the secrets of the addresses and connection settings in it."""
    if START.match(text):
        return _masked_address(text)
    text = EMBEDDED.sub(lambda found: _masked_address(found[0]), text)
    return SETTING.sub(lambda found: found[1] + _unless_named(found[2]), text)


def without_secrets(text: str, address: str) -> str:
    """A message without the secrets of an address, however they are quoted in it."""
    for secret in sorted(_secrets(address), key=len, reverse=True):
        for form in {secret, unquote(secret), unquote_plus(secret), quote(secret, safe=""), quote(secret)}:
            if len(form) > 2:
                text = text.replace(form, MASK)
    return masked_text(text)


def place_of(address: str) -> str:
    """What an address may be called by: where it leads, without who asks and with what."""
    found = START.match(address)
    if found is None:
        return masked_text(address)
    head, rest = found[0], address[found.end() :]
    body = re.split(r"[?#]", rest[_end_of_user(rest) :], maxsplit=1)[0]
    return head + "".join(MASK if is_secret else piece for piece, is_secret in _path(body))


def is_masked(address: str) -> bool:
    """Whether an address came out of a record, without what it takes to use it."""
    return MASK in address


def _walked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _walked(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_walked(inner) for inner in value]
    return masked_text(value) if isinstance(value, str) else value


def _masked_address(address: str) -> str:
    text = "".join(_unless_named(piece) if is_secret else piece for piece, is_secret in _parts(address))
    for secret in _by_readers(address):
        text = text.replace(secret, _unless_named(secret))
    return text


def _secrets(address: str) -> set[str]:
    """What is secret of an address, and its parts: who reads the address otherwise takes them for something else."""
    pieces = [piece for piece, is_secret in _parts(_from_start(address)) if is_secret]
    words = {word for piece in pieces for word in NAMED.split(piece) if word and not NAMED.fullmatch(word)}
    parts = {part for word in words for part in re.split(r"[^A-Za-z0-9]|%[0-9A-F]{2}", word) if len(part) >= LONG_PART}
    return words | parts


def _from_start(address: str) -> str:
    """An address from its last scheme on that stands before the machine."""
    found = EMBEDDED.search(address)
    return address if START.match(address) or found is None else address[found.start() :]


def _parts(address: str) -> Iterator[Part]:
    """The parts of an address in their order, each with whether it is to be masked."""
    if (found := START.match(address)) is None:
        yield address, False
        return
    scheme, rest = found[0], address[found.end() :]
    yield scheme, False
    end = _end_of_user(rest)
    yield from _user(scheme, rest[:end])
    body, mark, query = re.match(r"([^?#]*)([?#]?)(.*)", rest[end:], re.DOTALL).groups()  # type: ignore[union-attr]
    yield from _path(body)
    yield mark, False
    yield from _query(query)


def _end_of_user(rest: str) -> int:
    """Where user and password end: at the last @ that may close them, since both may hold any sign."""
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in authority:
        return rest.rfind("@", 0, max(len(authority), _query_start(rest))) + 1
    name, colon, port = authority.rpartition(":")
    is_port = not colon or not port or port.isdigit() or NAMED.fullmatch(port) or name.endswith("]") or "]" in port
    return 0 if is_port or "@" not in rest else rest.rfind("@") + 1


def _query_start(rest: str) -> int:
    found = rest.find("?")
    return len(rest) if found < 0 else found


def _user(scheme: str, user: str) -> Iterator[Part]:
    """A user is shown, a password not; a single word is a token on the web, and else a user if it looks like one."""
    if not user:
        return
    name, has_password, password = [*re.split(r"(:|%3A)", user[:-1], maxsplit=1, flags=re.IGNORECASE), "", ""][:3]
    if has_password:
        yield name, _is_token(name)
        yield has_password, False
        yield password, True
    else:
        yield name, scheme.lower().startswith("http") or _is_token(name)
    yield "@", False


def _path(body: str) -> Iterator[Part]:
    """The machine and the folders; folders that look like a token, or follow one that is called so, are masked."""
    before = ""
    for number, part in enumerate(re.split(r"([/;])", body)):
        if part in {"/", ";"}:
            yield part, False
            continue
        name, equals, value = part.partition("=")
        inside = re.fullmatch(r"(.*:)(.*)(@.*)", part, re.DOTALL)
        if equals and number:
            yield from ((name, False), (equals, False), (value, True))
        elif inside:
            yield from ((inside[1], False), (inside[2], True), (inside[3], False))
        elif number == 0:
            yield from _machine(part)
        else:
            yield from _file(part, bool(before and SECRET_WORD.fullmatch(before)))
        before = part or before


def _machine(part: str) -> Iterator[Part]:
    """The machine with its port; what stands after the colon and is no port is taken for a password."""
    name, colon, port = part.rpartition(":")
    if not colon or port.isdigit() or "]" in port or NAMED.fullmatch(port):
        yield part, False
    else:
        yield from ((name, False), (colon, False), (port, True))


def _file(part: str, follows_secret: bool) -> Iterator[Part]:
    stem, dot, ending = part.rpartition(".") if re.search(r"[^.]\.\w{1,8}$", part) else (part, "", "")
    if follows_secret or _is_token(part) or _is_token(stem):
        is_ending = not follows_secret and not _is_token(ending) and len(ending) <= 7 and not KNOWN_TOKEN.match(part)
        yield (stem if is_ending else part), True
        yield (dot + ending if is_ending else ""), False
    else:
        yield part, False


def _is_token(word: str) -> bool:
    """Whether a word looks drawn at random: long, without spaces, letters mixed with digits or with capitals."""
    word = unquote(NAMED.sub("", word))
    if KNOWN_TOKEN.match(word) or (
        HEX.fullmatch(word) and sum(sign.isdigit() for sign in word) > 1 and "-" not in word
    ):
        return True
    if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", word, re.IGNORECASE):
        return True
    return any(_is_random(part) for part in re.split(r"[-_.~:,+ ]", word)) or _n_turns(re.sub(r"[-_.=]", "", word)) > 7


def _is_random(word: str) -> bool:
    has_digit, has_upper = any(s.isdigit() for s in word), any(s.isupper() for s in word)
    has_lower = any(s.islower() for s in word)
    if len(word) >= LONG and has_digit and (has_upper or has_lower) and _n_turns(word) >= 3:
        return True
    return len(word) >= LONGER and has_upper and has_lower and _n_turns(word) >= 4


def _n_turns(word: str) -> int:
    """How often a word goes over from small letters to capitals, or from either to digits and back."""
    return len(re.findall(r"(?<=[a-z])[A-Z0-9]|(?<=[0-9])[A-Za-z]|(?<=[A-Z])[0-9]", word))


def _query(query: str) -> Iterator[Part]:
    """Every value of a query and all that stands without a name; names of settings are shown."""
    for part in re.split(r"([&;#?])", query):
        name, equals, value = part.partition("=")
        if part in {"&", ";", "#", "?"} or not equals:
            yield part, part not in {"&", ";", "#", "?"}
        else:
            yield from ((name, _is_token(name)), (equals, False), (value, True))


def _by_readers(address: str) -> set[str]:
    """Passwords as the readers of addresses find them that are in use here."""
    found: set[str | None] = set()
    with suppress(ValueError):
        found.add(urlsplit(address).password)
    if not address.lower().startswith(("http", "s3:", "gs:", "/")):
        with suppress(Exception):  # whatever a package does with what is no address of a database
            from sqlalchemy import make_url

            password = make_url(address).password
            found |= {password, password and quote(password, safe="")}
    return {each for each in found if each and len(each) > 2 and not NAMED.fullmatch(each)}


def _masked_webhook(address: str) -> str:
    """Whoever knows all of it can write to the channel, so only the machine is shown."""
    if "${" in address:
        return masked_text(address)
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{MASK}"


def _unless_named(secret: str) -> str:
    """All but the names of variables masked."""
    return "".join(part if number % 2 else MASK * bool(part) for number, part in enumerate(NAMED.split(secret)))
