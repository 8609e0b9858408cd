"""The published figures, read from the package's own data file."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from evenhand.errors import ConfError, nearest

EXACT, ORIENTATION = "exact", "orientation"


@cache
def published() -> dict[str, dict[str, Any]]:
    """Every study's published figures by its name."""
    return yaml.safe_load((files("evenhand.replication") / "published.yaml").read_text(encoding="utf-8"))


def names() -> list[str]:
    """The studies that can be replicated, in the order of the file."""
    return [name for name, facts in published().items() if facts["kind"] != ORIENTATION]


def chosen(asked: tuple[str, ...], only_exact: bool) -> list[str]:
    """The studies asked for, or all of them; a name that is not known is reported with the nearest that is."""
    for name in asked:
        if name not in names() and name in published():
            raise ConfError(f"'{name}' holds figures for orientation only: `evenhand replicate --beyond` shows them")
        if name not in names():
            raise ConfError(
                f"no published study is called '{name}'.{nearest(name, names())} Known: {', '.join(names())}"
            )
    kept = [name for name in names() if (not asked or name in asked) and (not only_exact or kind_of(name) == EXACT)]
    if not kept:
        raise ConfError(
            f"--exact leaves none of {', '.join(asked)}: take --exact away, or name one whose kind is exact"
        )
    return kept


def kind_of(name: str) -> str:
    """exact, split or subset."""
    return published()[name]["kind"]
