"""The sections of the page that draw: curves, thresholds, calibration, confusion, errors and tuned parameters."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from evenhand.evaluation.curves import Band, CalibrationCurve, Confusion
from evenhand.records.decision import Decided, DecisionOutcome, as_class
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
    folded_table,
    framed,
    joined,
    listing,
    number,
    section,
    share,
    table,
    table_row,
    tag,
    titled,
    with_minus,
)
from evenhand.reporting.html.templates import render

MOST_CURVES, MOST_IN_MATRIX = 20, 4  # classes that a phone has room for beside each other
AT_EDGE = " Axes go by powers of ten; what is below the first, as a share of 0 is, stands at their edge."
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
    drawn = [chart(shown, "Class") for chart in (roc_chart, precision_recall_chart)]
    both = [replace(one, id=f"{one.id}-classes") for one in drawn]
    lead = f"Of the candidate that is served, on {content.curves_rows}."
    if len(shown) < len(content.class_curves):
        lead += f" {len(shown)} of {len(content.class_curves)} classes are drawn."
    names = _curve_names(shown, "Class")
    return section("classes", "Each class against the rest", _pair(both), names, lead=lead), both


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
    panel = render(
        "threshold",
        said=figures_at(found, place),
        last=len(found.sweep.thresholds) - 1,
        place=place,
        sides=[(key, where) for key, where, _ in found.sides],
        rows=_outcome_rows(found),
    )
    lead = (
        f"What {found.name} would do at each threshold. Thresholds are chosen on the out-of-fold rows: the least cost "
        f"of their curve is that of the luckiest threshold. {with_minus(found.why)}"
    )
    sides = decision_table(found.decided) if found.decided is not None else None
    pair = tag("div", chart.figure(), tag("div", panel, class_="panel"), class_="pair")
    return section("threshold", "Threshold", sides, pair, lead=lead), [chart]


def decision(content: PageContent) -> Html | None:
    """The decision of several classes beside the model's own; that of two stands with the thresholds."""
    found = content.decided
    if found is None or content.thresholds is not None:
        return None
    return section("decision", "Decision", decision_table(found), lead=with_minus(found.words))


def decision_table(decided: Decided) -> Html:
    """Each decision with its figure, cross-fitted and on the holdout side by side, and how the classes fared."""
    figure = titled(decided.figure)

    def fared(outcome: DecisionOutcome | None) -> str:
        return "" if outcome is None else decided.by_class(outcome)

    columns = [
        (Heading("Decision", "text"), lambda side: with_minus(side[0])),
        (Heading("Served", "text"), lambda side: "yes" if side[1] else "no"),
        (Heading(f"{figure}, cross-fitted"), lambda side: "" if side[2] is None else number(side[2].figure)),
        (Heading(f"{figure}, holdout"), lambda side: "" if side[3] is None else number(side[3].figure)),
        (Heading("Classes, cross-fitted", "text whole"), lambda side: fared(side[2])),
        (Heading("Classes, holdout", "text whole"), lambda side: fared(side[3])),
    ]
    return listing(decided.sides, columns, "The decision beside the model's own")


def calibration(content: PageContent) -> Drawn:
    """Whether scores mean what they say, with the bins of the first candidate beside."""
    if not content.calibration:
        return None, []
    chart = calibration_chart(content.calibration)
    lead = "On the diagonal a score means what it says. Upright lines are 95 % intervals of the first candidate."
    lead += AT_EDGE if chart.canvas.across.is_log else ""
    pair = tag("div", chart.figure(), bins_table(content.calibration[0][1]), class_="pair")
    figures_table = facts(content.calibration_figures) if content.calibration_figures else None
    return section("calibration", "Calibration", pair, figures_table, lead=lead), [chart]


def class_calibration(content: PageContent) -> Drawn:
    """Whether the score of each of several classes means what it says."""
    found = content.class_calibration[:MOST_CURVES]
    if not found:
        return None, []
    chart = replace(calibration_chart(found), id="calibration-classes")
    lead = f"The score of each class against how often rows are of it, on {content.class_calibration_on}."
    lead += AT_EDGE if chart.canvas.across.is_log else ""
    if len(found) < len(content.class_calibration):
        lead += f" {len(found)} of {len(content.class_calibration)} classes are drawn."
    columns = [
        (Heading("Class", "text"), lambda one: one[0]),
        (Heading("Mean distance"), lambda one: number(one[1].error)),
        (Heading("Mean score"), lambda one: number(_over_bins(one[1], "mean_score"))),
        (Heading("Share of rows"), lambda one: number(_over_bins(one[1], "share"))),
    ]
    means = listing(content.class_calibration, columns, "Calibration of each class against the rest")
    pair = tag("div", chart.figure(), means, class_="pair")
    own = facts(content.calibration_figures) if content.calibration_figures else None
    return section("class-calibration", "Calibration of each class", pair, own, lead=lead), [chart]


def _over_bins(curve: CalibrationCurve, name: str) -> float:
    return sum(getattr(one, name) * one.n_rows for one in curve.bins) / sum(one.n_rows for one in curve.bins)


def confusion(content: PageContent) -> Drawn:
    """Counts of true against predicted classes, and how each class or label fared."""
    found = content.confusion
    if found is None:
        return None, []
    if found.confusion is None:
        lead = f"{found.name} on out-of-fold rows, one model a label; rows are those that have the label."
        return section("labels", "Labels", _class_table(found), lead=lead), []
    at = "" if found.threshold is None else f" at the threshold {number(found.threshold)}"
    lead = f"{found.name} on {found.where}{at}. Rows are true classes, columns predicted; shares are of the true class."
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
    """What the page says at one step of the sweep, of each set of rows; the script says the same."""
    at = thresholds.sweep.thresholds[place]
    found = {"threshold": number(at) if math.isfinite(at) else "above every score"}
    for side, _, one in thresholds.sides:
        counts = (one.tp[place], one.fp[place], one.fn[place], one.tn[place])
        each = _figures_of(counts, thresholds.cost_false_positive, thresholds.cost_false_negative)
        found |= {f"{side}_{key}": words for key, words in each.items()}
    return found


def _figures_of(counts: tuple[float, ...], of_alarm: float, of_miss: float) -> dict[str, str]:
    tp, fp, fn, tn = counts
    all_rows = tp + fp + fn + tn
    return {
        "found": f"{count(tp)} of {count(tp + fn)}",
        "falsely": f"{count(fp)} of {count(fp + tn)}",
        "flagged": f"{count(tp + fp)} ({share(tp + fp, all_rows)})",
        "cost": number(_part(of_alarm * fp + of_miss * fn, all_rows)),
        "precision": number(_part(tp, tp + fp)),
        "recall": number(_part(tp, tp + fn)),
        "f1": number(_part(2 * tp, 2 * tp + fp + fn)),
        "fpr": number(_part(fp, fp + tn)),
        "accuracy": number(_part(tp + tn, all_rows)),
    }


def _outcome_rows(thresholds: Thresholds) -> list[tuple[str, str]]:
    """The lines of the panel, with the classes by name."""
    negative, positive = map(as_class, thresholds.classes)
    return [
        ("found", f"{positive} found"),
        ("falsely", f"{negative} called {positive}"),
        ("flagged", f"Rows called {positive}"),
        ("cost", "Cost per row"),
        ("precision", "Precision"),
        ("recall", "Recall"),
        ("f1", "F1"),
        ("fpr", "False positive rate"),
        ("accuracy", "Accuracy"),
    ]


def slider_data(thresholds: Thresholds) -> dict[str, object]:
    """What the script needs to follow the slider."""
    return {
        "thresholds": [value if math.isfinite(value) else None for value in thresholds.sweep.thresholds],
        "sides": {
            side: {key: getattr(one, key) for key in ("tp", "fp", "fn", "tn")} for side, _, one in thresholds.sides
        },
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
        areas = f"area under ROC {_of_folds(band)}, average precision {_of_folds(shown[0].precision_recall_band)}"
        words.append(
            f"The band is the best over {len(band.areas)} folds, one standard deviation to each side: {areas}."
        )
    if any(one.is_champion for one in shown):
        words.append("Dashed is the candidate that serves at present, the champion.")
    return " ".join(words)


def _curve_names(shown: Sequence[CandidateCurves], what: str = "Candidate") -> Html:
    """The areas of the curves as drawn, over all rows together."""
    heads = [Heading(what, "text"), Heading("Area under ROC, pooled"), Heading("Average precision, pooled")]
    rows = []
    for place, one in enumerate(shown):
        cells = [_curve_name(one, place), number(one.roc.area), number(one.precision_recall.area)]
        rows.append(table_row(cells, heads, data_series_row=place, tabindex="0"))
    return folded_table(heads, rows, "Names and areas of the curves", "names")


def _curve_name(one: CandidateCurves, place: int) -> Html:
    mark = joined(" ", tag("span", "champion", class_="mark")) if one.is_champion else None
    return joined(swatch(place, one.is_champion), breakable(one.name), mark)


def _of_folds(band: Band | None) -> str:
    areas = band.areas if band else ()
    return f"{number(float(np.mean(areas)))} ± {number(float(np.std(areas, ddof=1)))}" if len(areas) > 1 else ""


def _confusion_table(table_of: Confusion) -> Html:
    heads = [Heading("True class", "text"), *(Heading(label) for label in table_of.labels)]
    rows = [
        (label, *[_cell(n, sum(row)) for n in row]) for label, row in zip(table_of.labels, table_of.counts, strict=True)
    ]
    caption, shown = "True classes in rows, predicted classes in columns", [table_row(row, heads) for row in rows]
    if len(table_of.labels) > MOST_IN_MATRIX:
        return table(heads, shown, caption, "confusion")
    return framed(heads, [tag("tbody", shown, role="rowgroup")], caption, class_="confusion")


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
