"""What the docs show runs, and what they name is there."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from evenhand.cli.main import main
from evenhand.study.loader import load_study
from evenhand.study.registry import METRICS
from evenhand.study.study import Study

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(file for file in DOCS.rglob("*.md") if not {"decisions", "images"} & set(file.parts))
TUTORIALS = [file for file in PAGES if file.parent.name == "tutorials"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STAY = ("up", "ui", "serve", "status")  # what stays until Ctrl-C, or asks what does
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


ALL_COMMANDS = [(file.name, words) for file in PAGES for _, text in blocks(file, "console") for words in commands(text)]


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


@pytest.mark.parametrize("file", TUTORIALS, ids=lambda file: file.stem)
@pytest.mark.usefixtures("prefect_server", "mlruns")
def test_a_tutorial_runs_as_it_is_typed(file, tmp_path):
    names: dict[str, object] = {}
    if file.stem == "fraud_study":
        run_blocks(DOCS / "tutorials" / "first_comparison.md", names, kinds=("python",))

    run_blocks(file, names)


@pytest.mark.usefixtures("prefect_server", "mlruns")
def test_an_estimator_and_a_metric_of_ones_own_work_as_the_guide_shows(tmp_path):
    run_blocks(DOCS / "tutorials" / "first_comparison.md", {}, kinds=("python",))
    run_blocks(DOCS / "guides" / "own_estimators.md", {})
    installed = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*installed, "--target", "installed", "./my_metrics"], check=True, timeout=300)
    code = (
        "from evenhand.study.registry import METRICS\n"
        "from evenhand.study.loader import load_study\n"
        "load_study('conf/own.yaml', ['metric=f2'])\n"
        "import evenhand as eh\n"
        "eh.score('own', 'payments.csv', 'scored.csv')\n"
        "print(METRICS['f2'].formula.__name__)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["installed", "conf"])},
    )  # fmt: skip

    assert pd.read_csv("scored.csv")["decision"].isin(["yes", "no"]).all()
    assert done.stdout.splitlines()[-1] == "<lambda>", done.stderr


def run_blocks(file: Path, names: dict[str, object], kinds: tuple[str, ...] = ()) -> None:
    """Do what a page shows, block after block: run Python, write studies, type commands."""
    for kind, text in blocks(file, *kinds):
        if place := re.match(r"# ((?:conf|my_metrics)/\S+)\n", text):
            Path(place[1]).parent.mkdir(exist_ok=True)
            Path(place[1]).write_text(text, encoding="utf-8")
        elif kind == "python":
            exec(compile(text, str(file), "exec"), names)
        elif kind == "console":
            for words in commands(text):
                if words[1] not in STAY:
                    found = CliRunner().invoke(main, words[1:])
                    assert found.exit_code == 0, f"{' '.join(words)}\n{found.output}"


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
