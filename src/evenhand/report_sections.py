"""The sections of the page beneath the leaderboard: each gives its markup, or None where there is nothing to show."""

import math
from collections.abc import Sequence

import numpy as np

from evenhand import report_charts as charts
from evenhand.curves import Confusion
from evenhand.page import CandidateCurves, ConfusionTable, PageContent, Thresholds
from evenhand.report_charts import Chart
from evenhand.report_parts import (
    Heading,
    Html,
    count,
    counted,
    details,
    facts,
    joined,
    megabytes,
    number,
    seconds,
    section,
    share,
    spoken,
    table,
    tag,
    void,
)
from evenhand.report_svg import Strip

MOST_CURVES = 20
Drawn = tuple[Html | None, list[Chart]]


def curves(content: PageContent) -> Drawn:
    """ROC and precision-recall of the candidates side by side."""
    shown = drawn_curves(content)
    if not shown:
        return None, []
    both = [charts.roc_chart(shown), charts.precision_recall_chart(shown)]
    left_out = len(content.curves) - len(shown)
    more = f" The best {MOST_CURVES} of {len(content.curves)} are drawn." if left_out else ""
    lead = f"On {content.curves_rows}, best first.{more}"
    pair = tag("div", [chart.figure() for chart in both], class_="pair")
    return section("curves", "ROC and precision-recall", pair, _curve_names(shown), lead=lead), both


def drawn_curves(content: PageContent) -> list[CandidateCurves]:
    """The curves that are drawn: the best ones and, wherever it stands, the champion."""
    best, rest = content.curves[:MOST_CURVES], content.curves[MOST_CURVES:]
    return [*best, *(one for one in rest if one.is_champion)]


def threshold(content: PageContent) -> Drawn:
    """The cost over the threshold, with a slider that shows what each threshold would do."""
    if content.thresholds is None:
        return None, []
    chart = charts.cost_chart(content.thresholds)
    place = charts.chosen_place(content.thresholds)
    panel = tag("div", _slider(content.thresholds, place), _outcome(content.thresholds, place), class_="panel")
    lead = joined(f"What {content.thresholds.name} would do at each threshold. ", content.thresholds.why)
    return section("threshold", "Threshold", tag("div", chart.figure(), panel, class_="pair"), lead=lead), [chart]


def calibration(content: PageContent) -> Drawn:
    """Whether scores mean what they say."""
    if not content.calibration:
        return None, []
    chart = charts.calibration_chart(content.calibration)
    return section("calibration", "Calibration", tag("div", chart.figure(), class_="pair")), [chart]


def confusion(content: PageContent) -> Drawn:
    """Counts of true against predicted classes, and how each class fared."""
    found = content.confusion
    if found is None:
        return None, []
    at = "" if found.threshold is None else f" at the threshold {number(found.threshold)}"
    lead = f"{found.name}{at}. Cells are shaded by their share of the true class."
    parts = [
        tag("div", _confusion_table(found.confusion)),
        tag("div", _class_table(found)) if found.per_class else None,
    ]
    return section("confusion", "Confusion", tag("div", parts, class_="pair"), lead=lead), []


def regression(content: PageContent) -> Drawn:
    """Predicted against actual values, the residuals and the error by tenth."""
    found = content.regression
    if found is None:
        return None, []
    drawn = [charts.predicted_chart(found), charts.residual_chart(found)]
    drawn += [charts.decile_chart(found.deciles)] if found.deciles else []
    inner = tag("div", [chart.figure() for chart in drawn], class_="pair")
    return section("errors", "Predicted and actual", inner, lead=f"{found.name} on held rows."), drawn


def comparisons(content: PageContent) -> Drawn:
    """Each candidate against the best, over the same folds."""
    found = content.comparisons
    if not found:
        return None, []
    ends = [value for one in found for value in (one.low, one.high, 0.0)]
    edge = 0.05 * (max(ends) - min(ends) or 1.0)
    strip = Strip(min(ends) - edge, max(ends) + edge)
    heads = [
        Heading("Candidate", "text"), Heading("Difference from the best", "wide"), Heading("Difference"),
        Heading("95 % interval"), Heading("p, corrected", minor=True), Heading("", "text", minor=True),
    ]  # fmt: skip
    rows = [
        (one.name, strip.draw(f"{number(one.difference)}", strip.guide(0.0), strip.held(one.difference, one.low, one.high)),
         number(one.difference), f"{number(one.low)} to {number(one.high)}", number(one.p_value), one.words)
        for one in found
    ]  # fmt: skip
    lead = "Where the interval holds zero, chance could have made the difference."
    return section("comparisons", "Against the best", table(heads, rows, "Differences from the best"), lead=lead), []


def trials(content: PageContent) -> Drawn:
    """What each way of balancing brought."""
    if not content.trials:
        return None, []
    heads = [
        Heading("Balance", "text"), Heading("Model", "text"), Heading("Encoding", "text", minor=True),
        Heading(spoken(content.study.metric)), Heading("Against none"), Heading("Training rows", minor=True),
        Heading("Made up", minor=True), Heading("Took", minor=True),
    ]  # fmt: skip
    rows = [
        (one.balance, one.model, one.encoding,
         one.refused or f"{number(one.cv_mean)} ± {number(one.cv_std)}", _signed(one.gain),
         count(one.n_rows), count(one.n_made), seconds(one.seconds))
        for one in content.trials
    ]  # fmt: skip
    lead = "Training rows of each fold were balanced; the rows judged on never were."
    return section("resampling", "Resampling trial", table(heads, rows, "Balances tried"), lead=lead), []


def effects(content: PageContent) -> Drawn:
    """How much worse the metric gets when a column is shuffled."""
    found = sorted(content.effects, key=lambda one: -one.mean)
    if not found:
        return None, []
    values = [value for one in found for value in (*one.values, 0.0)]
    edge = 0.03 * (max(values) - min(values) or 1.0)
    strip = Strip(min(values) - edge, max(values) + edge)
    heads = [
        Heading("Column", "text"),
        Heading("Loss when shuffled", "wide"),
        Heading("Mean"),
        Heading("Range", minor=True),
    ]
    rows = [
        (one.column, strip.draw(f"mean {number(one.mean)}", strip.guide(0.0), strip.dots(one.values), strip.mean(one.mean)),
         number(one.mean), f"{number(min(one.values))} to {number(max(one.values))}")
        for one in found
    ]  # fmt: skip
    lead = (
        f"How much {spoken(content.study.metric)} gets worse when the values of a column are shuffled, "
        f"{counted(len(found[0].values), 'time', 'times')} each. Columns that say the same share their effect."
    )
    shown = table(heads, rows[:20], "Effect of each column")
    rest = (
        details(f"{len(rows) - 20} more columns", table(heads, rows[20:], "The other columns"))
        if len(rows) > 20
        else None
    )
    return section("effects", "Effect of each column", shown, rest, lead=lead), []


def validation(content: PageContent) -> Drawn:
    """The metric over the values of the tuned parameters."""
    if not content.validation:
        return None, []
    drawn = [charts.validation_chart(one, content.study.metric, nth) for nth, one in enumerate(content.validation)]
    lead = "Bands are one standard deviation over the folds to each side."
    inner = tag("div", [chart.figure() for chart in drawn], class_="pair")
    return section("validation", "Tuned parameters", inner, lead=lead), drawn


def leak_checks(content: PageContent) -> Drawn:
    """What was checked against leaks."""
    if not content.leak_checks:
        return None, []
    heads = [Heading("Check", "text"), Heading("Verdict", "text"), Heading("Found", "text")]
    rows = [
        (one.name, tag("span", one.verdict, class_=f"verdict {one.verdict}"), one.words) for one in content.leak_checks
    ]
    failed = sum(one.verdict == "failed" for one in content.leak_checks)
    lead = f"{counted(failed, 'check', 'checks')} failed." if failed else "None failed."
    return section("leaks", "Leak checks", table(heads, rows, "Leak checks"), lead=lead), []


def timing(content: PageContent) -> Drawn:
    """Where the time and the memory went."""
    stages = _stage_table(content)
    costs = [row for row in content.leaderboard if row.fit_seconds is not None]
    if not stages and not costs:
        return None, []
    heads = [Heading("Candidate", "text"), "Fit", "Predict", "Peak memory", "From the store"]
    heads = [Heading(one) if isinstance(one, str) else one for one in heads]
    rows = [
        (
            row.name,
            seconds(row.fit_seconds),
            seconds(row.predict_seconds),
            megabytes(row.memory_mb),
            "yes" if row.reused else "no",
        )
        for row in costs
    ]
    each = details("Each candidate", table(heads, rows, "Time and memory of each candidate")) if rows else None
    return section("timing", "Time and memory", stages, each), []


def columns(content: PageContent) -> Drawn:
    """The columns of the table and what is missing in them."""
    if not content.columns:
        return None, []
    strip = Strip(0.0, 1.0, width=120)
    heads = [
        Heading("Column", "text"), Heading("Kind", "text"), Heading("Role", "text", minor=True), Heading("Missing", "wide"),
        Heading("Share"), Heading("Rows", minor=True), Heading("Seen", "text", minor=True),
    ]  # fmt: skip
    rows = [
        (one.name, one.kind, one.role,
         strip.draw(f"{share(one.n_missing, one.n_rows)} missing", strip.bar(one.n_missing / max(one.n_rows, 1))),
         share(one.n_missing, one.n_rows), count(one.n_missing), one.words)
        for one in content.columns
    ]  # fmt: skip
    holes = sum(one.n_missing > 0 for one in content.columns)
    lead = f"{counted(len(rows), 'column', 'columns')}, {holes or 'none'} with missing values."
    body = table(heads, rows, "Columns and missing values")
    return section("columns", "Columns", body if len(rows) <= 15 else details("All columns", body), lead=lead), []


def card(content: PageContent) -> Drawn:
    """The model card."""
    one = content.card
    if one is None:
        return None, []
    blank = tag("span", "To be filled in by whoever answers for its use.", class_="blank")
    pairs = [
        ("What it is", one.what), ("Data", tag("code", one.data_digest)), ("Protocol", one.protocol),
        ("Intended use", one.intended_use or blank), ("Limits", one.limits or blank), *one.more,
    ]  # fmt: skip
    return section("card", "Model card", facts(pairs, "long")), []


def about(content: PageContent) -> Drawn:
    """How the study was run and with what; notes and refusals."""
    study = content.study
    classes = ", ".join(f"{label}: {count(n)}" for label, n in study.classes[:12])
    pairs = [
        ("Split", tag("code", study.split_id)), ("Data", tag("code", study.data_digest)),
        ("Withheld rows", count(study.n_withheld) if study.n_withheld else ""), ("Classes", classes),
        ("Fits", _fits(content)), *study.more,
        ("Versions", ", ".join(f"{name} {version}" for name, version in study.versions)),
    ]  # fmt: skip
    protocol = tag("ol", [tag("li", words) for words in study.protocol], class_="protocol") if study.protocol else None
    notes = tag("ul", [tag("li", words) for words in content.notes], class_="notes") if content.notes else None
    refused = table(
        [Heading("Candidate", "text"), Heading("Why", "text")], content.refused, "Candidates that were refused"
    )
    return section(
        "study", "How it was done", protocol, facts([pair for pair in pairs if pair[1]], "long"),
        joined(tag("h3", "Notes"), notes) if notes else None,
        joined(tag("h3", "Refused"), refused) if content.refused else None,
    ), []  # fmt: skip


def figures_at(thresholds: Thresholds, place: int) -> dict[str, str]:
    """What the page says at one step of the sweep; the script says the same."""
    one = thresholds.sweep
    tp, fp, fn, tn = one.tp[place], one.fp[place], one.fn[place], one.tn[place]
    cost = thresholds.cost_false_positive * fp + thresholds.cost_false_negative * fn
    at = one.thresholds[place]
    return {
        "threshold": number(at) if math.isfinite(at) else "above every score",
        "tp": count(tp), "fp": count(fp), "fn": count(fn), "tn": count(tn),
        "flagged": f"{count(tp + fp)} ({share(tp + fp, tp + fp + fn + tn)})",
        "precision": number(_part(tp, tp + fp)), "recall": number(_part(tp, tp + fn)),
        "f1": number(_part(2 * tp, 2 * tp + fp + fn)), "fpr": number(_part(fp, fp + tn)),
        "accuracy": number(_part(tp + tn, tp + fp + fn + tn)), "cost": number(cost),
    }  # fmt: skip


def slider_data(thresholds: Thresholds) -> dict[str, object]:
    """What the script needs to follow the slider."""
    one = thresholds.sweep
    return {
        "thresholds": [value if math.isfinite(value) else None for value in one.thresholds],
        "tp": one.tp, "fp": one.fp, "fn": one.fn, "tn": one.tn,
        "price": [thresholds.cost_false_positive, thresholds.cost_false_negative],
        "chosen": charts.chosen_place(thresholds),
    }  # fmt: skip


def _part(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _signed(value: float | None) -> str:
    return number(value) if value is None or value <= 0 else f"+{number(value)}"


def _slider(thresholds: Thresholds, place: int) -> Html:
    last = len(thresholds.sweep.thresholds) - 1
    words = figures_at(thresholds, place)["threshold"]
    slide = void(
        "input", type="range", id="threshold-slider", min=0, max=last, step=1, value=last - place, aria_valuetext=words
    )
    buttons = [
        tag("button", "Chosen", type="button", data_go="chosen"),
        tag("button", "Cheapest", type="button", data_go="cheapest"),
    ]
    ends = tag("div", tag("span", "calls more"), tag("span", "calls fewer"), class_="ends")
    label = tag("label", "Threshold", for_="threshold-slider")
    return tag("div", label, slide, ends, tag("div", buttons, class_="buttons"), class_="slider", hidden=True)


def _outcome(thresholds: Thresholds, place: int) -> Html:
    said = figures_at(thresholds, place)

    def out(key: str) -> Html:
        return tag("span", said[key], data_out=key)

    heads = [Heading("", "text"), Heading("Called"), Heading("Not called")]
    rows = [("Positive", out("tp"), out("fn")), ("Negative", out("fp"), out("tn"))]
    named = [
        ("Threshold", "threshold"), ("Rows called", "flagged"), ("Precision", "precision"), ("Recall", "recall"), ("F1", "f1"),
        ("False positive rate", "fpr"), ("Accuracy", "accuracy"), ("Cost", "cost"),
    ]  # fmt: skip
    counts = table(heads, rows, "Rows at this threshold", "outcome")
    return tag("div", counts, facts([(words, out(key)) for words, key in named], "facts narrow"))


def _curve_names(shown: Sequence[CandidateCurves]) -> Html:
    heads = [Heading("Candidate", "text"), Heading("Area under ROC"), Heading("Average precision")]
    rows = []
    for place, one in enumerate(shown):
        name = joined(charts.swatch(place, one.is_champion), one.name)
        mark = joined(" ", tag("span", "champion", class_="mark")) if one.is_champion else None
        cells = [
            joined(name, mark),
            _area(one.roc.area, one.roc_band),
            _area(one.precision_recall.area, one.precision_recall_band),
        ]
        rows.append((place, cells))
    from evenhand.report_parts import table_row

    body = [table_row(cells, heads, data_series_row=place, tabindex="0") for place, cells in rows]
    return table(heads, body, "Names and areas of the curves", "names")


def _area(area: float, band: object) -> Html:
    areas = getattr(band, "areas", ())
    spread = (
        f" folds {number(float(np.mean(areas)))} ± {number(float(np.std(areas, ddof=1)))}" if len(areas) > 1 else ""
    )
    return joined(number(area), tag("span", spread, class_="soft reach") if spread else None)


def _confusion_table(confusion: Confusion) -> Html:
    heads = [Heading("True class", "text"), *(Heading(label) for label in confusion.labels)]
    rows = [
        (label, *[_cell(n, sum(row)) for n in row])
        for label, row in zip(confusion.labels, confusion.counts, strict=True)
    ]
    return table(heads, rows, "True classes in rows, predicted classes in columns", "confusion")


def _cell(n: float, total: float) -> Html:
    part = n / total if total else 0.0
    tint = min(5, math.ceil(part * 5)) if n else 0
    return tag("span", tag("b", count(n)), tag("span", share(n, total), class_="soft"), class_=f"cell t{tint}")


def _class_table(found: ConfusionTable) -> Html:
    heads = [Heading("Class", "text"), Heading("Precision"), Heading("Recall"), Heading("F1"), Heading("Rows")]
    rows = [
        (one.label, number(one.precision), number(one.recall), number(one.f1), count(one.support))
        for one in found.per_class
    ]
    return table(heads, rows, "How each class fared")


def _stage_table(content: PageContent) -> Html | None:
    stages = content.stages
    if not stages:
        return None
    strip = Strip(0.0, max(one.seconds for one in stages) or 1.0)
    heads = [Heading("Stage", "text"), Heading("", "wide"), Heading("Took"), Heading("Done"), Heading("From the store")]
    rows = [
        (
            one.name,
            strip.draw(seconds(one.seconds), strip.bar(one.seconds)),
            seconds(one.seconds),
            count(one.n_executed),
            count(one.n_reused),
        )
        for one in stages
    ]
    return table(heads, rows, "Time of each stage")


def _fits(content: PageContent) -> str:
    study = content.study
    if study.n_executed is None:
        return ""
    return f"{count(study.n_executed)} done, {count(study.n_reused or 0)} taken from the store"
