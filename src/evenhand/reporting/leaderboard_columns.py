"""The columns of the leaderboard: one entry each, for the terminal, for the page and for earlier runs alike.

Rank, candidate, the strip of folds and, on the page, the metric of the study always stand and are no entries.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.errors import ConfError
from evenhand.reporting.html.elements import joined, number, seconds, tag
from evenhand.runtime.text import time_text


@dataclass(frozen=True)
class CandidateLine:
    """What a candidate came to; `measured` holds every other figure by the name that it has in MLflow."""

    mean: float | None = None
    std: float | None = None
    holdout: float | None = None
    interval: tuple[float, float] | None = None
    train: float | None = None
    measured: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ColumnEntry:
    """A column of the leaderboard.

    Parameters
    ----------
    name : unique; the page sorts by it.
    value : the figure behind it, None where a candidate has none.
    text : what stands in the terminal; "-" suits a candidate without a figure.
    heading, width : its head in the terminal and room there; "" and 0 where another column says it.
    cell : what stands on the page; a number, text or elements.
    title : its head on the page; "" where another column says it. It is left out where no candidate has a figure.
    kind, is_minor : how the page sets it, and whether a phone leaves it out and wide screens have it last.
    leaves : its turn when a terminal is too narrow; 0 for one that always stays.
    is_uncertainty : whether names are shortened before it leaves.
    """

    name: str
    value: Callable[[CandidateLine], float | None]
    text: Callable[[CandidateLine], str]
    heading: str
    width: int
    cell: Callable[[CandidateLine], Any]
    title: str
    kind: str = "num"
    is_minor: bool = False
    leaves: int = 0
    is_uncertainty: bool = False

    def __post_init__(self) -> None:
        if not (self.heading or self.title):
            raise ConfError(f"the column '{self.name}' has neither heading nor title, so nobody sees it. Give one.")
        if self.heading and self.width <= len(self.heading):
            raise ConfError(f"the column '{self.name}' has width {self.width}. Give {len(self.heading) + 1} or more.")


def plain(value: float | None) -> str:
    """A number as the terminal shows it."""
    return "-" if value is None or math.isnan(value) else f"{value:.4f}"


def _ends(line: CandidateLine) -> str:
    return "" if line.interval is None else "{:.3f}-{:.3f}".format(*line.interval)


def _held(line: CandidateLine) -> Any:
    ends = "" if line.interval is None else f"{number(line.interval[0])} to {number(line.interval[1])}"
    return joined(number(line.holdout), " ", tag("span", ends, class_="soft ends-of") if ends else None)


def _took(line: CandidateLine) -> float | None:
    return line.measured.get("fit_seconds")


def _time(value: float | None) -> str:
    return "-" if value is None else time_text(value)


ENTRIES = (
    ColumnEntry(
        name="mean", value=lambda line: line.mean, text=lambda line: plain(line.mean), heading="folds", width=8,
        cell=lambda line: number(line.mean), title="",
    ),
    ColumnEntry(
        name="std", value=lambda line: line.std, text=lambda line: plain(line.std), heading="±", width=8,
        cell=lambda line: number(line.std), title="", leaves=4, is_uncertainty=True,
    ),
    ColumnEntry(
        name="train", value=lambda line: line.train, text=lambda line: plain(line.train), heading="train", width=8,
        cell=lambda line: number(line.train), title="Training", is_minor=True, leaves=1,
    ),
    ColumnEntry(
        name="holdout", value=lambda line: line.holdout, text=lambda line: plain(line.holdout), heading="holdout",
        width=9, cell=_held, title="Held out", kind="num held",
    ),
    ColumnEntry(
        name="interval", value=lambda line: line.interval[0] if line.interval else None, text=_ends, heading="95 %",
        width=13, cell=_ends, title="", leaves=3, is_uncertainty=True,
    ),
    ColumnEntry(
        name="fit", value=_took, text=lambda line: _time(_took(line)), heading="fit", width=9,
        cell=lambda line: seconds(_took(line)), title="Fit", is_minor=True, leaves=2,
    ),
)  # fmt: skip


def columns() -> tuple[ColumnEntry, ...]:
    """All columns, in the order of the terminal."""
    return ENTRIES


def columns_of_page(lines: Sequence[CandidateLine]) -> list[ColumnEntry]:
    """The columns of the page that have something to show, those that a phone leaves out last."""
    shown = [each for each in columns() if each.title and any(each.value(line) is not None for line in lines)]
    return sorted(shown, key=lambda each: each.is_minor)
