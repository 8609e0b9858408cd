"""The figures of the page: from the records of a curve to a drawing, the values under the pointer and a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.curves import Calibration, Decile
from evenhand.page import CandidateCurves, Regression, Thresholds, ValidationCurve
from evenhand.report_parts import Html, count, details, number, spoken, table, tag
from evenhand.report_svg import Axis, Canvas, axis, colour_of, named_axis, unit_axis

AT_FPR = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
AT_RECALL = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Series:
    """Points that the pointer can find: their values on both axes and, where known, a third one."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    third: Sequence[float] = ()


@dataclass(frozen=True)
class Chart:
    """A drawing with its words, its values for the pointer and its table."""

    id: str
    title: str
    caption: Any
    summary: str
    canvas: Canvas
    marks: tuple[Any, ...]
    series: tuple[Series, ...]
    values: Html
    third: str = ""
    beneath: Any = None

    def figure(self) -> Html:
        """The chart as a figure; its values stand in a table folded beneath."""
        box = f"0 0 400 {self.canvas.height}"
        picture = tag(
            "svg",
            self.canvas.frame(),
            *self.marks,
            viewBox=box,
            role="img",
            aria_label=self.summary,
            data_chart=self.id,
        )
        head = tag("figcaption", tag("h3", self.title), tag("p", self.caption) if self.caption else None)
        plot = tag("div", picture, class_="plot")
        return tag("figure", head, plot, self.beneath, details("Values as a table", self.values), class_="chart")

    def data(self) -> dict[str, Any]:
        """What the script needs to find the point nearest to the pointer."""
        across, up = self.canvas.across, self.canvas.up
        return {
            "frame": [
                self.canvas.x(across.low), self.canvas.x(across.high), self.canvas.y(up.low), self.canvas.y(up.high)
            ],
            "x": [across.low, across.high],
            "y": [up.low, up.high],
            "words": [across.title, up.title, self.third],
            "ticks": list(across.labels) if across.ticks and across.low == -0.5 and across.ticks[0] == 0 else [],
            "series": [
                {"name": one.name, "x": _rounded(one.x), "y": _rounded(one.y), "third": _rounded(one.third)}
                for one in self.series
            ],
        }  # fmt: skip


def roc_chart(curves: Sequence[CandidateCurves]) -> Chart:
    """The ROC curves of the candidates, best first, with the band of the best."""
    canvas = Canvas(unit_axis("False positive rate"), unit_axis("True positive rate"))
    best = curves[0]
    lines = [_line(canvas, place, one, one.roc.fpr, one.roc.tpr) for place, one in enumerate(curves)]
    band = best.roc_band and canvas.area(best.roc_band.x, best.roc_band.low, best.roc_band.high, "s1")
    chance = canvas.line([0, 1], [0, 1], "chance")
    heads = ["Candidate", "Area", *(f"at {100 * at:.0f} %" for at in AT_FPR)]
    rows = [(one.name, number(one.roc.area), *_at_fpr(one)) for one in curves]
    return Chart(
        "roc", "ROC", _band_words(best.roc_band), _areas_words("ROC curves", curves, lambda one: one.roc.area), canvas,
        (chance, band, list(reversed(lines))),
        tuple(Series(one.name, one.roc.fpr, one.roc.tpr, one.roc.thresholds) for one in curves),
        table(heads, rows, "True positive rate at false positive rates"), "Threshold",
    )  # fmt: skip


def precision_recall_chart(curves: Sequence[CandidateCurves]) -> Chart:
    """The precision-recall curves of the candidates, best first, with the band of the best."""
    canvas = Canvas(unit_axis("Recall"), unit_axis("Precision"))
    best, share = curves[0], curves[0].precision_recall.share_positive
    steps = [one.precision_recall for one in curves]
    pairs = list(zip(curves, steps, strict=True))
    lines = [_line(canvas, place, one, step.recall, step.precision) for place, (one, step) in enumerate(pairs)]
    spread = best.precision_recall_band
    band = spread and canvas.area(spread.x, spread.low, spread.high, "s1")
    heads = ["Candidate", "Average precision", *(f"at {100 * at:.0f} %" for at in AT_RECALL)]
    rows = [(one.name, number(step.area), *_at_recall(step.recall, step.precision)) for one, step in pairs]
    return Chart(
        "precision-recall", "Precision and recall", _band_words(spread),
        _areas_words("Precision-recall curves", curves, lambda one: one.precision_recall.area), canvas,
        (canvas.line([0, 1], [share, share], "chance"), band, list(reversed(lines))),
        tuple(Series(one.name, step.recall, step.precision, step.thresholds) for one, step in pairs),
        table(heads, rows, "Precision at values of recall"), "Threshold",
    )  # fmt: skip


def calibration_chart(named: Sequence[tuple[str, Calibration]]) -> Chart:
    """Promised against observed shares, with the intervals of the first candidate."""
    canvas = Canvas(unit_axis("Mean score"), unit_axis("Share that is positive"))
    marks, series = [canvas.line([0, 1], [0, 1], "chance")], []
    for place, (name, curve) in enumerate(named):
        x, y = [one.mean_score for one in curve.bins], [one.share for one in curve.bins]
        first = place == 0
        low, high = [one.low for one in curve.bins], [one.high for one in curve.bins]
        marks.append(canvas.whiskers(x, low, high, colour_of(place)) if first else None)
        marks += [canvas.line(x, y, colour_of(place)), canvas.dots(x, y, colour_of(place))]
        series.append(Series(name, x, y, [one.n_rows for one in curve.bins]))
    heads = ["Candidate", "Mean score", "Share positive", "95 % from", "to", "Rows"]
    rows = [
        (name, number(one.mean_score), number(one.share), number(one.low), number(one.high), count(one.n_rows))
        for name, curve in named
        for one in curve.bins
    ]
    errors = ", ".join(f"{name} {number(curve.error)}" for name, curve in named)
    caption = "On the diagonal a score means what it says. Lines up and down are 95 % intervals."
    return Chart(
        "calibration", "Calibration", caption, f"Calibration curves. Mean distance from the diagonal: {errors}.", canvas,
        tuple(marks), tuple(series), table(heads, rows, "Bins of the calibration curves"), "Rows", legend(named_errors(named)),
    )  # fmt: skip


def cost_chart(thresholds: Thresholds) -> Chart:
    """The cost over the threshold with a mark at the one chosen; far dearer ends are cut off."""
    sweep = thresholds.sweep
    cost = sweep.cost(thresholds.cost_false_positive, thresholds.cost_false_negative)
    finite = [place for place, at in enumerate(sweep.thresholds) if math.isfinite(at)]
    x, y = [sweep.thresholds[place] for place in finite], [cost[place] for place in finite]
    canvas = Canvas(_threshold_axis(x), axis("Cost", 0, min(max(y), 1.5 * max(cost[0], min(y))) * 1.05), height=270)
    place = chosen_place(thresholds)
    mark = [sweep.thresholds[place]] if place in finite else []
    marks = (
        tag("g", canvas.line(x, y, "s1"), clip_path="url(#cost-inside)"),
        _clip("cost-inside", canvas),
        tag("g", [canvas.dots(mark, [cost[place]] * len(mark), "s1", 5)], data_cost_mark=True),
    )
    rows = [_cost_row(thresholds, cost, one) for one in _every(finite, 20)]
    heads = ["Threshold", "Cost", "Found", "False alarms", "Missed", "Rightly left"]
    caption = (
        f"A false alarm is counted as {number(thresholds.cost_false_positive)}, "
        f"a miss as {number(thresholds.cost_false_negative)}."
    )
    least = number(sweep.cheapest(thresholds.cost_false_positive, thresholds.cost_false_negative))
    return Chart(
        "cost", "Cost against threshold", caption, f"Cost against threshold of {thresholds.name}, least at {least}.", canvas,
        marks, (Series(thresholds.name, x, y),), table(heads, rows, "Counts and cost at thresholds"),
    )  # fmt: skip


def validation_chart(curve: ValidationCurve, metric: str, place: int) -> Chart:
    """The metric over the values of a tuned parameter, on held and on training rows."""
    xs = list(range(len(curve.values)))
    kinds = [
        ("held rows of the folds", curve.cv_mean, curve.cv_std),
        ("training rows", curve.train_mean, curve.train_std),
    ]
    kinds = [(name, mean, spread or (0.0,) * len(mean)) for name, mean, spread in kinds if mean]
    every = [value for _, mean, spread in kinds for m, s in zip(mean, spread, strict=True) for value in (m - s, m + s)]
    edge = 0.05 * (max(every) - min(every))
    canvas = Canvas(
        named_axis(curve.parameter, curve.values),
        axis(spoken(metric), min(every) - edge, max(every) + edge),
        height=270,
    )
    marks, heads, columns = [], [curve.parameter], [curve.values]
    for nth, (name, mean, spread) in enumerate(kinds):
        low, high = ([m + sign * s for m, s in zip(mean, spread, strict=True)] for sign in (-1, 1))
        marks += [canvas.area(xs, low, high, colour_of(nth)), canvas.line(xs, mean, colour_of(nth))]
        marks.append(canvas.dots(xs, mean, colour_of(nth)))
        heads += [f"{name}, mean", "deviation"]
        columns += [tuple(map(number, mean)), tuple(map(number, spread))]
    words = f"{spoken(metric)} over {curve.parameter} of {curve.candidate}"
    return Chart(
        f"validation-{place}", f"{curve.candidate}: {curve.parameter}", None, words, canvas, tuple(marks),
        tuple(Series(name, xs, mean, spread) for name, mean, spread in kinds),
        table(heads, list(zip(*columns, strict=True)), words), "Deviation", legend([(name, "") for name, _, _ in kinds]),
    )  # fmt: skip


def predicted_chart(regression: Regression) -> Chart:
    """A dot per row, and the ten largest misses as a table."""
    points = regression.points
    both = (*points.actual, *points.predicted)
    edge = 0.03 * (max(both) - min(both))
    low, high = min(both) - edge, max(both) + edge
    canvas = Canvas(axis("Actual", low, high), axis("Predicted", low, high))
    worst = sorted(zip(points.actual, points.predicted, strict=True), key=lambda pair: -abs(pair[0] - pair[1]))[:10]
    rows = [(number(a), number(p), number(a - p)) for a, p in worst]
    shown = (
        f"{len(points.actual):,} of {points.n_rows:,} rows are drawn. " if len(points.actual) < points.n_rows else ""
    )
    return Chart(
        "predicted", "Predicted against actual", f"{shown}On the diagonal the prediction was right.",
        f"Predicted against actual values of {regression.name}.", canvas,
        (canvas.dots(points.actual, points.predicted, "s1 faint", 2), canvas.line([low, high], [low, high], "chance strong")),
        (Series("row", points.actual, points.predicted),), table(["Actual", "Predicted", "Difference"], rows, "Largest misses"),
    )  # fmt: skip


def residual_chart(regression: Regression) -> Chart:
    """How far actual values lie from predicted ones."""
    histogram = regression.residuals
    edges, counts = histogram.edges, histogram.counts
    canvas = Canvas(axis("Actual minus predicted", edges[0], edges[-1]), axis("Rows", 0, max(counts) * 1.05))
    centres = [(a + b) / 2 for a, b in zip(edges, edges[1:], strict=False)]
    beyond = histogram.n_below + histogram.n_above
    zero = canvas.line([0, 0], [0, max(counts)], "chance strong") if edges[0] < 0 < edges[-1] else None
    rows = [(number(a), number(b), count(n)) for a, b, n in zip(edges, edges[1:], counts, strict=False)]
    caption = f"{beyond:,} rows lie beyond the ends. " if beyond else ""
    return Chart(
        "residuals", "Residuals", f"{caption}Right of zero the prediction was too low.",
        f"Histogram of the residuals of {regression.name}.", canvas, (canvas.bars(edges, counts, "s1"), zero),
        (Series("residual", centres, counts),), table(["From", "to", "Rows"], rows, "Histogram of the residuals"),
    )  # fmt: skip


def decile_chart(deciles: Sequence[Decile]) -> Chart:
    """The mean absolute error in each tenth of the rows by predicted value."""
    heights = [one.mean_absolute_error for one in deciles]
    names = [str(place + 1) for place in range(len(deciles))]
    ticks = tuple(map(float, range(len(deciles))))
    across = Axis("Tenth of the rows, by predicted value", -0.5, len(deciles) - 0.5, ticks, tuple(names))
    canvas = Canvas(across, axis("Mean absolute error", 0, max(heights) * 1.05 or 1.0))
    bars = [canvas.bars([place - 0.38, place + 0.38], [height], "s1") for place, height in enumerate(heights)]
    heads = ["Tenth", "From", "to", "Mean predicted", "Mean actual", "MAE", "RMSE", "Rows"]
    rows = [
        (name, *map(number, (one.low, one.high, one.mean_predicted, one.mean_actual)),
         number(one.mean_absolute_error), number(one.root_mean_squared_error), count(one.n_rows))
        for name, one in zip(names, deciles, strict=True)
    ]  # fmt: skip
    return Chart(
        "deciles", "Error by tenth", "The first tenth holds the lowest predictions.",
        "Mean absolute error in each tenth of the rows by predicted value.", canvas, (bars,),
        (Series("tenth", ticks, heights),), table(heads, rows, "Error by tenth of the rows"),
    )  # fmt: skip


def chosen_place(thresholds: Thresholds) -> int:
    """The step of the sweep that calls the same rows as the chosen threshold, or the nearest that calls more."""
    at = thresholds.sweep.thresholds
    return next((place for place, value in enumerate(at) if value <= thresholds.chosen), len(at) - 1)


def legend(entries: Sequence[tuple[str, str]]) -> Html:
    """The names beside their colours."""
    items = [
        tag("li", swatch(place), name, tag("b", words) if words else None)
        for place, (name, words) in enumerate(entries)
    ]
    return tag("ul", items, class_="legend")


def swatch(place: int, is_champion: bool = False) -> Html:
    """A short piece of a candidate's line."""
    class_ = f"line {colour_of(place)}{' champion' if is_champion else ''}"
    return tag("svg", tag("path", d="M1 6H23", class_=class_), viewBox="0 0 24 12", class_="swatch", aria_hidden="true")


def named_errors(named: Sequence[tuple[str, Calibration]]) -> list[tuple[str, str]]:
    """Each name with its mean distance from the diagonal."""
    return [(name, f"mean distance {number(curve.error)}") for name, curve in named]


def _line(canvas: Canvas, place: int, one: CandidateCurves, xs: Sequence[float], ys: Sequence[float]) -> Html:
    class_ = f"{colour_of(place)}{' best' if place == 0 else ''}{' champion' if one.is_champion else ''}"
    return tag("g", canvas.line(xs, ys, class_), data_series=place)


def _band_words(band: Any) -> str | None:
    if band is None:
        return None
    return f"The band is the best candidate over {len(band.areas)} folds, one standard deviation to each side."


def _areas_words(what: str, curves: Sequence[CandidateCurves], area: Any) -> str:
    areas = ", ".join(f"{one.name} {number(area(one))}" for one in curves[:8])
    return f"{what}. Areas: {areas}."


def _at_fpr(one: CandidateCurves) -> list[str]:
    return [number(float(np.interp(at, one.roc.fpr, one.roc.tpr))) for at in AT_FPR]


def _at_recall(recall: Sequence[float], precision: Sequence[float]) -> list[str]:
    return [number(precision[int(np.searchsorted(recall, at - 1e-12))]) for at in AT_RECALL]


def _threshold_axis(thresholds: Sequence[float]) -> Axis:
    low, high = min(thresholds), max(thresholds)
    return unit_axis("Threshold") if low >= 0 and high <= 1 else axis("Threshold", low, high)


def _clip(id_: str, canvas: Canvas) -> Html:
    x, y = canvas.x(canvas.across.low), canvas.y(canvas.up.high)
    width, height = canvas.x(canvas.across.high) - x, canvas.y(canvas.up.low) - y
    return tag("clipPath", tag("rect", x=x, y=y, width=width, height=height), id=id_)


def _cost_row(thresholds: Thresholds, cost: Sequence[float], place: int) -> tuple[str, ...]:
    one = thresholds.sweep
    counts = (one.tp[place], one.fp[place], one.fn[place], one.tn[place])
    return (number(one.thresholds[place]), number(cost[place]), *map(count, counts))


def _every(places: Sequence[int], most: int) -> list[int]:
    if len(places) <= most:
        return list(places)
    return [places[round(step * (len(places) - 1) / (most - 1))] for step in range(most)]


def _rounded(values: Sequence[float]) -> list[float | None]:
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in values]
