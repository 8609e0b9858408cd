"""Drawing on a small canvas: scales, frame, lines, areas, dots and bars as SVG markup."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.evaluation.pictures.curve_outline import outline
from evenhand.reporting.html.elements import Html, joined, number, tag

WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 72, 8, 10, 46
LETTER, GAP = 8, 6  # of tick labels, at the size they have on a phone
MOST_IN_COLOUR, MOST_POINTS = 8, 400


@dataclass(frozen=True)
class Axis:
    """One side of a frame: the values at its ends and the ticks between."""

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    is_log: bool = False

    def part(self, value: float) -> float:
        """Where a value lies, 0 at the low end and 1 at the high one; on a log axis what is too small lies at 0."""
        if self.is_log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def unit_axis(title: str) -> Axis:
    """An axis from 0 to 1."""
    ticks = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    return Axis(title, 0.0, 1.0, ticks, tuple(f"{tick:g}" for tick in ticks))


def axis(title: str, low: float, high: float, n_ticks: int = 5) -> Axis:
    """An axis over the values given, with round ticks."""
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    if not high > low:
        low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
    step = _round_step((high - low) / n_ticks)
    ticks = [step * place for place in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return Axis(title, low, high, tuple(ticks), tuple(_tick(tick, places) for tick in ticks))


def log_axis(title: str, lowest: float) -> Axis:
    """An axis of shares up to 1, by powers of ten from the one below the lowest."""
    first = math.floor(math.log10(min(lowest, 0.1)))
    ticks = tuple(10.0**power for power in range(first, 1))
    labels = tuple(f"{tick:g}".replace("e-0", "e−") for tick in ticks)
    return Axis(title, ticks[0], 1.0, ticks, labels, is_log=True)


def named_axis(title: str, names: Sequence[str]) -> Axis:
    """An axis with a tick for each name, at 0, 1, 2 and so on; only as many are labelled as there is room for."""
    longest = max((len(name[:12]) for name in names), default=1)
    room = (WIDTH - LEFT - RIGHT) / max(len(names), 1)
    every = max(math.ceil(len(names) / 8), math.ceil((longest * LETTER + GAP) / room))
    labels = tuple(name[:12] if place % every == 0 else "" for place, name in enumerate(names))
    return Axis(title, -0.5, len(names) - 0.5, tuple(map(float, range(len(names)))), labels)


@dataclass(frozen=True)
class Canvas:
    """A frame with two axes; everything drawn on it is given in the values of the axes."""

    across: Axis
    up: Axis
    height: int = HEIGHT

    def x(self, value: float) -> float:
        """The horizontal place of a value."""
        return LEFT + self.across.part(value) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """The vertical place of a value."""
        return self.height - BOTTOM - self.up.part(value) * (self.height - TOP - BOTTOM)

    def frame(self) -> Html:
        """Grid, tick labels and titles."""
        bottom, right = self.height - BOTTOM, WIDTH - RIGHT
        grid = [f"M{LEFT} {_at(self.y(tick))}H{right}" for tick in self.up.ticks]
        grid += [f"M{_at(self.x(tick))} {TOP}V{bottom}" for tick in self.across.ticks]
        ups = [
            _words(LEFT - 7, self.y(t) + 4, label, "end")
            for t, label in zip(self.up.ticks, self.up.labels, strict=True)
        ]
        downs = [
            _words(self.x(t), bottom + 18, label, "middle")
            for t, label in zip(self.across.ticks, self.across.labels, strict=True)
        ]
        middle, centre = (LEFT + right) / 2, (TOP + bottom) / 2
        titles = [
            _words(middle, self.height - 8, self.across.title, "middle", class_="title"),
            _words(0, 0, self.up.title, "middle", class_="title", transform=f"translate(12 {_at(centre)}) rotate(-90)"),
        ]
        return joined(tag("path", d="".join(grid), class_="grid"), ups, downs, titles)

    def line(self, xs: Sequence[float], ys: Sequence[float], class_: str) -> Html:
        """A line through the points, thinned to what can be seen."""
        return tag("path", d=self._way(xs, ys), class_=f"line {class_}")

    def area(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], class_: str) -> Html:
        """The space between two lines."""
        way = self._way([*xs, *reversed(xs)], [*high, *reversed(low)])
        return tag("path", d=f"{way}Z" if way else "", class_=f"area {class_}")

    def dots(self, xs: Sequence[float], ys: Sequence[float], class_: str, radius: float = 3) -> Html:
        """One circle per point."""
        places = [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
        circles = [Html(f'<circle cx="{_at(self.x(x))}" cy="{_at(self.y(y))}" r="{radius:g}"/>') for x, y in places]
        return tag("g", circles, class_=f"dots {class_}")

    def whiskers(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], class_: str) -> Html:
        """An upright line per interval."""
        ways = [f"M{_at(self.x(x))} {_at(self.y(a))}V{_at(self.y(b))}" for x, a, b in zip(xs, low, high, strict=True)]
        return tag("path", d="".join(ways), class_=f"whisker {class_}")

    def bars(self, edges: Sequence[float], heights: Sequence[float], class_: str) -> Html:
        """Bars that stand on zero, each from one edge to the next with a hair between."""
        ways = []
        for left, right, height in zip(edges, edges[1:], heights, strict=False):
            start, end = self.x(left) + 0.5, max(self.x(right) - 0.5, self.x(left) + 0.7)
            ways.append(f"M{_at(start)} {_at(self.y(0))}V{_at(self.y(height))}H{_at(end)}V{_at(self.y(0))}Z")
        return tag("path", d="".join(ways), class_=f"bar {class_}")

    def _way(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        seen = [(self.x(x), self.y(y)) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
        if not seen:
            return ""
        x, y = np.array(seen).T
        kept = outline(x, y, MOST_POINTS) if len(x) > MOST_POINTS else range(len(x))
        return "M" + "L".join(f"{_at(x[place])} {_at(y[place])}" for place in kept)


def colour_of(place: int) -> str:
    """The classes of a candidate's line by its place: eight colours, then the same eight dotted, then grey."""
    dash = " dotted" if MOST_IN_COLOUR <= place < 2 * MOST_IN_COLOUR else ""
    return f"s{place % MOST_IN_COLOUR + 1}{dash}" if place < 2 * MOST_IN_COLOUR else "s0"


def strip_ends(values: Sequence[Sequence[float]], means: Sequence[float]) -> tuple[float, float]:
    """Round ends for the strips: the values of all candidates fit but for those that would blur the others.

    These are candidates whose mean is far off, and single values far from those of the candidates that are left.
    """
    means = [mean if math.isfinite(mean) else math.nan for mean in means]
    low, high = _without_far(means, 2.5)
    near = [
        v for each, mean in zip(values, means, strict=True) if low <= mean <= high for v in each if math.isfinite(v)
    ]
    if not near:
        return 0.0, 1.0
    low, high = _without_far(near, 4.0)
    step = _round_step((high - low) / 10 if high > low else 0.1 * (abs(high) or 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return step * first, step * max(last, first + 1)  # where all values are equal there is still a line


def _without_far(values: Sequence[float], reach: float) -> tuple[float, float]:
    """The least and the greatest of the values, but for those that are so many spreads of the middle half beyond it."""
    known = [value for value in values if not math.isnan(value)]
    if len(known) < 4:
        return (min(known), max(known)) if known else (math.nan, math.nan)
    first, third = np.quantile(known, [0.25, 0.75])
    tenth, ninth = np.quantile(known, [0.1, 0.9], method="nearest")
    most = reach * max(third - first, (ninth - tenth) / 10) or math.inf
    return max(min(known), float(first) - most), min(max(known), float(third) + most)


@dataclass(frozen=True)
class Strip:
    """A line of one table cell: dots for values and a bar for their mean, a diamond with its interval."""

    low: float
    high: float
    width: int = 220
    height: int = 22
    held_beneath: bool = False

    def x(self, value: float) -> float:
        """The place of a value, at the edge where it lies beyond."""
        return 5 + min(1.0, max(0.0, (value - self.low) / (self.high - self.low))) * (self.width - 10)

    def is_beyond(self, values: Iterable[float]) -> bool:
        """Whether any of the values lies beyond an end, where a triangle stands for it."""
        return any(math.isfinite(value) and not self.low <= value <= self.high for value in values)

    def draw(self, label: str, *marks: Html | None, class_: str = "") -> Html:
        """The strip with its marks and what is read aloud of it; without a label it is passed over."""
        box = f"0 0 {self.width} {self.height}"
        spoken = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
        return tag("svg", *marks, viewBox=box, **spoken, class_=f"strip {class_}".strip())

    def dots(self, values: Sequence[float]) -> Html:
        """A dot per value inside the ends, an arrow head at the edge for those beyond."""
        inside = [value for value in values if self.low <= value <= self.high]
        circles = [Html(f'<circle cx="{_at(self.x(v))}" cy="{self._row:g}" r="3.2"/>') for v in inside]
        return tag("g", circles, self._beyond(values), class_="dots")

    def mean(self, value: float) -> Html | None:
        """A short upright bar."""
        if not self.low <= value <= self.high:
            return None
        return tag("path", d=f"M{_at(self.x(value))} {self._row - 8:g}v16", class_="mean")

    def guide(self, value: float) -> Html:
        """A faint line at a value that all strips share."""
        return tag("path", d=f"M{_at(self.x(value))} 0V{self.height}", class_="guide")

    def held(self, value: float | None, low: float | None = None, high: float | None = None) -> Html | None:
        """A diamond at the value on held rows, with its interval; an arrow at the edge where it is beyond."""
        if value is None or not math.isfinite(value):
            return None
        row = self.height - 7 if self.held_beneath else self._row
        if value < self.low:
            mark = f"M1 {row:g}l8 -4.5v9Z"
        elif value > self.high:
            mark = f"M{self.width - 1} {row:g}l-8 -4.5v9Z"
        else:
            mark = f"M{_at(self.x(value) - 4.5)} {row:g}l4.5 -4.5l4.5 4.5l-4.5 4.5Z"
        diamond = tag("path", d=mark, class_="held")
        if low is None or high is None or low > self.high or high < self.low:
            return diamond
        start, end = self.x(max(low, self.low)), self.x(min(high, self.high))
        return joined(tag("path", d=f"M{_at(start)} {row:g}H{_at(end)}", class_="reach"), diamond)

    def bar(self, value: float) -> Html:
        """A bar from the low end to the value."""
        start, end = self.x(self.low), self.x(value)
        return tag("path", d=f"M{_at(start)} {self._row - 4:g}H{_at(end)}v8H{_at(start)}Z", class_="fill")

    @property
    def _row(self) -> float:
        return 9 if self.held_beneath else self.height / 2

    def _beyond(self, values: Sequence[float]) -> Html | None:
        ways = f"M1 {self._row:g}l5 -4v8Z" if any(value < self.low for value in values) else ""
        ways += f"M{self.width - 1} {self._row:g}l-5 -4v8Z" if any(value > self.high for value in values) else ""
        return tag("path", d=ways, class_="beyond") if ways else None


def _round_step(step: float) -> float:
    size = 10.0 ** math.floor(math.log10(step))
    return size * next(factor for factor in (1, 2, 2.5, 5, 10) if step <= factor * size * (1 + 1e-9))


def _tick(value: float, places: int) -> str:
    if abs(value) >= 1e6:
        return number(value / 1e6).rstrip("0").rstrip(".") + "M"
    if abs(value) >= 1e4:
        return f"{value / 1e3:,g}k".replace("-", "−")
    if 0 < abs(value) < 0.0005:
        return number(value)
    plain = f"{value:.{places + 1}f}".rstrip("0").rstrip(".")  # without commas, as 1950 may be a year
    return plain.replace("-", "−")


def _at(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _words(x: float, y: float, words: str, anchor: str, **attributes: str) -> Html:
    return tag("text", words, x=_at(x), y=_at(y), text_anchor=anchor, **attributes)
