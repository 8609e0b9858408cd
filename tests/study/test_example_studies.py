"""Every study in examples/ is short and runs as it is."""

from pathlib import Path

import pytest

from evenhand.study.loader import load_study

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_has_at_most_fifteen_lines_and_runs(file, mlruns, prefect_server):
    from evenhand.api.launch import run_study

    report = run_study(load_study(file))

    assert len(file.read_text(encoding="utf-8").splitlines()) <= 15
    assert report.page.exists()
