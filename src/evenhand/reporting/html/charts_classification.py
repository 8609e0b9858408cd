"""The charts of a classifier: ROC, precision-recall, calibration and cost."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.evaluation.curves import Band, CalibrationBin, CalibrationCurve
from evenhand.reporting.html.chart import Chart, Series, legend
from evenhand.reporting.html.content import CandidateCurves, Thresholds
from evenhand.reporting.html.elements import Heading, Html, count, number, table, tag
from evenhand.reporting.html.svg import Axis, Canvas, axis, colour_of, unit_axis

AT_FPR = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
AT_RECALL = (0.1, 0.25, 0.5, 0.75, 0.9)


def roc_chart(curves: Sequence[CandidateCurves]) -> Chart:
    """The ROC curves of the candidates, best first, with the band of the best."""
    canvas = Canvas(unit_axis("False positive rate"), unit_axis("True positive rate"))
    lines = [_line(canvas, place, one, one.roc.fpr, one.roc.tpr) for place, one in enumerate(curves)]
    heads = ["Candidate", "Area", *(f"at {100 * at:.0f} %" for at in AT_FPR)]
    rows = [(one.name, number(one.roc.area), *_at_fpr(one)) for one in curves]
    return Chart(
        id="roc",
        title="ROC",
        summary=_areas("ROC curves", [(one.name, one.roc.area) for one in curves]),
        canvas=canvas,
        marks=(canvas.line([0, 1], [0, 1], "chance"), _band(canvas, curves[0].roc_band), lines[::-1]),
        series=tuple(Series(one.name, one.roc.fpr, one.roc.tpr, one.roc.thresholds) for one in curves),
        values=table(heads, rows, "True positive rate at false positive rates"),
        third="Threshold",
    )


def precision_recall_chart(curves: Sequence[CandidateCurves]) -> Chart:
    """The precision-recall curves of the candidates, best first, with the band of the best."""
    canvas = Canvas(unit_axis("Recall"), unit_axis("Precision"))
    pairs = [(one, one.precision_recall) for one in curves]
    share = pairs[0][1].share_positive
    lines = [_line(canvas, place, one, step.recall, step.precision) for place, (one, step) in enumerate(pairs)]
    heads = ["Candidate", "Average precision", *(f"at {100 * at:.0f} %" for at in AT_RECALL)]
    rows = [(one.name, number(step.area), *_at_recall(step.recall, step.precision)) for one, step in pairs]
    band = _band(canvas, curves[0].precision_recall_band)
    return Chart(
        id="precision-recall",
        title="Precision and recall",
        summary=_areas("Precision-recall curves", [(one.name, step.area) for one, step in pairs]),
        canvas=canvas,
        marks=(canvas.line([0, 1], [share, share], "chance"), band, lines[::-1]),
        series=tuple(Series(one.name, step.recall, step.precision, step.thresholds) for one, step in pairs),
        values=table(heads, rows, "Precision at values of recall"),
        third="Threshold",
    )


def calibration_chart(named: Sequence[tuple[str, CalibrationCurve]]) -> Chart:
    """Promised against observed shares, with the intervals of the first candidate."""
    canvas = Canvas(unit_axis("Mean score"), unit_axis("Share that is positive"))
    marks: list[Html] = [canvas.line([0, 1], [0, 1], "chance"), _intervals(canvas, named[0][1])]
    series = []
    for place, (name, curve) in enumerate(named):
        x, y = [one.mean_score for one in curve.bins], [one.share for one in curve.bins]
        marks += [canvas.line(x, y, colour_of(place)), canvas.dots(x, y, colour_of(place))]
        series.append(Series(name, x, y, [one.n_rows for one in curve.bins]))
    errors = [(name, f"mean distance {number(curve.error)}") for name, curve in named]
    return Chart(
        id="calibration",
        title="",
        summary=f"Calibration curves. {', '.join(f'{name}: {words}' for name, words in errors)}.",
        canvas=canvas,
        marks=tuple(marks),
        series=tuple(series),
        values=_all_bins(named),
        third="Rows",
        beneath=legend(errors),
    )


def bins_table(curve: CalibrationCurve) -> Html:
    """The bins of one calibration curve as a table."""
    heads = [Heading("Mean score", "text"), Heading("Positive"), Heading("95 % interval"), Heading("Rows")]
    return table(heads, [_bin(one) for one in curve.bins], "Bins of the first candidate")


def cost_chart(thresholds: Thresholds) -> Chart:
    """The cost over the threshold with a mark at the one chosen; ends that are far dearer than that are cut off."""
    sweep, prices = thresholds.sweep, (thresholds.cost_false_positive, thresholds.cost_false_negative)
    cost = sweep.cost(*prices)
    finite = [place for place, at in enumerate(sweep.thresholds) if math.isfinite(at)]
    x, y = [sweep.thresholds[place] for place in finite], [cost[place] for place in finite]
    place = chosen_place(thresholds)
    mark = [place] if place in finite else []
    most = max(1.5 * max(cost[0], min(y)), *(cost[one] for one in mark), 0.0)
    canvas = Canvas(_threshold_axis(x), axis("Cost", 0, min(max(y), most) * 1.05), height=270)
    dot = canvas.dots([sweep.thresholds[one] for one in mark], [cost[one] for one in mark], "s1", 5)
    line = tag("g", canvas.line(x, y, "s1"), clip_path="url(#cost-inside)")
    rows = [_cost_row(thresholds, cost, one) for one in _every(finite, 20)]
    heads = ["Threshold", "Cost", "Found", "False alarms", "Missed", "Rightly left"]
    return Chart(
        id="cost",
        title="Cost against threshold",
        summary=f"Cost against threshold of {thresholds.name}, least at {number(sweep.cheapest(*prices))}.",
        canvas=canvas,
        marks=(_clip("cost-inside", canvas), line, tag("g", dot, data_cost_mark=True)),
        series=(Series(thresholds.name, x, y),),
        values=table(heads, rows, "Counts and cost at thresholds"),
        caption=f"A false alarm costs {prices[0]:g}, a miss {prices[1]:g}.",
    )


def chosen_place(thresholds: Thresholds) -> int:
    """The step of the sweep that calls the same rows as the chosen threshold, or the nearest that calls more."""
    at = thresholds.sweep.thresholds
    return next((place for place, value in enumerate(at) if value <= thresholds.chosen), len(at) - 1)


def _line(canvas: Canvas, place: int, one: CandidateCurves, xs: Sequence[float], ys: Sequence[float]) -> Html:
    class_ = f"{colour_of(place)}{' best' if place == 0 else ''}{' champion' if one.is_champion else ''}"
    return tag("g", canvas.line(xs, ys, class_), data_series=place)


def _band(canvas: Canvas, band: Band | None) -> Html | None:
    return None if band is None else canvas.area(band.x, band.low, band.high, "s1")


def _intervals(canvas: Canvas, curve: CalibrationCurve) -> Html:
    ends = [(one.mean_score, one.low, one.high) for one in curve.bins]
    x, low, high = zip(*ends, strict=True)
    return canvas.whiskers(x, low, high, colour_of(0))


def _bin(one: CalibrationBin) -> tuple[str, ...]:
    return number(one.mean_score), number(one.share), f"{number(one.low)} to {number(one.high)}", count(one.n_rows)


def _all_bins(named: Sequence[tuple[str, CalibrationCurve]]) -> Html:
    heads = ["Candidate", "Mean score", "Positive", "95 % interval", "Rows"]
    rows = [(name, *_bin(one)) for name, curve in named for one in curve.bins]
    return table(heads, rows, "Bins of the calibration curves")


def _areas(what: str, named: Sequence[tuple[str, float]]) -> str:
    return f"{what}. Areas: {', '.join(f'{name} {number(area)}' for name, area in named[:8])}."


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


def _cost_row(thresholds: Thresholds, cost: Sequence[float], place: int) -> tuple[Any, ...]:
    one = thresholds.sweep
    counts = (one.tp[place], one.fp[place], one.fn[place], one.tn[place])
    return (number(one.thresholds[place]), number(cost[place]), *map(count, counts))


def _every(places: Sequence[int], most: int) -> list[int]:
    if len(places) <= most:
        return list(places)
    return [places[round(step * (len(places) - 1) / (most - 1))] for step in range(most)]
