"""Pictures of training rows and of trees, as SVG files of their own and folded on the page."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from evenhand.evaluation.pictures.training_pictures import STEPS, Correlations, Plane
from evenhand.reporting.html.content import PageContent
from evenhand.reporting.html.elements import Html, count, details, joined, number, percent, section, tag
from evenhand.reporting.html.pictures import COLOURS, HEAD, standalone
from evenhand.reporting.html.svg import WIDTH, Canvas, axis

SIDE, NAME, BOX, LEVEL_HEIGHT, WORDS = 34, 110, 118, 78, 20
STYLE_SHEET = re.compile("<style>.*?</style>")  # the page has its own, and allows no other
SHADES = ("#08306b", "#2171b5", "#6baed6", "#9aa0a6", "#fd8d3c", "#d94801", "#7f2704")


def correlation_picture(found: Correlations) -> str:
    """The matrix, blue where two columns fall together and orange where they rise together."""
    size = len(found.names)
    parts = []
    for row, values in enumerate(found.values):
        y = HEAD + 96 + row * SIDE
        parts.append(_text(NAME - 6, y + 21, _short(found.names[row], 16), "end"))
        parts.append(_text(0, 0, _short(found.names[row], 15), "start",
                           transform=f"translate({NAME + row * SIDE + 20} {HEAD + 90}) rotate(-60)"))  # fmt: skip
        for column, value in enumerate(values):
            parts.append(_cell(NAME + column * SIDE, y, value))
    height = HEAD + 96 + size * SIDE + 24
    foot = _text(8, height - 8, f"{count(found.n_rows)} training rows, strongest columns first", "start")
    return standalone("Correlation of columns", joined(parts, foot), max(WIDTH, NAME + size * SIDE + 40), height)


def scatter_picture(found: Plane) -> str:
    """Training rows in the two strongest columns, coloured by class or by range of the target."""
    words = f"{count(len(found.x))} of {count(found.n_rows)} training rows"
    return _plane("The two strongest columns", found, [], words)


def region_picture(found: Plane, name: str) -> str:
    """What a model predicts at each place of the two columns, with training rows over it."""
    canvas = _canvas(found)
    shown = set(range(len(found.labels)))
    ways = {place: "".join(_runs(found, canvas, place)) for place in shown}
    shades = [tag("path", d=way, fill=_colour(found, place), fill_opacity=".3") for place, way in ways.items() if way]
    return _plane(f"Regions of {name}", found, shades, "other columns in their middle; dots are training rows")


def tree_picture(tree: Mapping[str, Any], labels: Sequence[str], name: str) -> str:
    """A tree of decisions to the depth that was kept; what lies below a leaf is counted in it."""
    placed, width = _placed(tree["root"], 0, 8.0)
    height = HEAD + LEVEL_HEIGHT * (1 + max(depth for _, depth, _, _ in placed)) + 24
    centres = {id(node): x for node, _, x, _ in placed}
    parts = [part for node, depth, x, _ in placed for part in _node(node, depth, x, labels)]
    lines = [
        tag("path", d=f"M{x:g} {_top(depth) + 50:g}L{centres[id(child)]:g} {_top(depth + 1):g}", stroke="#8b929b")
        for node, depth, x, _ in placed
        for child in node.get("children", ())
    ]
    total = f"{count(tree['n_nodes'])} nodes, depth {tree['depth']}; left where the condition holds"
    foot = _text(8, height - 8, total, "start")
    return standalone(f"Tree of {name}", joined(lines, parts, foot), max(WIDTH, width + 8), height)


def _plane(title: str, found: Plane, shades: Sequence[Html], foot: str) -> str:
    canvas = _canvas(found)
    dots = []
    for place in range(len(found.labels)):
        points = [(x, y) for x, y, k in zip(found.x, found.y, found.groups, strict=True) if k == place]
        inside = [(x, y) for x, y in points if _is_inside(x, found.x_ends) and _is_inside(y, found.y_ends)]
        if inside:
            drawn = canvas.dots([x for x, _ in inside], [y for _, y in inside], "", 2)
            dots.append(tag("g", drawn, color=_colour(found, place)))
    keys = [_key(canvas.height + 6 + 15 * k, label, _colour(found, k)) for k, label in enumerate(found.labels[:12])]
    last = canvas.height + 20 + 15 * len(keys)
    body = tag(
        "g", *shades, canvas.frame(), dots, keys, _text(8, last, foot, "start"), transform=f"translate(0 {HEAD})"
    )
    return standalone(title, body, WIDTH, HEAD + last + 10)


def _key(y: float, label: str, colour: str) -> Html:
    return joined(tag("rect", x=8, y=y, width=10, height=10, fill=colour), _text(24, y + 9, label[:40], "start"))


def _canvas(found: Plane) -> Canvas:
    return Canvas(axis(found.names[0], *found.x_ends), axis(found.names[1], *found.y_ends))


def _runs(found: Plane, canvas: Canvas, place: int) -> Iterator[str]:
    """Neighbouring cells of one prediction as one rectangle."""
    left, bottom = canvas.x(found.x_ends[0]), canvas.y(found.y_ends[0])
    wide = (canvas.x(found.x_ends[1]) - left) / STEPS
    high = (bottom - canvas.y(found.y_ends[1])) / STEPS
    for row, cells in enumerate(found.cells):
        start = 0
        for predicted, run in groupby(cells):
            length = len(list(run))
            if predicted == place:
                corner = f"M{left + start * wide:.1f} {bottom - (row + 1) * high:.1f}"
                yield f"{corner}h{length * wide:.1f}v{high:.1f}h{-length * wide:.1f}z"
            start += length


def _colour(found: Plane, place: int) -> str:
    if len(found.labels) == len(SHADES) and found.labels[0].startswith("to "):
        return SHADES[place]
    return COLOURS[1 + place % (len(COLOURS) - 1)]


def _is_inside(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= value <= ends[1]


def _cell(x: float, y: float, value: float) -> Html:
    if math.isnan(value):
        return _text(x + SIDE / 2, y + 21, "–", "middle")
    colour, strength = ("#c2500a" if value > 0 else "#0065a8"), min(abs(value), 1.0)
    box = tag("rect", x=x, y=y, width=SIDE - 2, height=SIDE - 2, fill=colour, fill_opacity=f"{0.6 * strength:.2f}")
    return joined(box, _text(x + SIDE / 2 - 1, y + 20, number(round(value, 1) + 0.0, 1), "middle", fill="#1d2126"))


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _placed(node: Mapping[str, Any], depth: int, left: float) -> tuple[list[tuple[Any, int, float, float]], float]:
    """Every node with its depth and centre, leaves side by side from the left; and where the last one ends."""
    if not node.get("children"):
        return [(node, depth, left + BOX / 2, left)], left + BOX + 6
    first, middle = _placed(node["children"][0], depth + 1, left)
    second, right = _placed(node["children"][1], depth + 1, middle)
    centre = (first[0][2] + second[0][2]) / 2
    return [(node, depth, centre, left), *first, *second], right


def _node(node: Mapping[str, Any], depth: int, x: float, labels: Sequence[str]) -> Iterator[Html]:
    top = _top(depth)
    yield tag("rect", x=f"{x - BOX / 2:g}", y=f"{top:g}", width=BOX, height=50, rx=3, fill="#f7f9fb", stroke="#d5d9de")
    condition = f"{node['column'][:WORDS]} ≤ {number(node['threshold'])}" if node.get("column") else ""
    hidden = f"{count(node['hidden'])} more nodes" if node.get("hidden") else ""
    yield _text(x, top + 15, condition or hidden, "middle")
    yield _text(x, top + 30, f"{count(node['n_rows'])} rows", "middle")
    value = node["value"]
    best = max(range(len(value)), key=value.__getitem__)
    yield _text(x, top + 44, f"{labels[best][:12]} {percent(value[best])}" if labels else number(value[0]), "middle")


def _top(depth: int) -> float:
    return HEAD + depth * LEVEL_HEIGHT


def _text(x: float, y: float, words: str, anchor: str, **attributes: str) -> Html:
    return tag("text", words, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, **attributes)


def drawings(content: PageContent) -> Html | None:
    """The pictures of training rows and of trees, folded away until asked for."""
    if not content.drawings:
        return None
    folded = [
        details(title, tag("div", Html(STYLE_SHEET.sub("", picture)), class_="drawing"))
        for title, picture in content.drawings
    ]
    return section("pictures", "Pictures", folded, lead="Of training rows alone; the same files are in MLflow.")
