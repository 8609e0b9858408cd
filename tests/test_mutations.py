"""Faults are put in one at a time, everywhere but where they would say nothing of the tests."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from mutations import faulty, n_faults

SOURCE = '''
"""Words with a 7."""
import logging
HIGH = 3
__all__ = ["a" + "b"]
@cached(size=5)
def least(values: list[1 + 1], most=0.5, *, strict=True):
    """Three: 3."""
    assert len(values) > 0
    logging.getLogger("x").info("%d", len(values) + 1)
    if not values or values[0] <= most:
        raise ValueError("none")
    total = 0
    for value in values:
        if value is None:
            continue
        total += value * 2
    return min(total, HIGH)
'''


TREE = ast.unparse(ast.parse(SOURCE))
FAULTS = [faulty(SOURCE, number) for number in range(n_faults(SOURCE))]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("HIGH = 3", "HIGH = 4"),
        ("most=0.5", "most=1.0"),
        ("strict=True", "strict=False"),
        ("not values or", "not values and"),
        ("not values or", "not not values or"),
        ("[0] <= most", "[0] < most"),
        ("[0] <= most", "[0] > most"),
        ("raise ValueError('none')", "pass"),
        ("value is None", "value is not None"),
        ("continue", "pass"),
        ("total += value * 2", "pass"),
        ("total += value * 2", "total -= value * 2"),
        ("total += value * 2", "total += value / 2"),
        ("min(total, HIGH)", "max(total, HIGH)"),
        ("min(total, HIGH)", "min(total)"),
        ("return min(total, HIGH)", "return None"),
    ],
)
def test_every_kind_of_fault_is_put_in_and_named(before, after):
    expected = TREE.replace(before, after)

    (found,) = [each for each in FAULTS if ast.unparse(each[2]) == expected]

    where, change, _ = found
    assert where == ("module" if "HIGH = 3" in before else "least")
    assert " => " in change


def test_annotations_decorators_assertions_logs_and_texts_are_left():
    same = [line for line in TREE.splitlines() if any(word in line for word in ("cached", "assert", "info", "Words"))]

    assert len(FAULTS) == 20
    for _, _, tree in FAULTS:
        text = ast.unparse(tree)
        assert text != TREE
        assert "values: list[1 + 1]" in text
        assert [line for line in same if line not in text] == []
        compile(text, "made", "exec")
