"""Study files: reading one with every mistake and its line, setting values over it, and its JSON Schema."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from evenhand.errors import ConfError, nearest
from evenhand.study.mistakes import line_of, mistakes_of, mistakes_text
from evenhand.study.own_code import find_beside
from evenhand.study.study import Study, as_named
from evenhand.study.validation import Inconsistent, Mistake, Place
from evenhand.study.yaml_bounds import MOST_DEPTH, check_bounds
from evenhand.study.yaml_values import composed, read_yaml, value_of

ROUNDS = 3
DELIMITERS = {",", "\t", "|"}  # which YAML takes for signs of its own
VARIABLE = re.compile(r"\$\{(\w+)\}")


def as_changes(changes: Mapping[str, Any] | Iterable[str]) -> list[str]:
    """Changes by dotted names, given as a mapping or as `key.path=value`, in the latter form."""
    if isinstance(changes, Mapping):
        return [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    return list(changes)


def load_study(path: str | os.PathLike[str], changes: Mapping[str, Any] | Iterable[str] = ()) -> Study:
    """The study in a file, with `key.path=value` changes applied; every mistake is reported at once."""
    file = Path(path)
    content, lines = _parsed(_text_of(file), file)
    content.setdefault("name", file.stem)
    for change in as_changes(changes):
        _set(content, change)
    try:
        study = Study.model_validate(content)
    except ValidationError as error:
        mistakes = [*mistakes_of(error, Study), *_mistakes_beside(error, content)]
        raise ConfError(
            mistakes_text(sorted(mistakes, key=lambda each: line_of(each[0], lines)), lines, str(file))
        ) from None
    study._lines.update(lines)
    study._file = str(file)
    find_beside(study, file)
    return study


def name_in(path: str | os.PathLike[str]) -> str:
    """The name of the study in a file, whatever else stands there."""
    file = Path(path)
    return str(_parsed(_text_of(file), file)[0].get("name", file.stem))


def refuse(study: Study, mistakes: list[Mistake]) -> None:
    """Raise the mistakes found in a loaded study, if there are any, with their lines."""
    if mistakes:
        raise ConfError(mistakes_text(mistakes, study._lines, study._file))


def expanded(text: str) -> str:
    """Text with each `${NAME}` replaced by that environment variable."""

    def value(match: re.Match[str]) -> str:
        if (found := os.environ.get(match[1])) is None:
            raise ConfError(f"'{text}' names the environment variable {match[1]}, which is not set: export it first")
        return found

    return VARIABLE.sub(value, text)


def schema() -> str:
    """The JSON Schema of a study file, for editors."""
    content = Study.model_json_schema(by_alias=True)
    content["required"] = [name for name in content["required"] if name != "name"]
    content["title"] = "Evenhand study"
    return json.dumps(content, indent=2) + "\n"


def _text_of(file: Path) -> str:
    if file.is_dir():
        raise ConfError(f"'{file}' is a folder: name one study file.{_files_beside(file / 'any')}")
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfError(f"there is no study file '{file}'.{_files_beside(file)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfError(f"the study file '{file}' cannot be read as UTF-8 text: {error}") from None


def _files_beside(file: Path) -> str:
    found = sorted(str(other) for other in file.parent.glob("*.yaml")) if file.parent.is_dir() else []
    hint = nearest(str(file), found)
    return hint or (f" In {file.parent}: {', '.join(found)}" if found else "")


def _where(error: Exception) -> str:
    """What YAML found wrong and in which line, without the name that it gives to a text."""
    return " ".join(str(error).replace('in "<unicode string>", ', "in ").split())[:300]


def _remedy(error: Exception, text: str) -> str:
    """What to do about signs that YAML or a study has no use for; empty where its own words are enough."""
    if "a constructor for the tag" in str(error):
        return ": a study has no tags, so write the value without `!`"
    if (mark := getattr(error, "problem_mark", None)) is None:
        return ""
    line = text.splitlines()[mark.line : mark.line + 1]
    return ": write blanks instead of the tab" if line and line[0][mark.column : mark.column + 1] == "\t" else ""


def _parsed(text: str, file: Path) -> tuple[dict[str, Any], dict[Place, int]]:
    try:
        check_bounds(text, str(file))
        node = composed(text)
        lines: dict[Place, int] = {}
        repeated = _note_lines(node, (), lines)
        content = value_of(node)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise ConfError(f"{file} is not YAML: {_where(error)}{_remedy(error, text)}") from None
    if repeated:
        raise ConfError(mistakes_text([(place, "stands twice: keep one") for place in repeated], lines, str(file)))
    if not isinstance(content, dict):
        raise ConfError(f"{file} holds no study: it needs at least source, target and candidates")
    return content, lines


def _note_lines(node: yaml.Node | None, place: Place, lines: dict[Place, int]) -> list[Place]:
    """Write down the line of every key; the places that stand twice are returned."""
    repeated: list[Place] = []
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, str(key.value))
            repeated += [inner] if inner in lines else []
            lines[inner] = key.start_mark.line + 1
            repeated += _note_lines(value, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            lines[(*place, str(number))] = value.start_mark.line + 1
            repeated += _note_lines(value, (*place, str(number)), lines)
    return repeated


def _set(content: dict[str, Any], change: str) -> None:
    key, found, value = change.partition("=")
    if not found or not key:
        raise ConfError(f"--set {change}: write it as key.path=value, such as split.folds=3")
    *outer, last = key.split(".")
    if len(outer) > MOST_DEPTH:
        raise ConfError(f"--set {key[:60]}...: there are no settings that deep, such as split.folds=3")
    place = content
    for name in outer:
        if isinstance(place.get(name), list):
            place[name] = as_named(place[name])
        elif place.get(name) is None:
            place[name] = {}
        place = place[name]
        if not isinstance(place, dict):
            raise ConfError(f"--set {change}: '{name}' holds a single value, so nothing can be set inside it")
    try:
        place[last] = value if value in DELIMITERS else _value(value, key)
    except (yaml.YAMLError, ValueError, OverflowError):
        raise ConfError(f"--set {change}: '{value}' is not a YAML value: quote it") from None


def _value(text: str, key: str) -> Any:
    check_bounds(text, f"--set {key}")
    return read_yaml(text, *key.split("."))


def _mistakes_beside(error: ValidationError, content: dict[str, Any]) -> list[Mistake]:
    """Contradictions among the parts that can be read, found once those that cannot are left out."""
    left, gone = deepcopy(content), list[Place]()
    for _ in range(ROUNDS):
        found, items = mistakes_of(error, Study), error.errors()
        if any(isinstance(item.get("ctx", {}).get("error"), Inconsistent) for item in items):
            return [each for each in found if gone and not any(each[0][: len(place)] == place for place in gone)]
        gone += [place for place, _ in found]
        for item in items:
            _leave_out(left, [str(part) for part in item["loc"]])
        try:
            Study.model_validate({"target": "target", "source": {"path": "rows.csv"}, **left})
            return []
        except ValidationError as again:
            error = again
    return []


def _leave_out(content: dict[str, Any], place: list[str]) -> None:
    """Take out what stands at a place, or the last thing on the way to it; a named part keeps what it is."""
    if place and isinstance(content.get(place[0]), list):
        content[place[0]] = as_named(content[place[0]])
    inner = content.get(place[0]) if place else None
    if len(place) > 1 and isinstance(inner, dict) and place[1] in inner:
        if len(place) == 2 and place[0] in {"encodings", "balance", "candidates"} and isinstance(inner[place[1]], dict):
            inner[place[1]] = {key: inner[place[1]][key] for key in ("kind", "model") if key in inner[place[1]]}
        else:
            _leave_out(inner, place[1:])
    elif place:
        content.pop(place[0], None)
