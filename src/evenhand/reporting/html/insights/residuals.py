"""Where predicted numbers are off: residuals over the values of each column."""

from evenhand.evaluation.explanation.residual_columns import ColumnResiduals
from evenhand.reporting.html.chart import Chart, Series
from evenhand.reporting.html.content import PageContent
from evenhand.reporting.html.elements import Heading, Html, count, joined, listing, number, p_value, section, table, tag
from evenhand.reporting.html.svg import Canvas, axis, named_axis

Drawn = tuple[Html | None, list[Chart]]
MOST_DRAWN, LEVEL = 4, 0.05


def residual_columns(content: PageContent) -> Drawn:
    """The mean residual over parts of each column; those that the model is surely off along come first."""
    found = content.regression.by_column if content.regression is not None else ()
    if not found:
        return None, []
    drawn = [_chart(nth, one) for nth, one in enumerate(found[:MOST_DRAWN])]
    n_sure = sum(one.p_value < LEVEL for one in found)
    said = f"{n_sure} of {len(found)} columns" if n_sure else "no column"
    lead = (
        "Mean of actual minus predicted over tenths of a number or the values of a category, with 95 % intervals; "
        f"above zero predictions are too low. They are shown to be off along {said} (5 %, corrected by Holm)."
    )
    columns = [
        (Heading("Column", "text"), lambda one: one.column),
        (Heading("Share of the residuals' variance"), lambda one: number(one.share)),
        (Heading("p, corrected"), lambda one: p_value(one.p_value)),
        (Heading("Verdict", "text"), lambda one: tag("b", "off") if one.p_value < LEVEL else "not shown to be off"),
    ]
    shown = listing(found, columns, "Residuals by column")
    body = joined(tag("div", [chart.figure() for chart in drawn], class_="pair"), shown)
    return section("residual-columns", "Residuals by column", body, lead=lead), drawn


def _chart(nth: int, one: ColumnResiduals) -> Chart:
    x = list(one.at) or [float(k) for k in range(len(one.values))]
    across = axis(one.column, min(x), max(x)) if one.at else named_axis(one.column, one.values)
    canvas = Canvas(across, axis("Actual minus predicted", min(*one.low, 0.0), max(*one.high, 0.0)), height=230)
    names = [number(value) for value in one.at] or list(one.values)
    rows = [
        (name, number(one.mean[k]), f"{number(one.low[k])} to {number(one.high[k])}", count(one.n_rows[k]))
        for k, name in enumerate(names)
    ]
    return Chart(
        id=f"residuals-{nth}",
        title=one.column,
        summary=f"Mean residual over {one.column}, from {number(min(one.mean))} to {number(max(one.mean))}.",
        canvas=canvas,
        marks=(
            canvas.line([across.low, across.high], [0, 0], "chance strong"),
            canvas.whiskers(x, one.low, one.high, "s1"),
            canvas.dots(x, one.mean, "s1"),
        ),
        series=(Series("Mean residual", x, one.mean),),
        values=table([one.column, "Mean residual", "95 % interval", "Rows"], rows, f"Residuals over {one.column}"),
        x_names=one.values,
    )
