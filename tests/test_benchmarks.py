"""What benchmarks import of the package is there: none of them is run by tests."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_names_that_a_benchmark_imports_are_there(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evenhand"):
            module = import_module(node.module)
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or import_module(f"{node.module}.{name}")
