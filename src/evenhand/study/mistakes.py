"""Mistakes in settings in words: each with its place, what was found there, and its line where there is a file."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from evenhand.errors import nearest
from evenhand.runtime.redaction import masked_text
from evenhand.study.validation import Inconsistent, Mistake, Place

FORM = re.compile(r"str|int|float|bool|DaskEngine|(tuple|dict|literal)\[.*\]")  # as pydantic puts it into a place
NAMED = {("encodings",), ("balance",), ("candidates",)}  # below which people name parts
WANTED = {  # by pydantic's names of mistakes
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    "string_type": "text",
}
BOUNDS = {
    "too_short": "is empty: give at least {min_length}",
    "string_too_short": "should be at least {min_length} long",
    "string_too_long": "should be at most {max_length} long",
    "string_pattern_mismatch": "should have letters and digits, with - and _ between them",
}
MOST_MISTAKES, MOST_FOUND, MOST_WORDS = 40, 120, 1200  # signs; a whole file may stand where a word should


def mistakes_text(mistakes: Iterable[Mistake], lines: Mapping[Place, int], file: str) -> str:
    """Mistakes as one message: a line each, with the file's line where it is known."""
    mistakes = list(mistakes)
    count = "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    whole = "the file" if lines else "as a whole"
    rows = [
        f"  {_where(place, lines)}{_cut('.'.join(place)) or whole}: {_cut(message, MOST_WORDS)}"
        for place, message in mistakes[:MOST_MISTAKES]
    ]
    if len(mistakes) > MOST_MISTAKES:
        rows.append(f"  and {len(mistakes) - MOST_MISTAKES:,} more")
    return "\n".join([f"{file or 'the study'} has {count}:", *rows])


def mistakes_of(error: ValidationError, settings: type[BaseModel]) -> list[Mistake]:
    """Every mistake that pydantic found, with its place."""
    found: list[Mistake] = []
    for item, place in _placed(error.errors()):
        cause = item.get("ctx", {}).get("error")
        if isinstance(cause, Inconsistent):
            found += cause.mistakes
        else:
            found.append((place, _in_words(item, place, settings)))
    return found


def _placed(items: Sequence[Any]) -> Iterator[tuple[Any, Place]]:
    """Each mistake with its place; where a value may be of several forms, those of the form that it comes nearest."""
    places = [
        tuple(str(part) for part in item["loc"] if not str(part).startswith(("function-", "tagged-union")))
        for item in items
    ]
    forms = [next((n for n in range(1 + (at[:1] in NAMED), len(at)) if FORM.fullmatch(at[n])), 0) for at in places]
    nearest_form: dict[Place, Place] = {}
    for place, n in zip(places, forms, strict=True):
        if len(place) > len(nearest_form.get(place[:n], ())):
            nearest_form[place[:n]] = place
    for item, place, n in zip(items, places, forms, strict=True):
        if not n:
            yield item, place
        elif nearest_form[place[:n]][n] == place[n]:
            yield item, place[:n] + place[n + 1 :]


def _in_words(item: Mapping[str, Any], place: Place, settings: type[BaseModel]) -> str:
    if item["type"] == "extra_forbidden":
        known = _fields_at(place[:-1], settings)
        return f"unknown key.{nearest(place[-1], known)} Known here: {', '.join(sorted(known))}"
    if item["type"] == "missing":
        return "is needed but was not given"
    if item["type"] in {"dict_type", "model_type"}:
        known = _fields_at(place, settings)
        return f"needs keys of its own below it; found {_shown(item['input'])}. Known here: {', '.join(known)}"
    message, given = item["msg"].removeprefix("Value error, "), item.get("input")
    if (wanted := WANTED.get(item["type"])) is not None:
        message = f"should be {wanted}"
        if wanted == "text" and isinstance(given, bool | int | float):
            message = "is text, so write it in quotes"
    elif (bound := BOUNDS.get(item["type"])) is not None:
        message = bound.format(**item["ctx"])
    is_part = isinstance(given, BaseModel) or (wanted is None and isinstance(given, dict))
    return message.replace("Input should", "should") + ("" if is_part else f"; found {_shown(given)}")


def _shown(given: Any) -> str:
    """What was given as a study file has it, without the secrets of an address, and not much longer than a line."""
    if given is None or isinstance(given, bool):
        return "nothing" if given is None else str(given).lower()
    return _cut(repr(masked_text(given) if isinstance(given, str) else given))


def _cut(text: str, most: int = MOST_FOUND) -> str:
    """Text with its middle left out where it is longer than that."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def _fields_at(place: Place, settings: type[BaseModel]) -> list[str]:
    """The keys known at a place of the settings, followed through the JSON Schema."""
    content = settings.model_json_schema(by_alias=True)
    node = content
    for name in place:
        node = _resolved(node.get("properties", {}).get(name) or node.get("additionalProperties") or {}, content)
    return list(node.get("properties", {}))


def _resolved(node: Any, content: Mapping[str, Any]) -> dict[str, Any]:
    while isinstance(node, dict) and any(key in node for key in ("$ref", "anyOf", "oneOf")):
        if "$ref" in node:
            node = content["$defs"][node["$ref"].rsplit("/", 1)[1]]
        else:
            options = [each for each in node.get("anyOf") or node["oneOf"] if each.get("type") not in {"null", "array"}]
            node = next((each for each in options if "$ref" in each), options[0] if options else {})
    if isinstance(node, dict) and "additionalProperties" in node and "properties" not in node:
        return {"additionalProperties": node["additionalProperties"]}
    return node if isinstance(node, dict) else {}


def _where(place: Place, lines: Mapping[Place, int]) -> str:
    line = line_of(place, lines)
    return f"line {line}: " if line else ""


def line_of(place: Place, lines: Mapping[Place, int]) -> int:
    """The line of a place, or of the innermost part of it that has one; 0 where none has."""
    return next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), 0)
