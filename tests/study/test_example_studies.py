"""Every study in examples/ is short, names its columns and models rightly, and runs as it is."""

import shutil
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from evenhand.study.loader import load_study, schema

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(file.name for file in EXAMPLES.glob("*.yaml"))
MOST_LINES = 15


@pytest.mark.parametrize("file", FILES)
def test_an_example_is_short_and_in_the_form_that_editors_check(file):
    import json

    text = (EXAMPLES / file).read_text(encoding="utf-8")

    assert len(text.splitlines()) <= MOST_LINES
    assert not list(Draft202012Validator(json.loads(schema())).iter_errors(yaml.safe_load(text)))


@pytest.mark.parametrize("file", FILES)
def test_an_example_runs_as_it_is(file, mlruns, prefect_server):
    from evenhand.api.launch import run_study

    shutil.copytree(EXAMPLES, "examples")

    report = run_study(load_study(f"examples/{file}"))

    assert report.page.exists()
    assert len(report.judgement.figures) > 1
    assert not report.judgement.refused
