"""The two pictures that there are one of in a run, as files of their own: the leaderboard and the curves of all."""

import math
from collections.abc import Sequence
from typing import Any

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.pipeline import Figures, Judgement
from evenhand.reporting.html.charts_classification import precision_recall_chart, roc_chart
from evenhand.reporting.html.content import CandidateCurves
from evenhand.reporting.html.elements import Html, joined, number, spoken, tag
from evenhand.reporting.html.figures import MOST_CURVES
from evenhand.reporting.html.pictures import HEAD, LINE, LONGEST, chart_body, keys_beneath, standalone, words_at
from evenhand.reporting.html.svg import WIDTH, Strip, colour_of, strip_ends

MOST_ROWS, ROW, NAMES, STRIP_WIDTH = 30, 24, 300, 420
OTHERS = "s0"
BAR = {"stroke": "currentColor", "stroke_width": "3"}
DIAMOND = {"stroke": "#1d2126", "fill": "#fff"}


def overlay(everyone: Sequence[CandidatePredictions], classes: Sequence[Any]) -> str | None:
    """ROC and precision-recall of the best candidates side by side, of several classes their means; None without."""
    labels = [str(label) for label in classes]
    found = [(each.name, each.curves(labels)) for each in everyone]
    curves = [CandidateCurves(name, each.roc, each.precision_recall) for name, each in found if each is not None]
    if not curves:
        return None
    shown = curves[:MOST_CURVES]
    charts = [roc_chart(shown), precision_recall_chart(shown)]
    height = max(chart.canvas.height for chart in charts)
    drawn = [chart_body(chart, WIDTH * place) for place, chart in enumerate(charts)]
    words = [f"{one.name}   {number(one.roc.area)}, {number(one.precision_recall.area)}" for one in shown]
    keys = keys_beneath(words, height, len(curves), "candidates")
    body = joined(*drawn, tag("g", keys, transform=f"translate(0 {HEAD})"))
    title = "Best first: ROC (area), and precision by recall (average precision)"
    return standalone(title, body, 2 * WIDTH, HEAD + height + LINE * len(keys) + 6)


def leaderboard(judgement: Judgement) -> str:
    """Every candidate's folds, mean and holdout value in one picture; blue who was not found worse than the best."""
    metric, rows = judgement.metric, judgement.figures[:MOST_ROWS]
    values = [(*each.folds.get(metric, ()), *_held(each, metric)) for each in rows]
    strip = Strip(*strip_ends(values, [each.mean(metric) for each in rows]), width=STRIP_WIDTH, height=ROW)
    near = {rows[0].plan.name, *judgement.group}
    lines = [_row(each, metric, strip, place, each.plan.name in near) for place, each in enumerate(rows)]
    foot = HEAD + ROW * len(rows) + LINE
    ends = [words_at(NAMES + strip.x(end), foot, f"{end:.6g}", "middle") for end in (strip.low, strip.high)]
    is_beyond = strip.is_beyond(value for each in values for value in each)
    key = words_at(8, foot + LINE + 6, _key(rows, metric, is_beyond, len(judgement.figures) - len(rows)), "start")
    body = joined(*lines, *ends, key)
    return standalone(f"Leaderboard by {spoken(metric)}", body, NAMES + STRIP_WIDTH + 70, foot + 2 * LINE + 8)


def _row(figures: Figures, metric: str, strip: Strip, place: int, is_near: bool) -> Html:
    name, mean = figures.plan.name, figures.mean(metric)
    marks = [strip.dots(figures.folds.get(metric, ())), tag("g", strip.mean(mean), **BAR)]
    marks += [tag("g", strip.held(value), **DIAMOND) for value in _held(figures, metric)]
    return tag(
        "g",
        words_at(NAMES - 8, ROW / 2 + 4, name if len(name) <= LONGEST else f"{name[:LONGEST]}…", "end"),
        tag("g", *marks, transform=f"translate({NAMES} 0)"),
        words_at(NAMES + STRIP_WIDTH + 8, ROW / 2 + 4, number(mean), "start"),
        transform=f"translate(0 {HEAD + ROW * place})",
        class_=colour_of(0) if is_near else OTHERS,
    )


def _held(figures: Figures, metric: str) -> tuple[float, ...]:
    value = figures.holdout.get(metric)
    return () if value is None or not math.isfinite(value) else (value,)


def _key(rows: Sequence[Figures], metric: str, is_beyond: bool, n_others: int) -> str:
    words = ["dot: one fold", "bar: their mean"]
    words += ["diamond: held-out rows"] if any(_held(each, metric) for each in rows) else []
    words += ["triangle: beyond the axis"] if is_beyond else []
    words += ["blue: not found worse than the best"]
    words += [f"{n_others} more not shown"] if n_others else []
    return " · ".join(words)
