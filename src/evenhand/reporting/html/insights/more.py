"""How sure figures are of more rows: what acting on the highest scores finds, and the learning curve."""

from collections.abc import Sequence

from evenhand.records.insight import Insight, LearningPoint
from evenhand.reporting.html.chart import Chart, Series
from evenhand.reporting.html.content import PageContent
from evenhand.reporting.html.elements import (
    Heading,
    Html,
    count,
    joined,
    listing,
    number,
    percent,
    plain,
    section,
    spoken,
    table,
    tag,
    titled,
)
from evenhand.reporting.html.svg import Canvas, axis

Drawn = tuple[Html | None, list[Chart]]


def lift(content: PageContent) -> Html | None:
    """What acting on the k rows with the highest scores finds and costs."""
    found = content.explained.insight if content.explained is not None else None
    if found is None or not found.lifts:
        return None
    columns = [
        (Heading("Rows acted on", "text"), lambda one: f"{count(one.n_rows)} ({percent(one.share, 1)})"),
        (Heading("Found"), lambda one: count(one.n_found)),
        (Heading("Share of all positives"), lambda one: number(one.found_share)),
        (Heading("Lift"), lambda one: number(one.lift)),
        (Heading("Cost of all rows"), lambda one: "" if one.cost is None else plain(one.cost)),
    ]
    lead = (
        f"Acting on the rows with the highest scores, of {found.lifts_on}. Lift is the share of positives among them "
        "over that among all rows."
    )
    return section("lift", "Lift and gain", listing(found.lifts, columns, "Lift and gain at k"), lead=lead)


def learning(content: PageContent) -> Drawn:
    """The metric against the number of training rows."""
    insight = content.explained.insight if content.explained is not None else Insight()
    found = insight.learning
    if len(found) < 2:
        return None, []
    metric, x, y = spoken(content.study.metric), [one.n_rows for one in found], [one.mean for one in found]
    low, high = ([one.mean + sign * one.std for one in found] for sign in (-1, 1))
    if content.study.lower_is_better:
        low = [max(each, 0.0) for each in low]
    elif max(y) <= 1:
        high = [min(each, 1.0) for each in high]
    canvas = Canvas(axis("Training rows", 0, max(x)), axis(titled(metric), min(low), max(high)), height=250)
    rows = [(percent(one.share), count(one.n_rows), number(one.mean), number(one.std)) for one in found]
    chart = Chart(
        id="learning",
        title="",
        summary=f"{metric} from {number(y[0])} with {count(x[0])} rows to {number(y[-1])} with {count(x[-1])}.",
        canvas=canvas,
        marks=(canvas.area(x, low, high, "s1"), canvas.line(x, y, "s1"), canvas.dots(x, y, "s1")),
        series=(Series(metric, x, y),),
        values=table(["Share", "Rows", metric, "Deviation"], rows, "Learning curve"),
    )
    lead = (
        f"{insight.learning_of or 'The kept candidate'} fitted on parts of the training rows of the first folds, and "
        "judged on their held rows; the band is one deviation over these folds."
    )
    body = joined(tag("div", chart.figure(), class_="pair"), tag("p", _would_help(content, found), class_="said"))
    return section("learning", "Learning curve", body, lead=lead), [chart]


def _would_help(content: PageContent, found: Sequence[LearningPoint]) -> str:
    """What the last step of the curve says of more rows, as far as its folds differ, and of what is left to gain."""
    is_error = content.study.lower_is_better
    if found[-1].mean == (0 if is_error else 1):
        return "Nothing is left to gain on the rows of these folds: only more judged rows could show a gain."
    gain = (found[-1].mean - found[-2].mean) * (-1 if is_error else 1)
    if gain > max(one.std for one in found[-2:]):
        return "More rows should help: the last step is larger than the spread over folds on either side of it."
    return "The last step is within the spread over folds: they do not show whether more rows of this kind would help."
