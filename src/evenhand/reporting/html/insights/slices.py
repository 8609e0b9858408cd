"""For whom the model does worse, and whether groups are treated alike."""

from evenhand.evaluation.explanation.slices import LESS_WHERE_RARE
from evenhand.records.decision import as_class
from evenhand.records.insight import Slice
from evenhand.reporting.html.content import PageContent
from evenhand.reporting.html.elements import (
    Heading,
    Html,
    count,
    counted,
    joined,
    listing,
    number,
    p_value,
    section,
    tag,
    titled,
    with_minus,
)
from evenhand.reporting.html.svg import Strip


def slices(content: PageContent) -> Html | None:
    """The metric on the rows of every value and range of a column, those surely worse first; parity of groups."""
    found = content.explained.insight if content.explained is not None else None
    if found is None or not (found.slices or found.parities):
        return None
    metric = content.explained.metric if content.explained is not None else ""
    n_worse = sum(one.is_worse for one in found.slices)
    said = f"{n_worse} surely worse than the other rows" if n_worse else "none is surely worse than the other rows"
    lead = (
        f"{titled(metric)} on {found.slices_on} of each value, or quarter of the values, of a column: of "
        f"{counted(found.n_slices, 'slice', 'slices')} {said} (5 %, corrected by Holm for all that were looked at)."
    )
    if metric in LESS_WHERE_RARE:
        lead += (
            " It is lower where positives are rarer, also of a model that ranks as well there: a slice is set beside "
            "the other rows as if positives were as rare among them."
        )
    shown = _table(found.slices, metric) if found.slices else None
    return section("slices", "For whom", shown, parities(content), lead=lead)


def _table(found: tuple[Slice, ...], metric: str) -> Html:
    ends = [end for one in found for end in (one.low, one.high)]
    strip = Strip(min(ends), max(ends) if max(ends) > min(ends) else min(ends) + 1)

    def drawn(one: Slice) -> Html:
        words = f"{number(one.figure)}, interval {number(one.low)} to {number(one.high)}"
        return strip.draw(words, strip.held(one.figure, one.low, one.high))

    columns = [
        (Heading("Slice", "text"), lambda one: f"{one.column} {with_minus(one.value)}"),
        (Heading("95 % interval", "wide"), drawn),
        (Heading(titled(metric)), lambda one: number(one.figure)),
        (Heading("Worse than the others by"), lambda one: number(one.worse)),
        (Heading("p, corrected"), lambda one: p_value(one.p_value)),
        (Heading("Rows"), lambda one: count(one.n_rows)),
        (Heading("Verdict", "text"), lambda one: tag("b", "worse") if one.is_worse else "not separated"),
    ]
    return listing(found, columns, "Slices")


def parities(content: PageContent) -> Html | None:
    """How often each group is called positive, and how often rightly and wrongly."""
    found = content.explained.insight.parities if content.explained is not None else ()
    if not found:
        return None
    positive = as_class(content.study.positive) if content.study.positive else "positive"

    def share(ends: tuple[float, float, float] | None) -> str:
        return "" if ends is None else f"{number(ends[0])} ({number(ends[1])} to {number(ends[2])})"

    columns = [
        (Heading("Group", "text"), lambda one: f"{one.column} {one.value}"),
        (Heading(f"Called {positive}"), lambda one: share(one.called)),
        (Heading("Of the positive: found"), lambda one: share(one.recall)),
        (Heading("Of the others: falsely called"), lambda one: share(one.false_positive_rate)),
        (Heading("Rows"), lambda one: count(one.n_rows)),
    ]
    return joined(tag("h3", "Groups that are to be treated alike"), listing(found, columns, "Parity of groups"))
