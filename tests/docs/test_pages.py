"""What the docs name is there: commands, keys of a study, words of the reference; test_typed_pages.py types them."""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest
import yaml
from jsonschema import Draft202012Validator

from evenhand.cli.main import main
from evenhand.study.loader import load_study
from evenhand.study.registry import METRICS
from evenhand.study.study import Study

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(file for file in DOCS.rglob("*.md") if not {"decisions", "images"} & set(file.parts))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_STUDY = {
    "source": "payments.csv", "target": "fraud", "positive": "yes", "candidates": ["gaussian_nb"],
    "columns": {"key": "id", "time": "at", "group": "customer"},
}  # fmt: skip


def blocks(file: Path, *kinds: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page, with their language."""
    for kind, text in BLOCK.findall(file.read_text(encoding="utf-8")):
        if not kinds or kind in kinds:
            yield kind, text


def commands(text: str) -> list[list[str]]:
    """What is typed in a console block."""
    return [shlex.split(line[2:], comments=True) for line in text.splitlines() if line.startswith("$ ")]


def check_known(words: list[str]) -> None:
    """Refuse a command, an option or a number of arguments that there is not."""
    command: click.Command = main
    path, rest = words[:1], words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest[0])
        assert found is not None, f"there is no command {' '.join(words)}"
        command, path, rest = found, [*path, rest[0]], rest[1:]
    with contextlib.suppress(click.BadParameter):  # a file that is not there; options that are not known are no such
        command.make_context(" ".join(path), rest)


def named(file: Path) -> list[list[str]]:
    """The commands that a page names within its text; three dots stand for what the reader says."""
    found = re.findall(r"`(evenhand [^`]+)`", BLOCK.sub("", file.read_text(encoding="utf-8")))
    return [shlex.split(words.replace(" ...", " words")) for words in found]


ALL_COMMANDS = [
    (file.name, words)
    for file in [ROOT / "README.md", *PAGES]
    for words in (*(each for _, text in blocks(file, "console") for each in commands(text)), *named(file))
]


@pytest.mark.parametrize(("page", "words"), ALL_COMMANDS, ids=lambda value: value if isinstance(value, str) else None)
def test_every_command_is_one_that_there_is(page, words):
    assert words[0] == "evenhand"

    check_known(words)


def test_pages_show_commands_and_studies():
    assert len(ALL_COMMANDS) > 20
    assert len(ALL_STUDIES) > 20


ALL_STUDIES = [
    (f"{file.stem}-{number}", text) for file in PAGES for number, (_, text) in enumerate(blocks(file, "yaml"))
]


@pytest.mark.parametrize(("place", "text"), ALL_STUDIES, ids=[place for place, _ in ALL_STUDIES])
def test_every_piece_of_a_study_is_valid(place, text, tmp_path, monkeypatch):
    for name in re.findall(r"\$\{(\w+)\}", text):
        monkeypatch.setenv(name, "https://example.org/hook")
    piece = yaml.safe_load(text)
    whole = {**ANY_STUDY, **piece, "columns": {**ANY_STUDY["columns"], **piece.get("columns", {})}}
    for own in ("balance", "encodings"):
        if own in piece and "candidates" not in piece:
            whole[own] = piece[own]
    (tmp_path / "piece.yaml").write_text(yaml.safe_dump(whole), encoding="utf-8")

    study = load_study(tmp_path / "piece.yaml")

    assert study.name == "piece"


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """The reference as it is generated; without what builds the site there is nothing to test."""
    pytest.importorskip("mkdocs")
    import importlib.util

    spec = importlib.util.spec_from_file_location("hooks_of_docs", DOCS / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_every_metric_with_its_formula(hooks):
    page = hooks.metrics_page()

    assert set(METRICS) <= set(hooks.FORMULAS)
    assert all(f"| `{name}` | {hooks.FORMULAS[name]}".replace("|y - f|", "\\|y - f\\|") in page for name in METRICS)


def test_the_reference_describes_every_key_of_a_study(hooks):
    rows = [line.split(" | ") for line in hooks.study_page().splitlines() if line.startswith("| `")]

    assert len(rows) > 100
    assert [row[0] for row in rows if not row[3].strip()] == []


def test_every_key_of_a_study_has_an_example_that_its_schema_takes(hooks):
    schema = Study.model_json_schema(by_alias=True)
    examples = hooks.examples_of_keys()
    sections = {"Study": schema, **schema["$defs"]}
    keys = {title: set(section["properties"]) for title, section in sections.items() if "properties" in section}

    assert {title: set(found) for title, found in examples.items()} == keys
    for title, found in examples.items():
        for name, value in found.items():
            about = {**sections[title]["properties"][name], "$defs": schema["$defs"]}
            assert not list(Draft202012Validator(about).iter_errors(value)), (title, name, value)


def test_every_key_of_a_study_says_since_when_once(hooks):
    schema = Study.model_json_schema(by_alias=True)
    sections = {"Study": schema, **schema["$defs"]}
    keys = [(title, name) for title, section in sections.items() for name in section.get("properties", {})]
    kept = yaml.safe_load((DOCS / "since.yaml").read_text(encoding="utf-8"))
    listed = [(title, name) for by in kept.values() for title, names in by.items() for name in names]
    versions = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    rows = [line.split(" | ") for line in hooks.study_page().splitlines() if line.startswith("| `")]

    assert sorted(listed) == sorted(keys)
    assert set(kept) <= set(versions)
    shown = {"the next version" if each == "Unreleased" else each for each in kept}
    assert {row[-1].removesuffix(" |") for row in rows} == shown


def test_a_section_is_found_by_the_keys_above_it(hooks):
    schema = Study.model_json_schema(by_alias=True)

    assert hooks.places_of("Tune", schema) == ["candidates.NAME.tune"]
    assert hooks.places_of("SqlSource", schema) == ["feedback.source.sql", "source.sql"]


def test_every_variable_of_the_environment_that_users_may_set_is_described():
    names = ("COMPLETE", "FAULT", "LINK", "MLFLOW_PAGES", "OWNER", "UP")
    internal = {f"EVENHAND_{name}" for name in names}
    code = [
        file.read_text(encoding="utf-8")
        for folder in ("src", "flows", "tasks")
        for file in (ROOT / folder).rglob("*.py")
    ]
    used = {name for text in code for name in re.findall(r"EVENHAND_[A-Z]+(?:_[A-Z]+)*", text)} - internal

    page = (DOCS / "reference" / "files.md").read_text(encoding="utf-8")

    assert used - set(re.findall(r"EVENHAND_[A-Z_]+", page)) == set()
