"""docs/promises.md names tests and commands that exist, and its sums are sums."""

import ast
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from evenhand.cli.main import main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))
CODE = re.findall(r"`([^`\n]+)`", PAGE)
COMMANDS = sorted({words for words in CODE if re.match(r"(\w+=\S+ )?(make|python|evenhand) ", words)})


@cache
def functions_of(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_page_names_tests_and_commands_of_every_kind():
    assert len(TESTS) > 60
    assert {words.split()[0] for words in COMMANDS} >= {"make", "python", "evenhand"}


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_a_test_that_is_named_exists(file, name):
    assert name in functions_of(file)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_that_is_named_exists(words):
    program, what, *_ = [word for word in shlex.split(words) if "=" not in word]

    if program == "make":
        assert re.search(rf"^{what}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    elif program == "evenhand":
        assert what in main.commands
    else:
        assert (ROOT / what).is_file()


@pytest.mark.parametrize("section", ["Data", "Model", "Infrastructure", "Monitoring"])
def test_each_section_of_the_card_has_seven_tests_whose_points_are_added_up(section):
    table = PAGE.split(f"### {section}\n")[1].split("\n#")[0]
    lines = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
    points = [float(line[1]) for line in lines if line[0] not in {"| test", "| sum"}]

    assert len(points) == 7
    assert set(points) <= {0, 0.5, 1}
    assert [float(line[1]) for line in lines if line[0] == "| sum"] == [sum(points)]
    assert [
        line for line in lines if line[0] not in {"| test", "| sum"} and float(line[1]) < 1 and line[3] == "|"
    ] == []


def test_the_score_is_the_least_of_the_sums():
    sums = [float(found) for found in re.findall(r"^\| sum \| ([\d.]+) ", PAGE, re.M)]

    assert len(sums) == 4
    assert f"The score is {min(sums):g}." in PAGE


DRAWN = """
from hypothesis import given, strategies as st
def test_it():
    found = []
    given(st.integers(0, 10**12))(lambda number: found.append(number))()
    print("drawn", found)
"""


@pytest.mark.parametrize(("free", "n_different"), [("", 1), ("1", 2)])
def test_examples_are_drawn_alike_unless_a_free_seed_is_asked_for(tmp_path, monkeypatch, free, n_different):
    monkeypatch.setenv("EVENHAND_FREE_SEED", free)
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_it.py").write_text(DRAWN, encoding="utf-8")

    command = [sys.executable, "-m", "pytest", "-sq", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")]
    told = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]

    drawn = {line for each in told for line in each.splitlines() if line.startswith("drawn")}
    assert len(drawn) == n_different


def order_of(*options):
    files = [str(ROOT / "tests/study" / name) for name in ("test_yaml_bounds.py", "test_hints.py", "test_cron.py")]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--no-header", *options, *files]
    done = subprocess.run([*command, "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"], cwd=ROOT,
                          capture_output=True, text=True, check=True)  # fmt: skip
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_shuffled_tests_are_the_same_in_another_order_that_the_seed_decides():
    first, again, other = (order_of("--shuffle", seed) for seed in ("1", "1", "2"))

    assert first == again != other
    assert sorted(first) == sorted(other) == sorted(order_of())
