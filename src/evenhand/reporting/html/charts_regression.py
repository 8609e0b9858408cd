"""The charts of predicted numbers and of tuned parameters."""

import math
from collections.abc import Sequence
from itertools import pairwise

from evenhand.evaluation.curves import Decile, PredictedActual, Residuals
from evenhand.reporting.html.chart import Chart, Series, legend
from evenhand.reporting.html.content import ValidationCurve
from evenhand.reporting.html.elements import Html, count, number, table, titled
from evenhand.reporting.html.svg import Canvas, axis, colour_of, named_axis
from evenhand.statistics import NormalQuantiles

Kind = tuple[str, Sequence[float], Sequence[float]]


def validation_chart(curve: ValidationCurve, metric: str, place: int) -> Chart:
    """The metric over the values of a tuned parameter, on held and on training rows."""
    kinds = _kinds(curve)
    up = axis(titled(metric), *_reach(kinds))
    canvas, xs = Canvas(named_axis(curve.parameter, curve.values), up, height=270), list(range(len(curve.values)))
    heads = [curve.parameter, *(words for name, _, _ in kinds for words in (f"{name}, mean", "deviation"))]
    columns = [curve.values, *(map(number, values) for _, *both in kinds for values in both)]
    words = f"{titled(metric)} over {curve.parameter} of {curve.candidate}"
    return Chart(
        id=f"validation-{place}",
        title=f"{curve.candidate}: {curve.parameter}",
        summary=words,
        canvas=canvas,
        marks=tuple(_kind_marks(canvas, xs, kind, nth) for nth, kind in enumerate(kinds)),
        series=tuple(Series(name, xs, mean, spread) for name, mean, spread in kinds),
        values=table(heads, list(zip(*columns, strict=True)), words),
        third="Deviation",
        x_names=curve.values,
        beneath=legend([(name, "") for name, _, _ in kinds]),
    )


def predicted_chart(points: PredictedActual, name: str) -> Chart:
    """A dot per row, and the ten largest misses as a table."""
    both = (*points.actual, *points.predicted)
    edge = 0.03 * (max(both) - min(both))
    low, high = min(both) - edge, max(both) + edge
    canvas = Canvas(axis("Actual", low, high), axis("Predicted", low, high))
    worst = sorted(zip(points.actual, points.predicted, strict=True), key=lambda pair: -abs(pair[0] - pair[1]))[:10]
    rows = [(number(a), number(p), number(a - p)) for a, p in worst]
    thinned = len(points.actual) < points.n_rows
    shown = f" {len(points.actual):,} of {points.n_rows:,} rows are drawn." if thinned else ""
    dots = canvas.dots(points.actual, points.predicted, "s1 faint", 2)
    return Chart(
        id="predicted",
        title="Predicted against actual",
        summary=f"Predicted against actual values of {name}.",
        canvas=canvas,
        marks=(dots, canvas.line([low, high], [low, high], "chance strong")),
        series=(Series("One row", points.actual, points.predicted),),
        values=table(["Actual", "Predicted", "Difference"], rows, "Largest misses"),
        caption=f"On the diagonal the prediction was right.{shown}",
    )


def residual_chart(histogram: Residuals, name: str) -> Chart:
    """How far actual values lie from predicted ones."""
    edges, counts = histogram.edges, histogram.counts
    canvas = Canvas(axis("Actual minus predicted", edges[0], edges[-1]), axis("Rows", 0, max(counts) * 1.05))
    zero = canvas.line([0, 0], [0, max(counts)], "chance strong") if edges[0] < 0 < edges[-1] else None
    beyond = histogram.n_below + histogram.n_above
    rows = [(number(a), number(b), count(n)) for (a, b), n in zip(pairwise(edges), counts, strict=True)]
    return Chart(
        id="residuals",
        title="Residuals",
        summary=f"Histogram of the residuals of {name}.",
        canvas=canvas,
        marks=(canvas.bars(edges, counts, "s1"), zero),
        series=(Series("Residuals", [(a + b) / 2 for a, b in pairwise(edges)], counts),),
        values=table(["From", "to", "Rows"], rows, "Histogram of the residuals"),
        caption="Right of zero the prediction was too low." + (f" {beyond:,} rows lie beyond." if beyond else ""),
    )


def scatter_chart(points: PredictedActual, name: str) -> Chart:
    """What each prediction missed, over the predicted values."""
    left = [actual - predicted for actual, predicted in zip(points.actual, points.predicted, strict=True)]
    (low, high), (least, most) = _with_edge(points.predicted), _with_edge([*left, 0.0])
    canvas = Canvas(axis("Predicted", low, high), axis("Actual minus predicted", least, most))
    thinned = len(left) < points.n_rows
    shown = f" {len(left):,} of {points.n_rows:,} rows are drawn." if thinned else ""
    far = sorted(zip(points.predicted, left, strict=True), key=lambda pair: -abs(pair[1]))[:10]
    return Chart(
        id="scatter",
        title="Residuals over predictions",
        summary=f"Actual minus predicted over predicted values of {name}.",
        canvas=canvas,
        marks=(canvas.dots(points.predicted, left, "s1 faint", 2), canvas.line([low, high], [0, 0], "chance strong")),
        series=(Series("One row", points.predicted, left),),
        values=table(["Predicted", "Residual"], [(number(p), number(r)) for p, r in far], "Largest residuals"),
        caption=f"A bend is what the model does not see, a funnel an error that grows.{shown}",
    )


def normal_chart(found: NormalQuantiles, name: str) -> Chart:
    """Standardized residuals against the quantiles of a normal law."""
    ends = _with_edge([*found.observed, *found.expected])
    canvas = Canvas(axis("Normal quantile", *_with_edge(found.expected)), axis("Standardized residual", *ends))
    low, high = ([min(max(value, ends[0]), ends[1]) for value in each] for each in (found.low, found.high))
    places = sorted({0, len(found.expected) - 1, *range(0, len(found.expected), max(1, len(found.expected) // 12))})
    columns = (found.expected, found.observed, found.low, found.high)
    rows = [[number(each[place]) for each in columns] for place in places]
    marks = (
        canvas.area(found.expected, low, high, "s1"),
        canvas.line(found.expected, found.expected, "chance strong"),
        canvas.dots(found.expected, found.observed, "s1", 2),
    )
    thinned = len(found.expected) < found.n_rows
    shown = f" {len(found.expected):,} of {found.n_rows:,} rows are drawn." if thinned else ""
    return Chart(
        id="normal",
        title="Normal Q-Q plot",
        summary=f"Standardized residuals of {name} against the quantiles of a normal law.",
        canvas=canvas,
        marks=marks,
        series=(Series("One row", found.expected, found.observed),),
        values=table(["Normal quantile", "Residual", "from", "to"], rows, "Residuals against a normal law"),
        caption=f"Normal residuals follow the line; the band holds each in 95 of 100 samples.{shown}",
    )


def decile_chart(deciles: Sequence[Decile], name: str) -> Chart:
    """The mean absolute error in each tenth of the rows by predicted value."""
    heights = [one.mean_absolute_error for one in deciles]
    names = tuple(f"{place + 1}" for place in range(len(deciles)))
    across = named_axis("Tenth of the rows, by predicted value", names)
    canvas = Canvas(across, axis("Mean absolute error", 0, max(heights) * 1.05 or 1.0))
    bars = [canvas.bars([place - 0.38, place + 0.38], [height], "s1") for place, height in enumerate(heights)]
    return Chart(
        id="deciles",
        title="Error by tenth",
        summary=f"Mean absolute error of {name} in each tenth of the rows by predicted value.",
        canvas=canvas,
        marks=(bars,),
        series=(Series("Tenth", list(range(len(deciles))), heights),),
        values=_decile_table(names, deciles),
        caption="The first tenth holds the lowest predictions.",
        x_names=names,
    )


def _with_edge(values: Sequence[float]) -> tuple[float, float]:
    edge = 0.03 * ((max(values) - min(values)) or 1.0)
    return min(values) - edge, max(values) + edge


def _kinds(curve: ValidationCurve) -> list[Kind]:
    kinds = [("held rows", curve.cv_mean, curve.cv_std), ("training rows", curve.train_mean, curve.train_std)]
    return [(name, mean, spread or (0.0,) * len(mean)) for name, mean, spread in kinds if mean]


def _reach(kinds: Sequence[Kind]) -> tuple[float, float]:
    ends = [value for _, mean, spread in kinds for m, s in zip(mean, spread, strict=True) for value in (m - s, m + s)]
    ends = [value for value in ends if math.isfinite(value)] or [0.0, 1.0]
    edge = 0.05 * (max(ends) - min(ends))
    return min(ends) - edge, max(ends) + edge


def _kind_marks(canvas: Canvas, xs: Sequence[float], kind: Kind, nth: int) -> list[Html]:
    _, mean, spread = kind
    low, high = ([m + sign * s for m, s in zip(mean, spread, strict=True)] for sign in (-1, 1))
    colour = colour_of(nth)
    return [canvas.area(xs, low, high, colour), canvas.line(xs, mean, colour), canvas.dots(xs, mean, colour)]


def _decile_table(names: Sequence[str], deciles: Sequence[Decile]) -> Html:
    heads = ["Tenth", "From", "to", "Mean predicted", "Mean actual", "MAE", "RMSE", "Rows"]
    rows = [
        (name, *map(number, (one.low, one.high, one.mean_predicted, one.mean_actual, *_errors(one))), count(one.n_rows))
        for name, one in zip(names, deciles, strict=True)
    ]
    return table(heads, rows, "Error by tenth of the rows")


def _errors(one: Decile) -> tuple[float, float]:
    return one.mean_absolute_error, one.root_mean_squared_error
