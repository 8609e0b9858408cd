"""What README and docs show is typed: page after page, in one folder, as a person would who reads all of them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from evenhand.cli.main import main

pytestmark = [pytest.mark.xdist_group("prefect"), pytest.mark.usefixtures("prefect_server")]
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
KINDS = {
    "": "typed in a shell", "bash": "typed in a shell", "console": "typed", "python": "run", "toml": "a file",
    "yaml": "a file, or a piece that test_pages.py reads", "text": "what a command prints, which is compared",
    "diff": "applied by tests/test_contributing.py",
}  # fmt: skip
PAGES = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md",
    *sorted(file for file in DOCS.rglob("*.md") if "decisions" not in file.parts),
]  # fmt: skip
STORY = (  # in the order in which one page stands on what another left
    "index.md", "tutorials/first_comparison.md", "tutorials/fraud_study.md", "guides/own_estimators.md",
    "tutorials/notebook_to_schedule.md", "guides/presets.md", "../README.md", "guides/comparing_runs.md",
    "guides/serving.md", "guides/drift_and_labels.md", "guides/promotion.md", "guides/schedules.md",
    "guides/moving_and_backup.md", "guides/upgrading.md", "guides/terminal.md", "guides/more_than_one_machine.md",
    "guides/postgres.md", "security.md", "../CONTRIBUTING.md",
)  # fmt: skip
SHORTER = {"evenhand run conf/payments.yaml": ["--set", "minutes=0.05", "--set", "split.repeats=1"]}
UP = "tests/service/test_up.py"
ELSEWHERE = {  # where what begins so is done
    "evenhand up conf/": f"{UP}::test_a_schedule_fires_and_the_second_tick_on_unchanged_rows_is_skipped_in_both_tools",
    "evenhand status": f"{UP}::test_status_reports_what_is_up_the_next_tick_and_the_last",
    "evenhand schedule list": f"{UP}::test_a_paused_schedule_is_inactive_until_it_is_resumed",
    'curl -u "$(cat .evenhand/up/key)"': f"{UP}::test_mlflow_answers_to_the_key_alone_too",
    "pip install ./my_metrics": "tests/docs/test_typed_pages.py::test_a_metric_of_ones_own_is_installed_and_found",
    "evenhand run conf/quickstart.yaml --engine dask": (
        "tests/service/test_cluster.py::test_a_study_comes_out_the_same_on_a_cluster_as_here"
    ),
    "dask scheduler": "tests/docs/test_typed_pages.py::test_dask_knows_the_options_that_a_page_names",
    "dask worker": "tests/docs/test_typed_pages.py::test_dask_knows_the_options_that_a_page_names",
    "pip install .": ".ci/check_wheel.py",
    "make install": ".ci/run",
    "make test": ".ci/run",
    "make lint types": ".ci/run",
    "bash .ci/run": ".github/workflows/ci.yml",
}
NOT_RUN = {
    "pip install --upgrade evenhand": "no index has an earlier version, nor this one",
    "ln -s /srv/new/evenhand": "it names folders of a machine",
    "MLFLOW_TRACKING_USERNAME=evenhand": "it ends in three dots, for what the reader wants to know",
}


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page with their language, without their indent."""
    for indent, kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        yield kind, "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))


def lines_to_type(kind: str, text: str) -> list[str]:
    """What a reader types: in a console block what stands behind the dollar signs, in a shell's every line."""
    if kind == "console":
        return [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return text.splitlines() if kind in ("", "bash") else []


def is_left_out(line: str) -> bool:
    """Whether a line is done by another test, or is not run for a reason."""
    return line.startswith((*ELSEWHERE, *NOT_RUN))


ALL_LINES = [line for page in PAGES for block in blocks(page) for line in lines_to_type(*block)]


class Reader:
    """Somebody who goes through the pages in one folder, and types what they show."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.printed: dict[str, str] = {}

    def go_on_to(self, page: str) -> None:
        """Read a page, after those that come before it."""
        for each in STORY[: STORY.index(page) + 1]:
            if each not in self.read:
                self.read.append(each)
                self.do(DOCS / each)

    def do(self, page: Path) -> None:
        """Write the files of a page, run its Python, and type its commands."""
        names: dict[str, object] = {
            "frame": pd.DataFrame({"x": [7 * k % 60 / 8 for k in range(60)], "y": ["a", "b"] * 30})
        }
        for kind, text in blocks(page):
            if file := re.match(r"# ((?:conf|my_metrics)/\S+)\n", text):
                Path(file[1]).parent.mkdir(exist_ok=True)
                Path(file[1]).write_text(text, encoding="utf-8")
            elif kind == "python" and page.name != "README.md":  # tests/api/test_examples.py runs that
                exec(compile(text, str(page), "exec"), names)
            elif lines := [line for line in lines_to_type(kind, text) if not is_left_out(line)]:
                self.type(lines)

    def type(self, lines: list[str]) -> None:
        """Type commands of ours in this process, which starts sooner, and all else in a shell."""
        if all(line.startswith("evenhand ") and not set("<>|$") & set(line) for line in lines):
            for line in lines:
                self.give(line)
        else:
            done = subprocess.run(["bash", "-euc", "\n".join(lines)], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{lines}\n{done.stdout}{done.stderr}"

    def give(self, line: str) -> None:
        """Give our command its words."""
        words = shlex.split(line, comments=True)
        more = SHORTER.get(shlex.join(words), [])
        if more and shlex.join(words) in self.printed:
            return
        if words[1] == "init":  # three pages begin with it, and it replaces no study
            Path("conf/payments.yaml").unlink(missing_ok=True)
        found = CliRunner().invoke(main, [*words[1:], *more])
        assert found.exit_code == 0, f"{line}\n{found.output}"
        self.printed.setdefault(shlex.join(words), found.output)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, empty_database: Path, blank_pictures: None) -> Path:
    """The folder in which all is typed."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "mlruns").mkdir()
    shutil.copy(empty_database, folder / "mlruns" / "mlflow.db")
    return folder


@pytest.fixture(scope="module")
def one_reader() -> Reader:
    """Who types in it."""
    return Reader()


@pytest.fixture
def reader(
    one_reader: Reader, place: Path, monkeypatch: pytest.MonkeyPatch, own_room: None, shared_server: None
) -> Reader:
    """The reader of all pages, in that folder, with the programs of this environment at hand."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("EVENHAND_HOME", str(place / ".evenhand"))
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("PASSWORD", "asked for by guides/postgres.md")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return one_reader


@pytest.mark.parametrize("page", STORY)
def test_what_a_page_shows_can_be_typed_as_it_stands(page, reader):
    reader.go_on_to(page)


def test_a_metric_of_ones_own_is_installed_and_found(reader):
    reader.go_on_to("guides/own_estimators.md")
    assert pd.read_csv("scored.csv")["decision"].isin(["yes", "no"]).all()
    installed = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*installed, "--target", "installed", "./my_metrics"], check=True, timeout=300)
    code = (
        "from evenhand.study.registry import METRICS\n"
        "from evenhand.study.loader import load_study\n"
        "load_study('conf/own.yaml', ['metric=f2'])\n"
        "print(METRICS['f2'].formula.__name__)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["installed", "conf"])},
    )  # fmt: skip

    assert done.stdout.splitlines()[-1:] == ["<lambda>"], done.stderr


def test_the_readme_shows_what_the_demo_prints(reader):
    reader.go_on_to("index.md")
    (shown,) = [text for kind, text in blocks(ROOT / "README.md") if kind == "text"]
    without_times = re.sub(r"\s[\d.]+ (ms|s)$", "", shown, flags=re.MULTILINE)
    parts = [" ".join(part.split()) for part in re.split(r"\.\.\.$|\n", without_times, flags=re.MULTILINE)]

    printed = " ".join(reader.printed["evenhand demo"].split())

    assert len(parts) > 10
    assert [part for part in parts if part not in printed] == []


def test_every_block_is_of_a_kind_that_a_test_knows_and_every_page_with_commands_is_read():
    kinds = {kind for page in PAGES for kind, _ in blocks(page)}
    with_commands = {page for page in PAGES if any(lines_to_type(*block) for block in blocks(page))}
    with_python = {page for page in PAGES if any(kind == "python" for kind, _ in blocks(page))}

    assert kinds <= set(KINDS)
    assert with_commands | with_python == {(DOCS / page).resolve() for page in STORY}


@pytest.mark.parametrize(("line", "where"), ELSEWHERE.items())
def test_what_is_done_elsewhere_is_shown_and_is_there(line, where):
    file, _, name = where.partition("::")

    assert any(each.startswith(line) for each in ALL_LINES)
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8") if name else (ROOT / file).is_file()


@pytest.mark.parametrize("line", [*NOT_RUN, *SHORTER])
def test_what_is_not_run_or_made_shorter_is_shown(line):
    assert any(each.startswith(line) for each in ALL_LINES)


@pytest.mark.parametrize("line", [line for line in ALL_LINES if line.startswith("dask ")])
def test_dask_knows_the_options_that_a_page_names(line):
    pytest.importorskip("distributed")
    from distributed.cli.dask_scheduler import main as scheduler
    from distributed.cli.dask_worker import main as worker

    _, program, *words = shlex.split(line, comments=True)

    {"scheduler": scheduler, "worker": worker}[program].make_context(program, words, resilient_parsing=False)


MADE = {words for page in PAGES for words in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))}


def test_every_target_of_make_that_a_page_names_is_there():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert len(MADE) > 5
    assert set(targets) >= MADE
