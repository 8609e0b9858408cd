"""Figures of the estimators: `python benchmarks/estimators.py [PATTERN]` runs those whose name contains PATTERN."""

import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
HEADINGS = ("what", "asked", "measured")


def figures(pattern):
    """(name, function) of every figure found in the modules beside this one."""
    sys.path.insert(0, str(FOLDER))
    for path in sorted(FOLDER.glob("estimators_*.py")):
        for name, function in import_module(path.stem).FIGURES:
            if pattern in name:
                yield name, function


def lines(rows):
    """The rows as one aligned table."""
    cells = [HEADINGS, *([row[heading] for heading in HEADINGS] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def main():
    rows = []
    for name, function in figures(sys.argv[1] if len(sys.argv) > 1 else ""):
        print(f"running {name}", file=sys.stderr)
        rows.extend(function())
    print("\n".join(lines(rows)))


if __name__ == "__main__":
    main()
