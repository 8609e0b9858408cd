"""The charts of a classifier: ROC, precision-recall, calibration and cost."""

import math
from collections.abc import Sequence

import numpy as np

from evenhand.evaluation.curves import Band, CalibrationBin, CalibrationCurve, Sweep
from evenhand.records.decision import as_class
from evenhand.reporting.html.chart import Chart, Series, legend
from evenhand.reporting.html.content import CandidateCurves, Thresholds
from evenhand.reporting.html.elements import Heading, Html, count, number, table, tag
from evenhand.reporting.html.svg import Axis, Canvas, axis, colour_of, log_axis, unit_axis

AT_FPR = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
RARE, SELDOM, CORNER = 0.05, 0.2, 0.1  # axes are logarithmic where positives are rare, or seldom and most in a corner
FINE = 0.01  # shares below are written in more places
LOWEST = 1e-5  # where such axes begin at the lowest
AT_RECALL = (0.1, 0.25, 0.5, 0.75, 0.9)


def roc_chart(curves: Sequence[CandidateCurves], what: str = "Candidate") -> Chart:
    """The ROC curves of the candidates, best first, with the band of the best."""
    canvas = Canvas(unit_axis("False positive rate"), unit_axis("True positive rate"))
    lines = [_line(canvas, place, one, one.roc.fpr, one.roc.tpr) for place, one in enumerate(curves)]
    heads = [what, "Area", *(f"at {100 * at:.0f} %" for at in AT_FPR)]
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


def precision_recall_chart(curves: Sequence[CandidateCurves], what: str = "Candidate") -> Chart:
    """The precision-recall curves of the candidates, best first, with the band of the best."""
    canvas = Canvas(unit_axis("Recall"), unit_axis("Precision"))
    pairs = [(one, one.precision_recall) for one in curves]
    share = pairs[0][1].share_positive
    lines = [_line(canvas, place, one, step.recall, step.precision) for place, (one, step) in enumerate(pairs)]
    heads = [what, "Average precision", *(f"at {100 * at:.0f} %" for at in AT_RECALL)]
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
    canvas = _calibration_canvas(named)
    diagonal = [canvas.across.low, 1.0]
    marks: list[Html] = [canvas.line(diagonal, diagonal, "chance"), _intervals(canvas, named[0][1])]
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


def _calibration_canvas(named: Sequence[tuple[str, CalibrationCurve]]) -> Canvas:
    """Axes from 0 to 1; by powers of ten where most bins would lie in the corner of a class that is rare."""
    words = "Mean score", "Share that is positive"
    bins = [one for _, curve in named for one in curve.bins]
    rate = sum(one.share * one.n_rows for one in bins) / sum(one.n_rows for one in bins)
    n_in_corner = sum(max(one.mean_score, one.share) < CORNER for one in bins)
    seen = [value for one in bins for value in (one.mean_score, one.share) if value > 0]
    if not seen or (rate >= RARE and (rate >= SELDOM or n_in_corner <= len(bins) / 2)):
        return Canvas(unit_axis(words[0]), unit_axis(words[1]))
    lowest = max(min(seen), LOWEST)
    return Canvas(log_axis(words[0], lowest), log_axis(words[1], lowest))


def bins_table(curve: CalibrationCurve) -> Html:
    """The bins of one calibration curve as a table."""
    heads = [Heading("Mean score", "text"), Heading("Positive"), Heading("95 % interval"), Heading("Rows")]
    return table(heads, [_bin(one) for one in curve.bins], "Bins of the first candidate")


def cost_chart(thresholds: Thresholds) -> Chart:
    """The cost per row over the threshold, with a mark at the one chosen; ends far dearer than that are cut off."""
    sweep, prices = thresholds.sweep, (thresholds.cost_false_positive, thresholds.cost_false_negative)
    sides = [(where, cost_per_row(one, *prices)) for _, where, one in thresholds.sides]
    cost = sides[0][1]
    finite = [place for place, at in enumerate(sweep.thresholds) if math.isfinite(at)]
    x, place = [sweep.thresholds[one] for one in finite], chosen_place(thresholds)
    mark = [place] if place in finite else []
    ys = [[each[one] for one in finite] for _, each in sides]
    most = max(1.5 * max(cost[0], *map(min, ys)), *(cost[one] for one in mark), 0.0)
    canvas = Canvas(_threshold_axis(x), axis("Cost per row", 0, min(max(map(max, ys)), most) * 1.05), height=270)
    dot = canvas.dots([sweep.thresholds[one] for one in mark], [cost[one] for one in mark], "s1", 5)
    drawn = [canvas.line(x, y, colour_of(nth)) for nth, y in enumerate(ys)]
    least = number(sweep.cheapest(*prices))
    return Chart(
        id="cost",
        title="Cost per row against threshold",
        summary=f"Cost per row against threshold of {thresholds.name}, least out of fold at {least}.",
        canvas=canvas,
        marks=(
            _clip("cost-inside", canvas),
            tag("g", drawn, clip_path="url(#cost-inside)", data_cost_line=True),
            tag("g", dot, data_cost_mark=True),
        ),
        series=tuple(Series(where, x, y) for (where, _), y in zip(sides, ys, strict=True)),
        values=_costs(thresholds, sides, _every(finite, 20)),
        caption=f"A false alarm costs {prices[0]:g}, a miss {prices[1]:g}.",
        beneath=legend([(where, "") for where, _ in sides]),
    )


def cost_per_row(sweep: Sweep, of_alarm: float, of_miss: float) -> list[float]:
    """The cost at each threshold over the number of rows."""
    n_rows = sweep.tp[0] + sweep.fp[0] + sweep.fn[0] + sweep.tn[0]
    return [each / n_rows for each in sweep.cost(of_alarm, of_miss)]


def _costs(thresholds: Thresholds, sides: Sequence[tuple[str, Sequence[float]]], places: Sequence[int]) -> Html:
    """Thresholds with the cost per row on each set of rows, and the counts out of fold."""
    one, (negative, positive) = thresholds.sweep, map(as_class, thresholds.classes)
    heads = ["Threshold", *(f"Cost, {where}" for where, _ in sides), f"{positive} found", f"{negative} called"]
    rows = [
        (number(one.thresholds[k]), *(number(each[k]) for _, each in sides), count(one.tp[k]), count(one.fp[k]))
        for k in places
    ]
    return table(heads, rows, "Cost per row at thresholds, with counts of out-of-fold rows")


def chosen_place(thresholds: Thresholds) -> int:
    """The step of the sweep that is the chosen threshold, or the nearest below where it is none."""
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
    return _fine(one.mean_score), _fine(one.share), f"{_fine(one.low)} to {_fine(one.high)}", count(one.n_rows)


def _fine(share: float) -> str:
    """A share in more places where it is near nothing, as most scores of a rare class are."""
    return number(share, 4 if share < FINE else None)


def _all_bins(named: Sequence[tuple[str, CalibrationCurve]]) -> Html:
    heads = ["Of", "Mean score", "Positive", "95 % interval", "Rows"]
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


def _every(places: Sequence[int], most: int) -> list[int]:
    if len(places) <= most:
        return list(places)
    return [places[round(step * (len(places) - 1) / (most - 1))] for step in range(most)]
