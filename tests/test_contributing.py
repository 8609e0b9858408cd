"""What CONTRIBUTING.md shows for each kind of entry is the whole change: it is applied to a copy and used."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import nursery
import pytest

ROOT = Path(__file__).parents[1]
KINDS = ["Model family", "Sampler", "Metric", "Encoding step", "Source", "Leaderboard column"]
USED = """
import json
from makers import work
import evenhand as eh
from evenhand.reporting.leaderboard_columns import columns

study = eh.Study(
    name="affairs", source={"statsmodels": "spector"}, target="GRADE", metrics=["specificity"], metric="specificity",
    split={"folds": 3, "holdout": "none"}, encodings={"largest": {"numeric": {"scale": "max_abs"}}},
    balance=["one_sided"], candidates={"extra_trees": {}},
)
(figures,) = work(study).judgement.figures
print(json.dumps({
    "parts": [figures.plan.model, figures.plan.encoding, figures.plan.balance], "mean": figures.mean("specificity"),
    "interval": figures.cv_interval["specificity"], "columns": [each.name for each in columns()],
}))
"""


def diffs():
    """The changes of the page by the words that introduce them."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return dict(re.findall(r"\*\*([^*]+)\*\*[^\n]*\n```diff\n(.*?)```", page, re.DOTALL))


@pytest.fixture
def copy(tmp_path):
    """A copy of the package as it is installed, with every change of the page."""
    tree = tmp_path / "tree"
    for name in ("src", "flows", "tasks"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for kind, diff in diffs().items():
        done = subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"], input=diff, cwd=tree, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (kind, done.stderr)
    for name in ("flows", "tasks"):
        shutil.move(tree / name, tree / "src/evenhand" / name)
    return tree / "src"


def test_the_page_shows_the_change_for_each_kind_of_entry():
    assert list(diffs()) == KINDS


def test_what_the_page_shows_is_the_whole_change(copy):
    places = os.pathsep.join(map(str, [copy, ROOT / "tests"]))

    done = nursery.ran("-c", USED, PYTHONPATH=places)

    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["parts"] == ["extra_trees", "largest", "one_sided"]
    assert found["interval"][0] <= found["mean"] <= found["interval"][1]
    assert "memory" in found["columns"]
