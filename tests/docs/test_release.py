"""What is said of a release in several places is the same in all of them."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_version_is_the_same_wherever_it_stands():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert PROJECT["version"] == version("evenhand") == citation["version"]
    assert re.findall(r"^## \[([^]]+)\]", changes, re.M)[:2] == ["Unreleased", PROJECT["version"]]
    assert set(re.findall(r"^### (.+)$", changes, re.M)) <= KINDS


def test_the_licence_is_that_which_is_named():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")

    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_every_extra_but_those_of_developers_is_in_all():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]

    assert set(re.findall(r"\w+", everything)) - {"evenhand"} == set(extras) - {"all", "dev", "docs"}


def test_every_upper_bound_has_its_reason_on_the_page_of_versions():
    page = (ROOT / "docs/reference/platforms.md").read_text(encoding="utf-8")
    bounded = [re.split(r"[\[<>=]", each)[0] for each in PROJECT["dependencies"] if "<" in each]

    assert len(bounded) > 5
    assert [name for name in bounded if f"| {name} |" not in page] == []


def test_every_version_that_is_named_is_one_that_ci_runs():
    named = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)}
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))

    assert set(workflow["jobs"]["everything-from-a-clean-checkout"]["strategy"]["matrix"]["python"]) == named
