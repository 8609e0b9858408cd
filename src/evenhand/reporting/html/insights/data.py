"""The columns of the data: what they hold, what is missing, and how they moved since the run before."""

from itertools import pairwise

from evenhand.records.since import ColumnShape
from evenhand.reporting.html.content import ColumnFacts, PageContent
from evenhand.reporting.html.elements import (
    Heading,
    Html,
    count,
    counted,
    listing,
    percent,
    plain,
    section,
    share,
    tag,
)

WIDTH, HEIGHT = 120, 24
MOST_VALUES = 5


def data(content: PageContent) -> Html | None:
    """The columns with range, quartiles or top values, missing values, a sparkline and drift."""
    if not content.columns:
        return None
    shapes = {one.name: one for one in content.shapes}

    def of(one: ColumnFacts) -> ColumnShape | None:
        return shapes.get(one.name)

    columns = [
        (Heading("Column", "text"), lambda one: one.name),
        (Heading("Kind", "text"), lambda one: one.kind),
        (Heading("Role", "text"), lambda one: one.role),
        (Heading("Spread", "wide"), lambda one: _sparkline(of(one))),
        (Heading("Range"), lambda one: _range(of(one), _unit(one))),
        (Heading("Tenths: 1st, 5th, 9th"), lambda one: _quantiles(of(one), _unit(one))),
        (Heading("Top values", "text whole"), lambda one: _values(of(one))),
        (Heading("Missing"), lambda one: share(one.n_missing, one.n_rows) if one.n_missing else "none"),
        (Heading("Seen", "text whole"), lambda one: one.words),
        (Heading("Drift", "text"), lambda one: found.drift if (found := of(one)) else ""),
    ]
    n_holed = sum(one.n_missing > 0 for one in content.columns)
    lead = f"{counted(len(content.columns), 'column', 'columns')}, {n_holed or 'none'} with missing values."
    if content.shapes:
        lead += f" Spread, tenths and top values are of the {count(content.shapes[0].n_rows)} training rows."
    if any(one.drift for one in content.shapes):
        n_drifted = sum(one.is_drifted for one in content.shapes)
        lead += f" Since the run before {n_drifted or 'none'} drifted."
    return section("columns", "Columns", listing(content.columns, columns, "Columns"), lead=lead)


def _unit(one: ColumnFacts) -> str:
    """What the numbers of a column count, where they are not its own values."""
    return " words" if one.role == "text" else ""


def _range(one: ColumnShape | None, unit: str) -> str:
    return "" if one is None or one.low is None or one.high is None else f"{plain(one.low)} to {plain(one.high)}{unit}"


def _quantiles(one: ColumnShape | None, unit: str) -> str:
    if one is None or len(one.edges) != 9:
        return ""
    return ", ".join(plain(one.edges[k]) for k in (0, 4, 8)) + unit


def _values(one: ColumnShape | None) -> str:
    if one is None or not one.values:
        return ""
    known = max(one.n_rows - one.n_missing, 1)
    return ", ".join(f"{v} {percent(n / known)}" for v, n in zip(one.values, one.counts, strict=False))


def _sparkline(one: ColumnShape | None) -> Html | str:
    """Density between the ends of a number, or how common values are."""
    if one is None or not one.counts:
        return ""
    edges = [one.low, *one.edges, one.high] if one.edges and one.low is not None and one.high is not None else []
    if edges:
        low, high = float(edges[0] or 0), float(edges[-1] or 0)
        ends = [float(each or 0) for each in edges]
        widths = [max(after - before, (high - low) / WIDTH or 1.0) for before, after in pairwise(ends)]
        heights = [n / width for n, width in zip(one.counts, widths, strict=False)]
        at = [WIDTH * (each - low) / ((high - low) or 1.0) for each in ends]
    else:
        heights = [float(n) for n in one.counts]
        at = [WIDTH * k / len(heights) for k in range(len(heights) + 1)]
    most = max(heights) or 1.0
    way = "".join(
        f"M{at[k]:.1f} {HEIGHT}V{HEIGHT * (1 - each / most):.1f}H{max(at[k + 1], at[k] + 0.6):.1f}V{HEIGHT}Z"
        for k, each in enumerate(heights)
    )
    return tag(
        "svg", tag("path", d=way, class_="fill"), viewBox=f"0 0 {WIDTH} {HEIGHT}", class_="strip", aria_hidden="true"
    )
