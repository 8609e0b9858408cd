"""The ranges of pyproject.toml hold at both ends. usage: make ends [ENDS="lowest-direct highest"]

For each end: resolve `evenhand[all]` with uv into an empty environment, install, run the demo, and tests of what
stands on other packages. With `--lift fastapi` the newest release of a package behind its upper bound is tried.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
TOOLS = (
    "pytest>=8.3",
    "pytest-xdist>=3.8",
    "hypothesis>=6.115",
    "jsonschema>=4.18",
    "nbclient>=0.10",
    "ipykernel>=6.29",
    "statsmodels",
)
TESTS = (
    "tests/study",
    "tests/models/test_stored_names.py",
    "tests/models/test_storability.py",
    "tests/models/test_samplers.py",
    "tests/estimators/test_similarity_svm.py",
    "tests/data/test_in_memory.py",
    "tests/api/test_runs.py",
    "tests/tracking/test_champion.py",
    "tests/service/test_up.py",
)


@click.command()
@click.argument("ends", nargs=-1, type=click.Choice(["lowest-direct", "highest"]))
@click.option("--lift", multiple=True, help="A package whose upper bound is left out.")
@click.option("--python", "interpreter", default=sys.executable, help="The interpreter of the environment.")
@click.option("--extra", default="all", show_default=True, help="The extra that is installed; none for the core.")
@click.option("--only-resolve", is_flag=True, help="Install and test nothing.")
def main(ends: tuple[str, ...], lift: tuple[str, ...], interpreter: str, extra: str, only_resolve: bool) -> None:
    """Try each end."""
    for end in ends or ("lowest-direct", "highest"):
        with tempfile.TemporaryDirectory(prefix="evenhand-ends-") as room:
            tried(end, Path(room), lift, interpreter, extra, only_resolve)
        click.echo(f"== {end} {' '.join(lift)}: works" if not only_resolve else f"== {end}: resolves")


def tried(end: str, place: Path, lift: tuple[str, ...], interpreter: str, extra: str, only_resolve: bool) -> None:
    """One end, in an environment of its own that is removed afterwards."""
    bounds = place / "bounds.txt"
    bounds.write_text("".join(f"{lifted(name)}\n" for name in lift))
    how = ["--resolution", end, *(["--override", str(bounds)] if lift else [])]
    wanted = str(ROOT) if extra == "none" else f"{ROOT}[{extra}]"
    python = place / "venv/bin/python"
    uv("venv", "--quiet", "--python", interpreter, str(place / "venv"))
    if only_resolve:
        uv("pip", "install", "--python", str(python), "--dry-run", *how, wanted)
        return
    uv("pip", "install", "--quiet", "--python", str(python), *how, wanted)
    uv("pip", "install", "--quiet", "--python", str(python), *TOOLS)
    report(python)
    homes = {**os.environ, "PREFECT_HOME": str(place / "prefect"), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    subprocess.run([python.parent / "evenhand", "demo"], cwd=place, env=homes, check=True)
    subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS], cwd=ROOT, env=homes, check=True)


def lifted(name: str) -> str:
    """A requirement of ours without its upper bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (found,) = (each for each in project["dependencies"] if re.match(rf"{re.escape(name)}\b", each))
    return re.sub(r",?<[^,;]+", "", found)


def report(python: Path) -> None:
    """The versions of what we ask for ourselves."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(line for each in project["optional-dependencies"].values() for line in each)]
    names = {re.split(r"[\[<>=; ]", each)[0].lower() for each in asked}
    done = subprocess.run(
        ["uv", "pip", "freeze", "--python", python], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    click.echo(" ".join(line for line in done if line.partition("==")[0].lower() in names))


def uv(*words: str) -> None:
    """Run uv."""
    subprocess.run(["uv", *words], check=True)


if __name__ == "__main__":
    main()
