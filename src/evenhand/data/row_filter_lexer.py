"""The words of a row rule, and mistakes in it with their place."""

import re
from dataclasses import dataclass

from evenhand.errors import DataError

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>'[^']*'|\"[^\"]*\")|`(?P<quoted>[^`]+)`"
    r"|(?P<word>[^\W\d]\w*(?:\.\w+)*)|(?P<sign><=|>=|==|!=|[-<>+*/(),\[\]]))"
)
SHOWN = 160
WORDS = {"and", "or", "not", "in", "is", "missing", "true", "false"}
HINTS = {"=": "write == to compare", "&": "write and", "|": "write or", "!": "write not, or != to compare"} | {
    quote: f"the {quote} is never closed" for quote in "'\"`"
}


@dataclass(frozen=True)
class Token:
    """A word of a rule and where it stands."""

    kind: str
    text: str
    place: int


def words_of(rule: str) -> list[Token]:
    """The words of a rule from left to right, and its end."""
    found, place = [], 0
    while place < len(rule.rstrip()):
        if (match := TOKEN.match(rule, place)) is None:
            raise _odd(rule, place + len(rule[place:]) - len(rule[place:].lstrip()))
        group = match.lastgroup or "sign"
        word = match[group]
        kind = word if group == "sign" or (group == "word" and word in WORDS) else group
        found.append(Token(kind, word, match.start(group)))
        place = match.end()
    return [*found, Token("end", "the end", len(rule))]


def mistake(rule: str, place: int, message: str) -> DataError:
    """A mistake in a rule, with a mark under its place."""
    start = max(0, place - SHOWN // 2)
    shown = rule[start : start + SHOWN]
    return DataError(
        f"cleaning.rows: the rule '{rule[:SHOWN]}' is wrong at character {place + 1}: {message}.\n"
        f"  {shown}\n  {' ' * (place - start)}^"
    )


def _odd(rule: str, place: int) -> DataError:
    sign = rule[place]
    hint = f": {HINTS[sign]}" if sign in HINTS else ""
    return mistake(rule, place, f"'{sign}' is not known here{hint}")
