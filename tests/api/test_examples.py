"""The examples in docstrings and in the README run as they stand."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import evenhand as eh

pytestmark = pytest.mark.xdist_group("prefect")
ROOT = Path(__file__).parents[2]
MODULES = ["evenhand", *sorted({f"evenhand.{home}" for home in eh._HOMES.values() if home.startswith("api.")})]
OF_A_NAME = {name: module for name, module in eh._HOMES.items() if name[0].islower()}
FOREGROUND = {"serve", "ui", "up"}  # they stay until Ctrl-C
SCHEDULED = {"backfill", "pause", "resume", "schedules", "status", "trigger", "feedback", "replicate"}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, run, again, frame):
    module = importlib.import_module(name)

    found = doctest.testmod(module, extraglobs={"frame": frame, "eh": eh}, optionflags=doctest.ELLIPSIS, report=True)

    assert found.failed == 0


@pytest.mark.parametrize("name", sorted(set(OF_A_NAME) - FOREGROUND - SCHEDULED))
def test_every_function_has_an_example(name):
    assert ">>> " in getattr(eh, name).__doc__


def test_the_example_of_the_readme_runs(run, frame, here):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = [part for part in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "import evenhand as eh" in part]

    names = {"frame": frame}
    exec(compile(code, "README.md", "exec"), names)

    assert len(code.strip().splitlines()) <= 8
    assert names["run"].best in names["run"].leaderboard.index
