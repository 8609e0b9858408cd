"""The portfolio: settings in the order to try them, as `benchmarks/portfolio.py` chose them on development sets."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from evenhand.errors import ConfError, nearest

FAMILIES = {
    "naive Bayes": ("nb",),
    "neighbours": ("knn",),
    "kernel machines": ("svm", "svr"),
    "linear models": ("logistic", "ridge"),
    "trees": ("boosting", "forest", "trees"),
}


@dataclass(frozen=True)
class Preset:
    """How much a study tries: so many of the portfolio, and of every family its first, in so many minutes."""

    name: str
    minutes: float
    n_candidates: int
    most_folds: int
    repeated_below: int = 500  # rows, under which folds are repeated


PRESETS = {
    each.name: each
    for each in (
        Preset("fast", 0.5, 5, 3),
        Preset("balanced", 5.0, 18, 5),
        Preset("best", 15.0, 100, 5, repeated_below=5_000),
    )
}
USUAL = "balanced"
FEW_MINUTES, FEWER = 2.0, 12  # on a busy machine more candidates than that leave each too little of a minute


def preset_of(name: str = USUAL, minutes: float | None = None) -> Preset:
    """The preset of that name, with other minutes where they are given, and fewer candidates where they are few."""
    if name not in PRESETS:
        raise ConfError(f"there is no preset '{name}'.{nearest(name, PRESETS)} Give one of {', '.join(PRESETS)}.")
    if minutes is not None and minutes <= 0:
        raise ConfError(f"minutes should be above 0, found {minutes:g}: give the minutes that the whole run may take")
    usual = PRESETS[name]
    given = usual.minutes if minutes is None else minutes
    most = usual.n_candidates if given >= FEW_MINUTES else min(usual.n_candidates, FEWER)
    return replace(usual, minutes=given, n_candidates=most)


@cache
def portfolio() -> dict[str, Any]:
    """All that was chosen, and the command that chose it."""
    text = (files("evenhand.data.presets") / "portfolio.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def family(model: str) -> str:
    """The family of a model, by the end of its words."""
    words = model.split("_")
    return next((name for name, known in FAMILIES.items() if set(words) & set(known)), model)


def chosen(kind: str, n_candidates: int, n_rows: int) -> list[dict[str, Any]]:
    """The first settings for `classes` or `numbers`, and the first of every family, in the order to try them.

    Settings that pay with many rows come after the first of all.
    """
    taken: set[str] = set()
    found = []
    for place, entry in enumerate(portfolio()[kind]):
        if place < n_candidates or family(entry["model"]) not in taken:
            found.append(entry)
        taken.add(family(entry["model"]))
    many = portfolio()["many"]
    return [found[0], *many[kind], *found[1:]] if n_rows >= many["rows"] else found


def provenance(kind: str) -> str:
    """What the order of the portfolio comes from, in one line."""
    found = portfolio()
    return f"chosen on {len(found['sets'][kind])} development sets by {found['made_by']}"
