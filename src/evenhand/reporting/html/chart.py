"""A chart on the page: a drawing, the values that the pointer finds and the same values as a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.reporting.html.elements import Html, details, joined, tag
from evenhand.reporting.html.svg import WIDTH, Canvas, colour_of
from evenhand.reporting.html.templates import render


@dataclass(frozen=True)
class Series:
    """Points that the pointer can find: their values on both axes and, where known, a third one."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    third: Sequence[float] = ()


@dataclass(frozen=True)
class Chart:
    """A drawing with its words; `summary` is what is read aloud, `third` names the third value of its series."""

    id: str
    title: str
    summary: str
    canvas: Canvas
    marks: tuple[Any, ...]
    series: tuple[Series, ...]
    values: Html
    caption: str = ""
    third: str = ""
    x_names: tuple[str, ...] = ()
    beneath: Html | None = None

    def figure(self) -> Html:
        """The chart as a figure; its values stand in a table folded beneath."""
        return render(
            "chart",
            id=self.id,
            title=self.title,
            caption=self.caption,
            summary=self.summary,
            width=WIDTH,
            height=self.canvas.height,
            drawn=joined(self.canvas.frame(), *self.marks),
            beneath=self.beneath,
            values=details("Values as a table", self.values),
        )

    def data(self) -> dict[str, Any]:
        """What the script needs to find the point nearest to the pointer."""
        across, up, canvas = self.canvas.across, self.canvas.up, self.canvas
        return {
            "frame": [canvas.x(across.low), canvas.x(across.high), canvas.y(up.low), canvas.y(up.high)],
            "x": [across.low, across.high],
            "y": [up.low, up.high],
            "log": [across.is_log, up.is_log],
            "words": [across.title, up.title, self.third],
            "names": self.x_names,
            "series": [_points(one) for one in self.series],
        }


def legend(entries: Sequence[tuple[str, str]]) -> Html:
    """The names beside their colours, in order, each with a word or two after it."""
    items = [
        tag("li", swatch(place), f"{name},", tag("b", words)) if words else tag("li", swatch(place), name)
        for place, (name, words) in enumerate(entries)
    ]
    return tag("ul", items, class_="legend")


def swatch(place: int, is_champion: bool = False) -> Html:
    """A short piece of a candidate's line."""
    class_ = f"line {colour_of(place)}{' champion' if is_champion else ''}"
    return tag("svg", tag("path", d="M1 6H23", class_=class_), viewBox="0 0 24 12", class_="swatch", aria_hidden="true")


def _points(series: Series) -> dict[str, Any]:
    return {"name": series.name, "x": _rounded(series.x), "y": _rounded(series.y), "third": _rounded(series.third)}


def _rounded(values: Sequence[float]) -> list[float | None]:
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values]
