"""The import table and the other rules of the house that a program can check."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STDLIB = set(sys.stdlib_module_names)
PURE = {"numpy", "scipy", "pandas", "pyarrow"}
PURE_ROOMS = ("tables", "decided", "tuned", "budgeted", "errors", "statistics", "_statistics_.*")


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


def tops(name):
    """The top-level packages from elsewhere that a module imports."""
    return {found.partition(".")[0] for found in imported(name)} - STDLIB - {"evenhand"}


def ours(name):
    return {found for found in imported(name) if found.partition(".")[0] == "evenhand"}


def room(start):
    return [name for name in OURS if name == start or name.startswith(f"{start}.")]


def named(*stems):
    return [name for name in OURS if name.count(".") == 1 and re.fullmatch("|".join(stems), name.rpartition(".")[2])]


@pytest.mark.parametrize("name", room("evenhand.estimators"))
def test_estimators_import_arrays_and_learning_only(name):
    assert tops(name) <= {"numpy", "scipy", "sklearn", "numba"}
    assert all(found.startswith("evenhand.estimators") for found in ours(name))


@pytest.mark.parametrize("name", named(*PURE_ROOMS))
def test_nouns_errors_and_statistics_stay_pure(name):
    assert tops(name) <= PURE
    assert ours(name) <= set(named(*PURE_ROOMS))


SETTINGS = ("settings", "_settings_.*", "consistency", "vocabulary", "conf", "crons", "units")


@pytest.mark.parametrize("name", named(*SETTINGS))
def test_settings_import_pydantic_and_yaml_only(name):
    assert tops(name) <= {"pydantic", "yaml"}
    assert ours(name) <= set(named(*SETTINGS, "errors"))


@pytest.mark.parametrize(
    ("stems", "forbidden"),
    [
        (("catalogue", "samplers", "encoder", "acceleration", "modelling", "serving"), {"prefect", "mlflow"}),
        (("store",), {"prefect", "mlflow", "sklearn"}),
        (("plots", "report.*", "page", "pictures", "summary", "curves"), {"mlflow", "prefect"}),
        (("tracking",), {"prefect", "matplotlib"}),
    ],
)
def test_rooms_keep_away_from_what_is_forbidden_to_them(stems, forbidden):
    found = {name: tops(name) & forbidden for name in named(*stems)}

    assert found
    assert not any(found.values()), found


def test_nothing_draws_with_the_global_state_of_pyplot():
    assert [name for name in OURS if any("pyplot" in found for found in imported(name))] == []


def test_only_tracking_talks_to_mlflow():
    assert [name for name in OURS if "mlflow" in tops(name)] == ["evenhand.tracking"]


@pytest.mark.parametrize("name", room("evenhand.tasks"))
def test_a_task_imports_neither_flows_nor_the_command_nor_another_task(name):
    forbidden = [found for found in ours(name) if re.match(r"evenhand\.(flows|cli|commands|tasks)\b", found)]

    assert forbidden == []


@pytest.mark.parametrize("name", room("evenhand.flows"))
def test_flows_import_tasks_and_settings_but_no_numbers(name):
    assert not tops(name) & {"sklearn", "pandas", "mlflow", "matplotlib"}
    known = r"evenhand\.(flows|tasks|settings|tables|processes|progress|steps|stopping|replication)\b"
    assert [found for found in ours(name) if not re.match(known, found)] == []


@pytest.mark.parametrize("name", ["evenhand.cli", *room("evenhand.commands")])
def test_a_command_imports_no_task_and_flows_only_inside_commands(name):
    at_the_top = {
        node.names[0].name if isinstance(node, ast.Import) else str(node.module)
        for node in tree(name).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    }

    assert [found for found in at_the_top if re.match(r"evenhand(?!\.commands)", found)] == []
    assert not any(found.startswith("evenhand.tasks") for found in ours(name))
    assert not tops(name) & {"mlflow", "sklearn"}


def test_nothing_below_the_flows_imports_them():
    users = {name for name in OURS if any(found.startswith("evenhand.flows") for found in ours(name))}

    assert [name for name in users if not re.match(r"evenhand\.(flows|commands)\b", name)] == []


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

    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=surroundings, timeout=120)

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


def test_of_the_flows_only_a_tick_asks_what_time_it_is_and_only_at_its_door():
    asking = {f"{name}.{node.name}" for name in room("evenhand.flows") for node in tree(name).body
              if isinstance(node, ast.FunctionDef) and clocks_asked(node)}  # fmt: skip

    assert asking == {"evenhand.flows.tick.clock"}


def test_nothing_in_the_program_prints():
    called = {
        name
        for name in OURS
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    }

    assert called == set()


def test_every_command_is_named_in_the_readme():
    from evenhand.cli import main

    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [name for name in main.commands if f"evenhand {name}" not in text] == []
