"""The sections of the page that are tables: each gives its markup, or None where there is nothing to show."""

from collections.abc import Sequence

from evenhand.records.checks import WORST_FIRST, counted_by_severity
from evenhand.records.decision import Effect, Explained, Stage
from evenhand.reporting.html.content import AGAIN, CandidateRow, ComparisonRow, PageContent
from evenhand.reporting.html.elements import (
    NOTHING,
    Heading,
    Html,
    count,
    counted,
    details,
    joined,
    listing,
    megabytes,
    number,
    p_value,
    percent,
    seconds,
    section,
    spoken,
    tag,
    with_minus,
)
from evenhand.reporting.html.svg import Strip
from evenhand.reporting.html.templates import render
from evenhand.study.registry import POWER_DIFFERENCE

MOST_COLUMNS, MOST_NAMED = 15, 8


def comparisons(content: PageContent) -> Html | None:
    """Each candidate against the best, on the same out-of-fold rows."""
    found = content.comparisons
    if not found:
        return None
    strip = _strip_over([end for one in found for end in (one.low, one.high)])

    def drawn(one: ComparisonRow) -> Html:
        words = f"{number(one.difference)}, interval {number(one.low)} to {number(one.high)}"
        return strip.draw(words, strip.guide(0.0), strip.held(one.difference, one.low, one.high))

    columns = [
        (Heading("Candidate", "text"), lambda one: one.name),
        (Heading("Behind the best", "wide"), drawn),
        (Heading("Difference"), lambda one: number(one.difference)),
        (Heading("95 % interval", minor=True), lambda one: f"{number(one.low)} to {number(one.high)}"),
        (Heading("p, corrected", minor=True), lambda one: p_value(one.p_value)),
        (Heading("On the holdout alone", minor=True), _on_holdout),
        (Heading("Detectable", minor=True), lambda one: number(one.detectable)),
        (Heading("Verdict", "text", minor=True), lambda one: one.words),
    ]
    lead = (
        "One computation gives interval, p value and verdict: the lower end holds for all candidates at once, the "
        "upper one for each. A gap inside the region of practical equivalence is called practically the same."
    )
    if any(one.power is not None for one in found):
        columns.insert(
            -3, (Heading("Power", minor=True), lambda one: NOTHING if one.power is None else percent(one.power))
        )
        lead += f" Power is the chance that the holdout separates two that truly differ by {POWER_DIFFERENCE}."
    shown = listing(found, columns, "Differences from the best")
    return section("comparisons", "Against the best", shown, lead=lead)


def _on_holdout(one: ComparisonRow) -> Html | str:
    """The difference on the holdout with its interval in a line below."""
    if one.holdout is None:
        return ""
    value, low, high = map(number, one.holdout)
    return joined(value, " ", tag("span", f"{low} to {high}", class_="ends-of soft"))


def effects(content: PageContent) -> Html | None:
    """How much worse the metric gets when a column is shuffled, or why that was not asked."""
    given = content.explained
    if given is None or not (given.effects or given.words):
        return None
    if not given.effects:
        return section("effects", "Effect of each column", tag("p", given.words))
    strip = _strip_over([end for one in given.effects for end in (*one.values, one.low, one.high)])

    def drawn(one: Effect) -> Html:
        words = f"mean {number(one.mean)}, interval {number(one.low)} to {number(one.high)}"
        return strip.draw(words, strip.guide(0.0), strip.dots(one.values), strip.held(one.mean, one.low, one.high))

    columns = [
        (Heading("Column", "text"), lambda one: one.column),
        (Heading("Loss when shuffled", "wide"), drawn),
        (Heading("Mean"), lambda one: number(one.mean)),
        (Heading("95 % interval", minor=True), lambda one: f"{number(one.low)} to {number(one.high)}"),
    ]
    lead = _method(given, content.study.task in {"binary", "multiclass"})
    return section("effects", "Effect of each column", listing(given.effects, columns, "Effects"), lead=lead)


def _method(given: Explained, has_classes: bool) -> str:
    """How effects were measured: with which rows and how often, and what was left out for want of time."""
    n_times = [len(one.values) for one in given.effects]
    often = counted(max(n_times), "time", "times")
    often = often if min(n_times) == max(n_times) else f"{min(n_times)} or {often}"
    rows = count(given.n_rows) if given.n_rows < given.n_holdout else "all"
    words = (
        f"How much {spoken(given.metric)} ({number(given.figure)}) gets worse when a column is shuffled, "
        f"{often} each, on {rows} of {count(given.n_holdout)} held-out rows. A dot is one shuffling; the line is the "
        "95 % interval over shufflings and rows. Columns that say the same share their effect."
    )
    if given.n_rows < given.n_holdout and has_classes:
        words += " Rows of the larger classes stand for the others of theirs."
    if given.left_out:
        named = ", ".join(given.left_out[:MOST_NAMED]) + (" and others" if len(given.left_out) > MOST_NAMED else "")
        words += f" Not asked, for want of time: {counted(len(given.left_out), 'column', 'columns')} ({named})."
    return words


def leak_checks(content: PageContent) -> Html | None:
    """What was checked against leaks."""
    if not content.leak_checks:
        return None
    columns = [
        (Heading("Check", "text"), lambda one: one.name),
        (Heading("Severity", "text"), lambda one: tag("span", one.severity, class_=f"verdict {one.severity}")),
        (Heading("Found", "text whole"), lambda one: with_minus(one.words)),
        (Heading("What to do", "text whole"), lambda one: one.remedy),
    ]
    if not any(one.remedy for one in content.leak_checks):
        columns.pop()
    lead = counted_by_severity(one.severity for one in content.leak_checks) + "."
    in_order = sorted(content.leak_checks, key=lambda one: WORST_FIRST.index(one.severity))
    return section("leaks", "Leakage checks", listing(in_order, columns, "Leakage checks"), lead=lead)


def timing(content: PageContent) -> Html | None:
    """Where the time and the memory went."""
    candidates = [row for row in content.leaderboard if row.fit_seconds is not None]
    if not content.stages and not candidates:
        return None
    stages = _stages(content.stages) if content.stages else None
    each = _costs(candidates) if candidates else None
    folded = details("Each candidate", each) if len(candidates) > MOST_COLUMNS else each
    lead = _whole(content) if content.stages else ""
    return section("timing", "Time and memory", stages, folded, lead=lead)


def _whole(content: PageContent) -> str:
    """What the stages leave of the time of the run."""
    given = "Memory is the highest of the whole process while a stage ran."
    if content.study.seconds is None:
        return given
    rest = content.study.seconds - sum(one.seconds for one in content.stages)
    whole = f"{seconds(content.study.seconds)} until this page was made"
    return f"{whole}, {seconds(max(rest, 0.0))} of it between stages and for the record of candidates. {given}"


def card(content: PageContent) -> Html | None:
    """The model card."""
    one = content.card
    if one is None:
        return None
    given = [("What it is", "", one.what), ("Data", "code", one.data_digest), ("Protocol", "", one.protocol)]
    given += [(name, "", words) for name, words in one.more]
    return section("card", "Model card", render("study", protocol=(), facts=given, notes=()))


def about(content: PageContent) -> Html:
    """How the study was run and with what; notes."""
    study = content.study
    given = [
        ("Split", "code", study.split_id),
        ("Data", "code", study.data_digest),
        ("Withheld rows", "", count(study.n_withheld) if study.n_withheld else ""),
        ("Classes", "", ", ".join(f"{label}: {count(n)}" for label, n in study.classes[:12])),
        ("Fits", "", _fits(content)),
        ("Took", "", seconds(study.seconds) if study.seconds is not None else ""),
        *((words, "link", address) for words, address in study.links),
        *((words, "code" if words == AGAIN else "", said) for words, said in study.more),
        ("Versions", "", ", ".join(f"{name} {version}" for name, version in study.versions)),
    ]
    shown = [one for one in given if one[2]]
    return section(
        "study",
        "How it was done",
        render("study", protocol=study.protocol, facts=shown, notes=tuple(map(with_minus, content.notes))),
    )


def _strip_over(values: Sequence[float]) -> Strip:
    low, high = min(0.0, *values), max(0.0, *values)
    edge = 0.05 * ((high - low) or 1.0)
    return Strip(low - edge, high + edge)


def _stages(stages: Sequence[Stage]) -> Html:
    strip = Strip(0.0, max(one.seconds for one in stages) or 1.0)
    shown = [
        (Heading("Stage", "text"), lambda one: one.name),
        (Heading("Time", "wide"), lambda one: strip.draw("", strip.bar(one.seconds))),
        (Heading("Took"), lambda one: seconds(one.seconds)),
        (Heading("Highest memory"), lambda one: megabytes(one.peak_mb)),
        (Heading("Done", minor=True), lambda one: count(one.n_executed)),
        (Heading("From the store", minor=True), lambda one: count(one.n_reused)),
    ]
    return listing(stages, shown, "Time and memory of each stage")


def _costs(candidates: Sequence[CandidateRow]) -> Html:
    shown = [
        (Heading("Candidate", "text"), lambda row: row.name),
        (Heading("Fit"), lambda row: seconds(row.fit_seconds)),
        (Heading("Predict"), lambda row: seconds(row.predict_seconds)),
        (Heading("Peak memory"), lambda row: megabytes(row.memory_mb)),
        (Heading("From the store"), lambda row: "yes" if row.reused else "no"),
    ]
    return listing(candidates, shown, "Time and memory of each candidate")


def _fits(content: PageContent) -> str:
    study = content.study
    if study.n_executed is None:
        return ""
    return f"{count(study.n_executed)} done, {count(study.n_reused or 0)} taken from the store"
