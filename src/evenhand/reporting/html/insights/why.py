"""Why the model predicts what it does: effects of columns, coefficients, pairs, words and the worst errors."""

from collections.abc import Sequence
from itertools import groupby

from evenhand.records.insight import ColumnCurve, Insight, ReasonedRow
from evenhand.reporting.html.chart import Chart, Series, legend
from evenhand.reporting.html.content import PageContent
from evenhand.reporting.html.elements import (
    Heading,
    Html,
    breakable,
    count,
    joined,
    listing,
    number,
    percent,
    section,
    table,
    with_minus,
)
from evenhand.reporting.html.svg import Canvas, axis, colour_of, named_axis
from evenhand.reporting.html.templates import render

Drawn = tuple[Html | None, list[Chart]]
ROUNDING = 1e-9  # of the strongest reason, below which a part is nothing


def why(content: PageContent) -> Drawn:
    """Curves of the important columns, coefficients, pairs, words, and the rows that were predicted worst."""
    found = content.explained.insight if content.explained is not None else None
    if found is None or not (found.curves or found.worst or found.words or found.coefficients):
        return None, []
    columns = [list(each) for _, each in groupby(found.curves, key=lambda one: one.column)]
    drawn = [_curve_chart(nth, each, found.unit) for nth, each in enumerate(columns)]
    body = render(
        "why",
        charts=[chart.figure() for chart in drawn],
        curves_lead=_curves_lead(found),
        coefficients=_coefficients(found),
        pairs=[(joined(*_between(each.columns)), percent(each.share)) for each in found.pairs],
        words=_words(found),
        worst=_worst(found),
        worst_lead=_worst_lead(found),
    )
    lead = f"The model that is served, asked about held-out rows: {count(found.n_rows)} of them for curves."
    return section("why", "Why it predicts what it does", body, lead=lead), drawn


def _between(names: Sequence[str]) -> list[Html]:
    return [breakable(names[0]), Html(" and "), breakable(names[1])]


def _curves_lead(found: Insight) -> str:
    return (
        f"By how much the {found.unit} moves around its mean with one column, the most important first; bands and "
        "upright lines are 95 % intervals over rows. Numbers: accumulated local effects; categories: partial "
        "dependence."
    )


def _curve_chart(nth: int, curves: Sequence[ColumnCurve], unit: str) -> Chart:
    """All classes of one column."""
    first = curves[0]
    ends = [value for one in curves for value in (*one.low, *one.high, 0.0)]
    up = axis(f"Change of {unit}", min(ends), max(ends))
    across = axis(first.column, first.at[0], first.at[-1]) if first.at else named_axis(first.column, first.values)
    canvas, marks, series = Canvas(across, up, height=230), [], []
    marks.append(canvas.line([across.low, across.high], [0, 0], "chance"))
    for place, one in enumerate(curves):
        x, colour = list(one.at) or [float(k) for k in range(len(one.values))], colour_of(place)
        if one.at:
            marks += [canvas.area(x, one.low, one.high, colour), canvas.line(x, one.mean, colour)]
        else:
            marks += [canvas.whiskers(x, one.low, one.high, colour), canvas.dots(x, one.mean, colour)]
        series.append(Series(one.of or first.column, x, one.mean))
    heads = [first.column, *(f"{one.of or unit}" for one in curves), "95 % interval"]
    names = [number(value) for value in first.at] or list(first.values)
    rows = [
        (name, *(number(one.mean[k]) for one in curves), f"{number(first.low[k])} to {number(first.high[k])}")
        for k, name in enumerate(names)
    ]
    return Chart(
        id=f"effect-{nth}",
        title=first.column,
        summary=f"Effect of {first.column} on the {unit}, from {number(min(first.mean))} to {number(max(first.mean))}.",
        canvas=canvas,
        marks=tuple(marks),
        series=tuple(series),
        values=table(heads, rows, f"Effect of {first.column}"),
        x_names=first.values,
        beneath=legend([(one.of, "") for one in curves]) if len(curves) > 1 else None,
    )


def _coefficients(found: Insight) -> Html | None:
    if not found.coefficients:
        return None
    has_classes = len({one.of for one in found.coefficients}) > 1
    columns = [
        (Heading("Column", "text"), lambda one: one.column),
        (Heading("Class", "text"), lambda one: one.of if has_classes else ""),
        (Heading(f"Change of {found.reason_unit} for one more"), lambda one: number(one.per_unit)),
    ]
    return listing(found.coefficients, columns, "Coefficients in the units of the raw columns")


def _words(found: Insight) -> Html | None:
    if not found.words:
        return None
    columns = [
        (Heading("Word", "text"), lambda one: one.word),
        (Heading("Speaks for or against", "text"), lambda one: one.of),
        (Heading(f"Mean part of the {found.reason_unit}"), lambda one: number(one.mean)),
        (Heading("Rows with it"), lambda one: count(one.n_rows)),
    ]
    return listing(found.words, columns, "Words by what they add where they stand")


def _worst_lead(found: Insight) -> str:
    way = (
        "The model adds up its columns, so these parts are exact"
        if found.is_exact
        else "Parts are Shapley values, sampled over orders of columns"
    )
    of = "" if found.reason_unit == "prediction" else " of what was predicted"
    return (
        f"Held-out rows that were predicted worst, by their place in the data. {way}: what each adds to the "
        f"{found.reason_unit}{of}, beside the average training row."
    )


def _worst(found: Insight) -> Html | None:
    if not found.worst:
        return None
    columns = [
        (Heading("Row", "text"), lambda one: count(one.row)),
        (Heading("True", "text"), lambda one: with_minus(one.truth)),
        (Heading("Predicted", "text"), lambda one: with_minus(one.predicted)),
        (Heading("Because", "text whole"), _because),
    ]
    return listing(found.worst, columns, "The worst errors with their reasons")


def _because(one: ReasonedRow) -> str:
    least = ROUNDING * max((abs(each.amount) for each in one.reasons), default=0.0)
    parts = [f"{each.column} {with_minus(each.value)}: {_signed(each.amount, least)}" for each in one.reasons]
    return "; ".join([*parts, f"others {_signed(one.rest, least)}"])


def _signed(amount: float, least: float) -> str:
    """An amount with its sign; nothing where only rounding is left of it."""
    return number(0.0) if abs(amount) <= least else f"{'+' * (amount > 0)}{number(amount)}"
