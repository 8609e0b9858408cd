"""Small faults put into the core modules, one at a time: does the module's own tests notice?

A fault is a change of one place of a module's syntax tree: a comparison, an operator, a constant, a negation, `and` for
`or`, a dropped argument, `return None`, the other of min and max, a statement left out. Annotations, decorators,
assertions, log lines, docstrings and texts are left as they are. The places are drawn with a seed, the module is
compiled with its fault in a child process that already holds all libraries, and the tests that TESTS names for it run
there until the first fails. A child that needs five times the
processor time of the sound module counts as noticed.

What no test notices must be listed in mutants_unnoticed.yaml with a reason: as equivalent where no input can show a
difference (these leave the count), or as accepted where one could. Ends with exit code 1 if fewer than 92 % of the
others are noticed, fewer than 85 % in one group, one that is not listed is unnoticed, or a listed place is gone.

usage: python benchmarks/mutants.py [--each N] [--seed SEED] [--like TEXT] [GROUP ...]    (20 a group, seed 0)
"""

import argparse
import gc
import json
import marshal
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from mutations import faulty, n_faults

ROOT = Path(__file__).parents[1]
FOLDERS = {"evenhand.tasks": ROOT / "tasks", "evenhand.flows": ROOT / "flows", "evenhand": ROOT / "src/evenhand"}
LISTED = Path(__file__).with_name("mutants_unnoticed.yaml")
OVERALL, EACH_GROUP = 0.92, 0.85
SLOWER, LEAST_SECONDS, WAIT_SECONDS, BROKEN = 5, 10, 300.0, 70
QUIET = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "--disable-warnings"]
NB, MACHINES, ENCODING = "estimators.naive_bayes", "estimators.machines", "estimators.encoding"
OF_EACH = ["estimators/test_examples", "estimators/test_sample_weights"]  # which go over all estimators
TESTS = {
    "splitting": (["tasks.splitting"], ["tasks/test_splitting", "tasks/test_splitting_of_copies"]),
    "folding": (["data.splits"], ["data/test_splits", "tasks/test_splitting_of_copies"]),
    "gate": (["tracking.promotion_gate"], ["tasks/test_gating"]),
    "decisions": (["tracking.champion_ledger"], ["tracking/test_champion_ledger"]),
    "store": (["storage.artifact_store"], ["storage/test_artifact_store", "storage/test_shared_store"]),
    "locks": (["storage.locks"], ["storage/test_locks"]),
    "metrics": (["evaluation.metrics", "evaluation.metric_entries"], ["evaluation/test_metrics"]),
    "intervals": (
        ["evaluation.bootstrap", "evaluation.intervals", "evaluation.influence", "statistics.intervals"],
        [
            f"evaluation/{name}"
            for name in ("test_bootstrap", "test_influence", "test_intervals", "test_interval_methods")
        ],
    ),
    "thresholds": (
        ["statistics.thresholds", "evaluation.threshold_objectives"],
        ["evaluation/test_calibration", "evaluation/test_threshold_objectives"],
    ),
    "encoder": (["models.encoder", "models.encoder_steps"], ["models/test_encoder", "models/test_encoder_steps"]),
    "balancing": (["tasks.balancing", "models.samplers"], ["tasks/test_balancing", "models/test_samplers"]),
    "serving": (["models.raw_row_model"], ["models/test_raw_row_model"]),
    "cron": (["study.cron"], ["study/test_cron"]),
    "mixed_nb": (
        [f"{NB}.mixed_nb", f"{NB}._gaussian", f"{NB}._posterior"],
        ["estimators/test_mixed_nb", *OF_EACH],
    ),
    "selective_nb": (
        [f"{NB}.selective_nb", f"{NB}._selection_kernel"],
        ["estimators/test_selective_nb", *OF_EACH],
    ),
    "interval_nb": ([f"{NB}.interval_nb"], ["estimators/test_interval_nb", *OF_EACH]),
    "mdlp": (
        [f"{ENCODING}.mdlp", f"{ENCODING}._mdlp_kernel"],
        ["estimators/test_mdlp", "estimators/test_two_way_split", *OF_EACH],
    ),
    "evidence": ([f"{ENCODING}.evidence"], ["estimators/test_evidence", *OF_EACH]),
    "similarity": ([f"{MACHINES}.similarity"], ["estimators/test_similarity", *OF_EACH]),
    "similarity_svm": (
        [f"{MACHINES}.similarity_svm", f"{MACHINES}._tables"],
        ["estimators/test_similarity_svm", "estimators/test_similarity", *OF_EACH],
    ),
}


class Unsound(Exception):
    """Nothing can be learned of a group: its tests fail as they are."""


@dataclass(frozen=True)
class Mutant:
    """A module with one fault: where it stands, how the place reads before and after, and its code."""

    module: str
    where: str
    change: str
    code: Any = None

    @property
    def name(self) -> tuple[str, str]:
        """What it is listed by."""
        return (f"{self.module.removeprefix('evenhand.')}:{self.where}", self.change)


SUBSTITUTE = """
import importlib.machinery, importlib.util, marshal, sys
class Substitute(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        with open({code!r}, "rb") as file:
            return marshal.load(file)
class Finder:
    def find_spec(self, fullname, path=None, target=None):
        if fullname == {module!r}:
            return importlib.util.spec_from_file_location(fullname, {file!r}, loader=Substitute(fullname, {file!r}))
sys.meta_path.insert(0, Finder())
"""


def source_file(module: str) -> Path:
    """The file of a module of ours."""
    package = next(name for name in FOLDERS if module.startswith(f"{name}."))
    return FOLDERS[package].joinpath(*module.removeprefix(f"{package}.").split(".")).with_suffix(".py")


@cache
def source(module: str) -> str:
    """The text of a module of ours."""
    return source_file(module).read_text(encoding="utf-8")


def drawn(group: str, each: int, seed: int) -> Iterator[Mutant]:
    """The mutants of a group."""
    modules = [f"evenhand.{name}" for name in TESTS[group][0]]
    every = [(module, number) for module in modules for number in range(n_faults(source(module)))]
    for module, number in random.Random(f"{seed} {group}").sample(every, min(each, len(every))):
        where, change, tree = faulty(source(module), number)
        yield Mutant(module, where, change, compile(tree, str(source_file(module)), "exec"))


class Reached:
    """A plugin of pytest that keeps which tests call which functions of some modules.

    What is called while test files are imported, or by a fixture that several tests share, is called by all of them.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self.module_of = {str(source_file(f"evenhand.{module}")): module for module in modules}
        self.tests: dict[str, set[str]] = {}
        self.test = ""
        sys.settrace(self.called)
        threading.settrace(self.called)

    def called(self, frame: Any, event: str, argument: Any) -> None:
        """Keep a call; lines are not looked at."""
        if module := self.module_of.get(frame.f_code.co_filename):
            function = frame.f_code.co_qualname.replace("<locals>.", "").partition(".<")[0]
            self.tests.setdefault(f"{module}:{function}", set()).add(self.test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """What is called now is called by this test."""
        self.test = item.nodeid
        try:
            return (yield)
        finally:
            self.test = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """What a shared fixture calls is called by all tests."""
        test, self.test = self.test, self.test if fixturedef.scope == "function" else ""
        try:
            return (yield)
        finally:
            self.test = test


def load_libraries(groups: Iterable[str]) -> None:
    """Import what the tests stand on, and forget what is ours: a child imports that anew."""
    files = {file for group in groups for file in test_files(group)}
    with redirect_stdout(StringIO()):
        pytest.main([*sorted(files), "--collect-only", *QUIET])
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if file.startswith(str(ROOT)) and not file.startswith((sys.prefix, str(Path(__file__).parent))):
            del sys.modules[name]
    if threading.active_count() > 1:
        raise SystemExit("a library started a thread: a child of this process could hang")
    gc.collect()
    gc.freeze()


def test_files(group: str) -> list[str]:
    """The files of a group's tests."""
    return [str(ROOT / f"tests/{name}.py") for name in TESTS[group][1]]


def in_child(run: Callable[[], int], log: Path, cpu_seconds: float) -> tuple[int, float]:
    """How a child ended that did this with its output in a file, by exit code or signal, and its processor time."""
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds)))
            with log.open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            code = run()
        finally:
            sys.stdout.flush()
            os._exit(code)
    ended, deadline = 0, time.monotonic() + WAIT_SECONDS
    while not ended:
        time.sleep(0.02)
        ended, status, used = os.wait4(child, os.WNOHANG)
        if not ended and time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


def run_sound(group: str, kept: Path) -> int:
    """Run the tests of a group as they are, and keep which of them reach which function."""
    reached = Reached(TESTS[group][0])
    code = pytest.main([*test_files(group), "-x", *QUIET], plugins=[reached])
    sys.settrace(None)
    kept.write_text(json.dumps({name: sorted(tests) for name, tests in reached.tests.items()}), encoding="utf-8")
    return int(code)


def run_faulty(mutant: Mutant, tests: list[str], folder: Path) -> int:
    """Run tests with a fault put in, here and in the processes that they start."""
    (folder / "code").write_bytes(marshal.dumps(mutant.code))
    text = SUBSTITUTE.format(code=str(folder / "code"), module=mutant.module, file=str(source_file(mutant.module)))
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    os.environ["PYTHONPATH"] = str(folder)
    exec(text, {})
    forget_compiled(mutant.module)
    return int(pytest.main([*tests, "-x", *QUIET]))


def tests_of(group: str, mutant: Mutant, reached: dict[str, list[str]]) -> list[str]:
    """The tests of a group that could notice: those that call the function, or all."""
    name, function = mutant.name[0], mutant.where.rpartition(".")[2]
    if mutant.where == "module" or function[0].isupper() or "njit" in source(mutant.module):
        return test_files(group)
    tests = reached.get(name, [""])  # what only other processes call is called by any test
    return test_files(group) if "" in tests else [str(ROOT / test) for test in tests]


def forget_compiled(module: str) -> None:
    """Neither read nor write numba's files for a module with a fault, nor for those that call what it compiles."""
    if "njit" not in source(module):
        return
    from numba.core.dispatcher import Dispatcher

    keep = Dispatcher.enable_caching
    name = module.rpartition(".")[2]

    def enable(self: Any) -> None:
        own = self.py_func.__module__
        if own != module and f"{name} import" not in source(own):
            keep(self)

    Dispatcher.enable_caching = enable


def tried(group: str, each: int, seed: int, like: str, folder: Path) -> tuple[list[Mutant], list[Mutant]]:
    """The mutants of a group that its tests notice, and the others."""
    log, kept = folder / "tests.log", folder / "reached.json"
    code, sound = in_child(lambda: run_sound(group, kept), log, 600)
    if code != 0:
        raise Unsound(f"{group}: the tests end with {code} without a fault:\n{log.read_text()}")
    reached = json.loads(kept.read_text(encoding="utf-8"))
    sys.stderr.write(f"{group}: {sound:.1f} s without a fault\n")
    noticed: list[Mutant] = []
    unnoticed: list[Mutant] = []
    for mutant in drawn(group, each, seed):
        tests = tests_of(group, mutant, reached)
        if like not in " ".join(mutant.name):
            continue
        run = partial(run_faulty, mutant, tests, folder)
        code, seconds = in_child(run, log, LEAST_SECONDS + SLOWER * sound)
        if code == BROKEN:
            raise Unsound(f"{group}: the child did not run:\n{log.read_text()}")
        (noticed if code else unnoticed).append(mutant)
        word = "UNNOTICED" if code == 0 else "too long" if code < 0 else "noticed"
        sys.stderr.write(f"{word:9} {seconds:5.1f} s {len(tests):4} tests  {' '.join(mutant.name)}\n")
    return noticed, unnoticed


def listed() -> dict[tuple[str, str], dict[str, str]]:
    """What is known to go unnoticed, with its kind and reason."""
    entries = yaml.safe_load(LISTED.read_text(encoding="utf-8")) or []
    return {(entry["where"], entry["change"]): entry for entry in entries}


def gone(known: dict[tuple[str, str], dict[str, str]], groups: list[str]) -> list[str]:
    """Listed places that the modules of these groups no longer hold; of any module where all groups are asked for."""
    own = {name for group in groups for name in TESTS[group][0]}
    asked = [name for name in known if groups == list(TESTS) or name[0].partition(":")[0] in own]
    found = set()
    for module in {f"evenhand.{where.partition(':')[0]}" for where, _ in asked}:
        for number in range(n_faults(source(module))):
            where, change, _ = faulty(source(module), number)
            found.add(Mutant(module, where, change).name)
    return [" ".join(name) for name in asked if name not in found]


def main() -> int:
    """Try the groups and hold the shares against the bounds."""
    parser = argparse.ArgumentParser(description="Faults that the tests of the core modules notice.")
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--like", default="", help="only those whose place or change holds this text")
    asked = parser.parse_args()
    known, groups = listed(), asked.groups or list(TESTS)
    amiss = [f"listed, but no longer there: {name}" for name in gone(known, groups)]
    load_libraries(groups)
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            try:
                noticed, unnoticed = tried(group, asked.each, asked.seed, asked.like, Path(folder))
            except Unsound as error:
                amiss.append(str(error))
                continue
            kinds = [known.get(mutant.name, {}).get("kind") for mutant in unnoticed]
            new = [mutant for mutant in unnoticed if mutant.name not in known]
            amiss += [f"not listed: {' '.join(mutant.name)}" for mutant in new]
            n_counted = len(noticed) + len(unnoticed) - kinds.count("equivalent")
            counts[group] = (len(noticed), n_counted, kinds.count("equivalent"))
            sys.stdout.write(line(group, *counts[group]))
            sys.stdout.flush()
            if len(noticed) < EACH_GROUP * n_counted:
                amiss.append(f"{group}: fewer than {EACH_GROUP:.0%} noticed")
    total = [sum(column) for column in zip(*counts.values(), strict=True)] or [0, 0, 0]
    sys.stdout.write(line("all", *total))
    if total[0] < OVERALL * total[1]:
        amiss.append(f"fewer than {OVERALL:.0%} noticed")
    sys.stdout.writelines(f"{each}\n" for each in amiss)
    return 1 if amiss else 0


def line(group: str, n_noticed: int, n_counted: int, n_equivalent: int) -> str:
    """How a group did."""
    share = n_noticed / n_counted if n_counted else 1.0
    return f"{group:15} {n_noticed:4} of {n_counted:4} noticed ({share:.0%}), {n_equivalent} equivalent\n"


if __name__ == "__main__":
    sys.exit(main())
