"""The wheel and the sdist work outside the tree, with nothing else installed. usage: make wheel-check

Builds the sdist, the wheel from the sdist, installs the wheel with what it needs into an empty environment, and there
runs the demo, a replication, a script and a notebook, and tests of the unpacked sdist against the installed copy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from setuptools import build_meta

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("tests/study", "tests/estimators/test_examples.py", "tests/models/test_stored_names.py", "tests/api")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "nbclient", "ipykernel", "jsonschema", "statsmodels")
INSIDE = (
    "evenhand/py.typed",
    "evenhand/conf/quickstart.yaml",
    "evenhand/data/presets/portfolio.yaml",
    "evenhand/replication/conf/tax_evasion.yaml",
    "evenhand/reporting/html/report_style.css",
)
SCRIPT = """
import numpy as np, pandas as pd
import evenhand as eh

rng = np.random.default_rng(1)
frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["wind", "rain", "pressure"])
frame["y"] = np.where(frame["wind"] + rng.normal(size=200) > 1, "storm", "calm")
study = eh.Study(name="storms", source=frame, target="y", candidates=["gaussian_nb", "logistic", "svm"])
run = eh.run(study)
scored = eh.score(run.model("svm"), frame)
assert len(scored) == 200 and run.report.exists() and list(run.leaderboard.columns)
assert "site-packages" in eh.__file__, eh.__file__
"""


def main() -> None:
    """Build both, install one, try it."""
    with tempfile.TemporaryDirectory(prefix="evenhand-wheel-") as room:
        place = Path(room)
        wheel, tree = built(place)
        bin_ = installed(place, wheel)
        work = place / "work"
        work.mkdir()
        with timed("evenhand demo, to the first leaderboard"):
            typed(bin_, work, "evenhand", "demo")
        typed(bin_, work, "evenhand", "replicate", "--help")
        typed(bin_, work, "evenhand", "replicate", "tax_evasion", "--exact")
        with timed("a script"):
            typed(bin_, work, "python", "-c", SCRIPT)
        typed(bin_, work, "python", "-m", "pip", "install", "--quiet", *TOOLS)
        with timed("tests of the sdist against the installed copy"):
            typed(bin_, tree, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)


def built(place: Path) -> tuple[Path, Path]:
    """The wheel, made from the sdist, and the unpacked sdist without the packages themselves."""
    os.chdir(ROOT)
    sdist = place / build_meta.build_sdist(str(place))
    shutil.unpack_archive(sdist, place)
    tree = place / sdist.name.removesuffix(".tar.gz")
    os.chdir(tree)
    wheel = place / build_meta.build_wheel(str(place))
    names = zipfile.ZipFile(wheel).namelist()
    lacking = [name for name in INSIDE if name not in names]
    assert not lacking, f"the wheel lacks {lacking}"
    assert any(name.endswith("licenses/LICENSE") for name in names), "the wheel lacks the licence"
    say(f"{sdist.name} {sdist.stat().st_size / 1e6:.1f} MB, {wheel.name} {wheel.stat().st_size / 1e6:.1f} MB")
    for folder in ("src", "flows", "tasks"):  # so that tests can find the installed copy alone
        (tree / folder).rename(place / f"unused-{folder}")
    return wheel, tree


def installed(place: Path, wheel: Path) -> Path:
    """The programs of an environment that holds the wheel and what it needs."""
    venv.create(place / "venv", with_pip=True)
    bin_ = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    before = size_of(place / "venv")
    with timed("pip install"):
        typed(bin_, place, "python", "-m", "pip", "install", "--quiet", str(wheel))
    typed(bin_, place, "python", "-m", "pip", "check")
    say(f"installed: {size_of(place / 'venv') - before:.0f} MB")
    return bin_


def typed(bin_: Path, where: Path, program: str, *words: str) -> None:
    """Run a program of the environment in a folder; what fails ends the check."""
    outside = {
        key: value for key, value in os.environ.items() if not key.startswith(("EVENHAND_", "PYTHON", "VIRTUAL"))
    }
    homes = {"PREFECT_HOME": str(where / ".prefect"), "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([bin_ / program, *words], cwd=where, env={**outside, **homes}, check=True)


def size_of(folder: Path) -> float:
    """The size of what is in a folder, in MB."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()) / 1e6


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Report how long something took."""
    began = time.perf_counter()
    yield
    say(f"{what}: {time.perf_counter() - began:.0f} s")


def say(line: str) -> None:
    """One line of the check itself."""
    click.echo(f"== {line}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
