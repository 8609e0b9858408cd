"""The sections of the page that draw: curves, thresholds, calibration, confusion, errors and tuned parameters."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from evenhand.evaluation.curves import Band, Confusion
from evenhand.records.decision import Decided
from evenhand.reporting.html.chart import Chart, swatch
from evenhand.reporting.html.charts_classification import (
    bins_table,
    calibration_chart,
    chosen_place,
    cost_chart,
    precision_recall_chart,
    roc_chart,
)
from evenhand.reporting.html.charts_regression import (
    decile_chart,
    normal_chart,
    predicted_chart,
    residual_chart,
    scatter_chart,
    validation_chart,
)
from evenhand.reporting.html.content import CandidateCurves, ConfusionTable, PageContent, Thresholds
from evenhand.reporting.html.elements import (
    Heading,
    Html,
    breakable,
    count,
    facts,
    joined,
    listing,
    number,
    section,
    share,
    table,
    table_row,
    tag,
    void,
)

MOST_CURVES = 20
Drawn = tuple[Html | None, list[Chart]]


def curves(content: PageContent) -> Drawn:
    """ROC and precision-recall of the candidates side by side."""
    shown = drawn_curves(content)
    if not shown:
        return None, []
    both = [roc_chart(shown), precision_recall_chart(shown)]
    lead = _how_to_read(content, shown)
    return section("curves", "ROC and precision-recall", _pair(both), _curve_names(shown), lead=lead), both


def class_curves(content: PageContent) -> Drawn:
    """Each class against the rest, of the candidate that is served."""
    shown = content.class_curves[:MOST_CURVES]
    if not shown:
        return None, []
    both = [replace(chart(shown), id=f"{chart(shown).id}-classes") for chart in (roc_chart, precision_recall_chart)]
    lead = f"Of the candidate that is served, on {content.curves_rows}."
    if len(shown) < len(content.class_curves):
        lead += f" {len(shown)} of {len(content.class_curves)} classes are drawn."
    return section("classes", "Each class against the rest", _pair(both), _curve_names(shown), lead=lead), both


def drawn_curves(content: PageContent) -> list[CandidateCurves]:
    """The curves that are drawn: the best ones and, wherever it stands, the champion."""
    best, rest = content.curves[:MOST_CURVES], content.curves[MOST_CURVES:]
    return [*best, *(one for one in rest if one.is_champion)]


def threshold(content: PageContent) -> Drawn:
    """The cost over the threshold, with a slider that shows what each threshold would do."""
    found = content.thresholds
    if found is None:
        return None, []
    chart, place = cost_chart(found), chosen_place(found)
    panel = tag("div", _slider(found, place), _outcome(figures_at(found, place)), class_="panel")
    lead = (
        f"What {found.name} would do at each threshold, on the out-of-fold rows that thresholds are chosen on: the "
        f"least cost of the curve is that of the luckiest threshold. {found.why}"
    )
    sides = decision_table(found.decided) if found.decided is not None else None
    pair = tag("div", chart.figure(), panel, class_="pair")
    return section("threshold", "Threshold", sides, pair, lead=lead), [chart]


def decision(content: PageContent) -> Html | None:
    """The decision of several classes beside the model's own; that of two stands with the thresholds."""
    found = content.decided
    if found is None or content.thresholds is not None:
        return None
    return section("decision", "Decision", decision_table(found), lead=found.words)


def decision_table(decided: Decided) -> Html:
    """Each decision with its figure, cross-fitted and on the holdout side by side, and how the classes fared."""
    figure = decided.figure.replace("_", " ")
    columns = [
        (Heading("Decision", "text"), lambda side: side[0]),
        (Heading("Served", "text"), lambda side: "yes" if side[1] else "no"),
        (Heading(f"{figure}, cross-fitted"), lambda side: "" if side[2] is None else number(side[2].figure)),
        (Heading(f"{figure}, holdout"), lambda side: "" if side[3] is None else number(side[3].figure)),
        (Heading("Classes, cross-fitted", "text"), lambda side: "" if side[2] is None else decided.by_class(side[2])),
        (Heading("Classes, holdout", "text"), lambda side: "" if side[3] is None else decided.by_class(side[3])),
    ]
    return listing(decided.sides, columns, "The decision beside the model's own")


def calibration(content: PageContent) -> Drawn:
    """Whether scores mean what they say, with the bins of the first candidate beside."""
    if not content.calibration:
        return None, []
    chart = calibration_chart(content.calibration)
    lead = "On the diagonal a score means what it says. Upright lines are 95 % intervals of the first candidate."
    pair = tag("div", chart.figure(), bins_table(content.calibration[0][1]), class_="pair")
    figures_table = facts(content.calibration_figures) if content.calibration_figures else None
    return section("calibration", "Calibration", pair, figures_table, lead=lead), [chart]


def confusion(content: PageContent) -> Drawn:
    """Counts of true against predicted classes, and how each class or label fared."""
    found = content.confusion
    if found is None:
        return None, []
    if found.confusion is None:
        lead = f"{found.name} on out-of-fold rows, one model a label; rows are those that have the label."
        return section("labels", "Labels", _class_table(found), lead=lead), []
    at = "" if found.threshold is None else f" at the threshold {number(found.threshold)}"
    lead = f"{found.name}{at}. Rows are true classes, columns predicted ones; shares are of the true class."
    parts = [_confusion_table(found.confusion), _class_table(found) if found.per_class else None]
    return section("confusion", "Confusion", tag("div", parts, class_="pair"), lead=lead), []


def regression(content: PageContent) -> Drawn:
    """Predicted against actual values, the residuals and the error by tenth."""
    found = content.regression
    if found is None:
        return None, []
    drawn = [
        predicted_chart(found.points, found.name),
        scatter_chart(found.points, found.name),
        residual_chart(found.residuals, found.name),
    ]
    if found.normal is not None:
        drawn.append(normal_chart(found.normal, found.name))
    if found.deciles:
        drawn.append(decile_chart(found.deciles, found.name))
    lead = f"{found.name} on {content.curves_rows}."
    return section("errors", "Predicted and actual", _pair(drawn), lead=lead), drawn


def validation(content: PageContent) -> Drawn:
    """The metric over the values of the tuned parameters."""
    if not content.validation:
        return None, []
    drawn = [validation_chart(one, content.study.metric, nth) for nth, one in enumerate(content.validation)]
    lead = "Bands are one standard deviation over the folds to each side."
    return section("validation", "Tuned parameters", _pair(drawn), lead=lead), drawn


def figures_at(thresholds: Thresholds, place: int) -> dict[str, str]:
    """What the page says at one step of the sweep; the script says the same."""
    one, at = thresholds.sweep, thresholds.sweep.thresholds[place]
    tp, fp, fn, tn = one.tp[place], one.fp[place], one.fn[place], one.tn[place]
    all_rows = tp + fp + fn + tn
    return {
        "threshold": number(at) if math.isfinite(at) else "above every score",
        "tp": count(tp),
        "fp": count(fp),
        "fn": count(fn),
        "tn": count(tn),
        "flagged": f"{count(tp + fp)} ({share(tp + fp, all_rows)})",
        "precision": number(_part(tp, tp + fp)),
        "recall": number(_part(tp, tp + fn)),
        "f1": number(_part(2 * tp, 2 * tp + fp + fn)),
        "fpr": number(_part(fp, fp + tn)),
        "accuracy": number(_part(tp + tn, all_rows)),
        "cost": number(thresholds.cost_false_positive * fp + thresholds.cost_false_negative * fn),
    }


def slider_data(thresholds: Thresholds) -> dict[str, object]:
    """What the script needs to follow the slider."""
    one = thresholds.sweep
    return {
        "thresholds": [value if math.isfinite(value) else None for value in one.thresholds],
        **{key: getattr(one, key) for key in ("tp", "fp", "fn", "tn")},
        "price": [thresholds.cost_false_positive, thresholds.cost_false_negative],
        "chosen": chosen_place(thresholds),
    }


def _pair(drawn: Sequence[Chart]) -> Html:
    return tag("div", [chart.figure() for chart in drawn], class_="pair")


def _part(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _how_to_read(content: PageContent, shown: Sequence[CandidateCurves]) -> str:
    words = [f"On {content.curves_rows}, best first."]
    if content.class_curves:
        words.append("Curves are means over the classes, each against the rest.")
    if len(shown) < len(content.curves):
        words.append(f"{len(shown)} of {len(content.curves)} are drawn.")
    if band := shown[0].roc_band:
        words.append(f"The band is the best over {len(band.areas)} folds, one standard deviation to each side.")
    if any(one.is_champion for one in shown):
        words.append("Dashed is the candidate that serves at present, the champion.")
    return " ".join(words)


def _slider(thresholds: Thresholds, place: int) -> Html:
    last = len(thresholds.sweep.thresholds) - 1
    ends = {"min": 0, "max": last, "step": 1, "value": last - place}
    slide = void("input", type="range", id="threshold-slider", **ends)
    words = tag("div", tag("span", "calls more rows"), tag("span", "calls fewer"), class_="ends")
    buttons = [
        tag("button", "As chosen", type="button", data_go="chosen"),
        tag("button", "Cheapest", type="button", data_go="cheapest"),
    ]
    label = tag("label", "Move the threshold", for_="threshold-slider")
    return tag("div", label, slide, words, tag("div", buttons, class_="buttons"), class_="slider", hidden=True)


def _outcome(outcome: dict[str, str]) -> Html:
    out = {key: tag("span", words, data_out=key) for key, words in outcome.items()}
    heads = [Heading("Rows that are", "text"), Heading("Called positive"), Heading("Left alone")]
    rows = [("positive", out["tp"], out["fn"]), ("negative", out["fp"], out["tn"])]
    named = {
        "threshold": "Threshold",
        "flagged": "Rows called",
        "cost": "Cost",
        "precision": "Precision",
        "recall": "Recall",
        "f1": "F1",
        "fpr": "False positive rate",
        "accuracy": "Accuracy",
    }
    counts = table(heads, rows, "Rows at this threshold", "outcome")
    return tag("div", counts, facts([(words, out[key]) for key, words in named.items()], "facts narrow"))


def _curve_names(shown: Sequence[CandidateCurves]) -> Html:
    heads = [Heading("Candidate", "text"), Heading("Area under ROC"), Heading("Average precision")]
    rows = [
        table_row(
            [
                _curve_name(one, place),
                _area(one.roc.area, one.roc_band),
                _area(one.precision_recall.area, one.precision_recall_band),
            ],
            heads,
            data_series_row=place,
            tabindex="0",
        )
        for place, one in enumerate(shown)
    ]
    return table(heads, rows, "Names and areas of the curves", "names")


def _curve_name(one: CandidateCurves, place: int) -> Html:
    mark = joined(" ", tag("span", "champion", class_="mark")) if one.is_champion else None
    return joined(swatch(place, one.is_champion), breakable(one.name), mark)


def _area(area: float, band: Band | None) -> Html:
    areas = band.areas if band else ()
    spread = f"folds {number(float(np.mean(areas)))} ± {number(float(np.std(areas, ddof=1)))}" if len(areas) > 1 else ""
    return joined(tag("span", spread, class_="soft") if spread else None, " ", tag("b", number(area)))


def _confusion_table(table_of: Confusion) -> Html:
    heads = [Heading("True class", "text"), *(Heading(label) for label in table_of.labels)]
    rows = [
        (label, *[_cell(n, sum(row)) for n in row]) for label, row in zip(table_of.labels, table_of.counts, strict=True)
    ]
    return table(heads, rows, "True classes in rows, predicted classes in columns", "confusion")


def _cell(n: float, total: float) -> Html:
    tint = min(5, math.ceil(5 * n / total)) if n else 0
    return tag("span", tag("b", count(n)), tag("span", share(n, total), class_="soft"), class_=f"cell t{tint}")


def _class_table(found: ConfusionTable) -> Html:
    def figure(name: str) -> Callable[[object], str]:
        return lambda one: number(getattr(one, name))

    columns = [
        (Heading("Class" if found.confusion else "Label", "text"), lambda one: one.label),
        (Heading("Precision"), figure("precision")),
        (Heading("Recall"), figure("recall")),
        (Heading("F1"), figure("f1")),
        (Heading("Rows"), lambda one: count(one.support)),
    ]
    return listing(found.per_class, columns, f"How each {'class' if found.confusion else 'label'} fared")
