"""What benchmarks import of the package is there: none of them is run by tests."""

import ast
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import psutil
import pytest

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_names_that_a_benchmark_imports_are_there(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evenhand"):
            module = import_module(node.module)
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or import_module(f"{node.module}.{name}")


def test_kills_that_are_ended_leave_no_server(tmp_path):
    (tmp_path / "prefect.py").write_text("import time; time.sleep(600)")  # stands for a server
    kills = subprocess.Popen([sys.executable, str(BENCHMARKS[0].parent / "kills.py"), "0"], cwd=tmp_path)
    started = psutil.Process(kills.pid)
    while not (children := started.children()) and kills.poll() is None:
        time.sleep(0.1)

    kills.terminate()

    assert kills.wait(60) == 143
    assert [child for child in children if child.is_running()] == []
    assert len(children) == 1
