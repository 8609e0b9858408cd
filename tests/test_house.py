"""The rules of the house that a program can check; who may import whom is import-linter's, in pyproject.toml."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]


def modules():
    """Every module of ours: its dotted name and its file."""
    rooms = {"evenhand": ROOT / "src/evenhand", "evenhand.flows": ROOT / "flows", "evenhand.tasks": ROOT / "tasks"}
    for name, folder in rooms.items():
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            yield ".".join([name, *(part for part in parts if part != "__init__")]), file


OURS = dict(modules())


@cache
def tree(name):
    return ast.parse(OURS[name].read_text(encoding="utf-8"))


@cache
def imported(name):
    """The full names that a module imports, anywhere in it."""
    package = name if OURS[name].name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in OURS else base for alias in node.names}
    return found


def room(start):
    return [name for name in OURS if name == start or name.startswith(f"{start}.")]


def imports_at_the_top(name):
    """What a module imports when it is imported."""
    return {
        found
        for node in tree(name).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for found in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }


@pytest.mark.parametrize("name", room("evenhand.cli"))
def test_a_command_imports_what_it_calls_when_it_is_called(name):
    assert [
        found for found in imports_at_the_top(name) if re.match(r"evenhand(?!\.cli)|mlflow|sklearn|prefect", found)
    ] == []


def test_nothing_draws_with_the_global_state_of_pyplot():
    assert [name for name in OURS if any("pyplot" in found for found in imported(name))] == []


@pytest.mark.parametrize("name", room("evenhand.tasks"))
def test_a_task_imports_no_other_task(name):
    assert [found for found in imported(name) if found.startswith("evenhand.tasks")] == []


ROOMS = sorted({OURS[name].parent for name in OURS if OURS[name].parent != ROOT / "src/evenhand"})


def test_every_room_is_installed():
    given = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = {given["package-dir"][name]: name for name in given["packages"]}

    assert [str(folder.relative_to(ROOT)) for folder in ROOMS if str(folder.relative_to(ROOT)) not in folders] == []


@pytest.mark.parametrize("folder", ROOMS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_room_has_a_door_and_is_not_too_large(folder):
    files = list(folder.glob("*.py"))
    door = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))

    assert ast.get_docstring(door)
    assert len(files) <= 20
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 3500


CONFIGURES = {"mkdir", "makedirs", "basicConfig", "set_tracking_uri", "setLevel", "addHandler", "setdefault", "seed"}


@pytest.mark.parametrize("name", OURS)
def test_no_module_configures_anything_when_it_is_imported(name):
    at_import = [node for node in tree(name).body if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.If)]
    called = {
        getattr(node.func, "attr", getattr(node.func, "id", ""))
        for statement in at_import
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
    }

    assert not called & CONFIGURES


def test_importing_everything_leaves_no_trace(tmp_path):
    names = [name for name in OURS if not name.endswith("__main__")]
    code = (
        "import importlib, logging, os\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "assert not logging.getLogger('evenhand').handlers\n"
    )
    surroundings = {**os.environ, "EVENHAND_HOME": str(tmp_path / "home"), "PREFECT_HOME": str(tmp_path.parent / "p")}

    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=surroundings, timeout=300)

    assert list(tmp_path.iterdir()) == []


CLOCKS = {"now", "today", "utcnow", "time"}


def clocks_asked(node):
    return [
        inner.func.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in CLOCKS
    ]


@pytest.mark.parametrize("name", [name for name in room("evenhand.tasks") if "record" not in name])
def test_no_task_but_recording_asks_what_time_it_is(name):
    assert clocks_asked(tree(name)) == []


@pytest.mark.parametrize("name", room("evenhand.flows"))
def test_no_flow_asks_what_time_it_is_itself(name):
    assert clocks_asked(tree(name)) == []


def test_nothing_in_the_program_prints():
    called = {
        name
        for name in OURS
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    }

    assert called == set()


def test_every_command_is_shown_in_the_docs():
    from evenhand.cli.main import main

    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)

    assert [name for name in main.commands if f"evenhand {name}" not in text] == []


def test_hypothesis_draws_the_same_examples_in_every_run_unless_it_is_tortured():
    sets_its_own = [file for file in (ROOT / "tests").rglob("test_*.py") if "derandomize=" in file.read_text()]

    assert settings.get_profile("repeatable").derandomize
    assert not settings.get_profile("free").derandomize
    assert [file.name for file in sets_its_own] == [Path(__file__).name]


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    scripts = re.findall(r"`((?:benchmarks|tests)/[\w/]+\.py)`", text)

    assert len(links) > 20
    assert [each for each in (*links, *scripts) if not (ROOT / each).exists()] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_the_files_that_begin_first_are_there(pytestconfig):
    (first,) = [each for each in pytestconfig.pluginmanager.get_plugins() if hasattr(each, "LONGEST")]

    assert [name for name in first.LONGEST if not (ROOT / "tests" / name).exists()] == []
