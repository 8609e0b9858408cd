"""What `import evenhand` offers, and that it costs nothing until it is used."""

import subprocess
import sys

import click
import pytest

import evenhand as eh
from evenhand.cli.main import main

# What the command line can, the API can: the name in `evenhand` that each command stands on.
STANDS_ON = {
    "backfill": "backfill",
    "candidates": "candidates",
    "champion": "champion",
    "compare": "compare",
    "demo": "demo",
    "doctor": "doctor",
    "feedback": "feedback",
    "init": "draft",
    "prune": "prune",
    "replicate": "replicate",
    "report": "load_run",
    "run": "run",
    "schedule": "schedules",
    "schema": "schema",
    "score": "score",
    "show": "load_run",
    "status": "status",
    "trigger": "trigger",
    "serve": "serve",
    "ui": "ui",
    "up": "up",
    "watch": "watch",
}


def test_importing_it_imports_nothing_that_is_slow():
    code = (
        "import sys, evenhand\n"
        "assert {'Run', 'Study', 'run'} <= set(dir(evenhand))\n"
        "slow = {'pydantic', 'sklearn', 'prefect', 'mlflow', 'pandas', 'numpy', 'matplotlib'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_a_study_can_be_written_before_prefect_is_imported():
    code = (
        "import sys, evenhand as eh\n"
        "eh.Study(name='a', source='a.csv', target='y', candidates=['svm']), eh.run, eh.champion, eh.score\n"
        "slow = {'prefect', 'mlflow', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.parametrize("name", eh.__all__)
def test_every_name_is_there_and_says_what_it_is(name):
    assert getattr(eh, name).__doc__


def test_the_names_are_those_of_the_table_and_of_the_types():
    with open(eh.__file__, encoding="utf-8") as file:
        typed = {line.split(" as ")[1].strip() for line in file if " as " in line and line.startswith("    from")}

    assert set(eh.__all__) == set(eh._HOMES) == typed


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        eh.runn  # noqa: B018


def test_every_command_has_its_counterpart():
    assert set(STANDS_ON) == set(main.commands) - {"completion"}  # of a shell
    assert set(STANDS_ON.values()) <= set(eh.__all__)
    assert isinstance(main.commands["champion"], click.Group)
    assert set(main.commands["champion"].commands) - {"show"} <= set(dir(eh.Champion))


def test_mistakes_in_settings_are_errors_of_evenhand():
    with pytest.raises(eh.EvenhandError, match=r"traget: unknown key\. Did you mean 'target'"):
        eh.Study(name="a", source="a.csv", traget="y", candidates=["svm"])
    with pytest.raises(eh.ConfError, match=r"Split has 1 mistake:\n  folds: .*greater than or equal to 2; found 1"):
        eh.Split(folds=1)


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        ("a.csv", "path", ("a.csv",)),
        ("s3://bucket/a.parquet", "url", "s3://bucket/a.parquet"),
        ({"openml": 31}, "openml", 31),
    ],
)
def test_a_source_is_reported_by_what_is_given(given, kind, value):
    source = eh.Study(name="a", source=given, target="y", candidates=["svm"]).source

    assert getattr(source, kind) == value


def test_the_note_that_nothing_changed_loads_no_learner():
    program = (
        "import sys, evenhand.api.launch, evenhand.service.unchanged, evenhand.flows.recall\n"
        "sys.exit(', '.join({'sklearn', 'skops', 'imblearn', 'numba', 'matplotlib'} & set(sys.modules)) or 0)"
    )

    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (result.returncode, result.stderr) == (0, "")
