"""The charts of one candidate as files of their own: small SVG pictures, drawn as those of the page are."""

from collections.abc import Iterator, Sequence

from evenhand.evaluation import curves
from evenhand.evaluation.metrics import confusion
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.pipeline import Table
from evenhand.reporting.html.chart import Chart
from evenhand.reporting.html.charts_classification import calibration_chart, precision_recall_chart, roc_chart
from evenhand.reporting.html.charts_regression import normal_chart, predicted_chart, residual_chart, scatter_chart
from evenhand.reporting.html.content import CandidateCurves
from evenhand.reporting.html.elements import Html, count, joined, number, tag
from evenhand.reporting.html.svg import MOST_IN_COLOUR, WIDTH, colour_of
from evenhand.statistics import normal_quantiles

COLOURS = ("#8b929b", "#0065a8", "#c2500a", "#00805e", "#a8478a", "#8a6a00", "#4a55b5", "#7a3b1e", "#3d4650")
HEAD, LINE, CELL, NAMES, MOST_CELLS, LONGEST = 34, 15, 74, 120, 20, 44
STYLE = (
    "text{font:11.5px system-ui,sans-serif}.head{font-size:14px;font-weight:600}"
    ".grid{stroke:#eef1f4;fill:none}.line,.whisker{fill:none;stroke:currentColor;stroke-width:1.5}"
    ".line.best{stroke-width:2.4}.chance{stroke:#8b929b;stroke-width:1;stroke-dasharray:4 3}"
    ".area{fill:currentColor;fill-opacity:.15}.bar{fill:currentColor;fill-opacity:.8}.dots{fill:currentColor}"
    ".faint{fill-opacity:.5}.dotted{stroke-dasharray:2 3}"
    + "".join(f".s{place}{{color:{colour};}}" for place, colour in enumerate(COLOURS))
)


def pictures_of(candidate: CandidatePredictions, table: Table) -> Iterator[tuple[str, str]]:
    """The pictures of one candidate by file name, of its out-of-fold rows; those it has no scores for are left out."""
    part = candidate.out_of_fold
    if table.task == "regression":
        points, left = curves.predicted_actual(part.truth, part.predicted), curves.residuals(part.truth, part.predicted)
        yield "predicted_against_actual.svg", _of_chart(predicted_chart(points, candidate.name), candidate.name)
        yield "residuals.svg", _of_chart(residual_chart(left, candidate.name), candidate.name)
        yield "residuals_over_predicted.svg", _of_chart(scatter_chart(points, candidate.name), candidate.name)
        normal = normal_quantiles(part.truth - part.predicted)
        yield "normal_plot.svg", _of_chart(normal_chart(normal, candidate.name), candidate.name)
        return
    labels = [str(label) for label in table.classes]
    if not table.is_multilabel:
        counts = confusion(part.truth, part.predicted, len(labels)).tolist()
        yield "confusion.svg", confusion_picture(counts, labels, candidate.name)
    if shown := shown_curves(candidate, labels):
        keys = [f"{one.name} {number(one.roc.area)}" for one in shown]
        yield "roc.svg", _of_chart(roc_chart(shown), candidate.name, keys)
        keys = [f"{one.name} {number(one.precision_recall.area)}" for one in shown]
        yield "precision_recall.svg", _of_chart(precision_recall_chart(shown), candidate.name, keys)
    if table.task == "binary" and candidate.is_probability and part.scores is not None:
        chart = calibration_chart([(candidate.name, curves.calibration(part.truth, part.scores))])
        yield "calibration.svg", _of_chart(chart, f"Calibration of {candidate.name}")


def shown_curves(candidate: CandidatePredictions, labels: Sequence[str]) -> list[CandidateCurves]:
    """The curves of a candidate: one of two classes; of more their mean, then each class against the rest."""
    if (whole := candidate.curves(labels)) is None:
        return []
    if len(labels) == 2 and not candidate.is_multilabel:
        return [CandidateCurves("Area", whole.roc, whole.precision_recall)]
    each = [CandidateCurves(one.name, one.roc, one.precision_recall) for one in candidate.by_class(labels)]
    return [CandidateCurves("mean over classes", whole.roc, whole.precision_recall), *each]


def confusion_picture(found: Sequence[Sequence[int]], labels: Sequence[str], name: str) -> str:
    """True classes in rows, predicted ones in columns; a cell is the darker the greater its share of its true class."""
    shown = list(labels[:MOST_CELLS])
    cells = [
        _cell(place, row, n, sum(counts))
        for place, counts in enumerate(found[: len(shown)])
        for row, n in enumerate(counts[: len(shown)])
    ]
    sides = [
        joined(
            words_at(NAMES - 8, HEAD + 24 + (place + 0.5) * CELL * 0.6 + 4, label[:16], "end"),
            words_at(NAMES + (place + 0.5) * CELL, HEAD + 16, label[:10], "middle"),
        )
        for place, label in enumerate(shown)
    ]
    beyond = len(labels) - len(shown)
    more = f"; {beyond} more classes are in classes.json" if beyond > 0 else ""
    height = HEAD + 24 + CELL * 0.6 * len(shown) + 24
    foot = words_at(8, height - 8, f"true class in rows, predicted class in columns{more}", "start")
    return standalone(
        f"Confusion of {name}", joined(cells, sides, foot), max(WIDTH, NAMES + CELL * len(shown) + 8), height
    )


def standalone(title: str, drawn: Html, width: float, height: float) -> str:
    """A drawing as an SVG file that needs no style sheet."""
    head = words_at(
        8, 20, title if len(title) <= LONGEST else f"{title[:LONGEST]}…", "start", class_="head", fill="#1d2126"
    )
    paper = tag("rect", width=f"{width:g}", height=f"{height:g}", fill="#fff")
    box = {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"}
    named = tag("title", title)
    return tag(
        "svg",
        named,
        tag("style", Html(STYLE)),
        paper,
        head,
        drawn,
        xmlns="http://www.w3.org/2000/svg",
        fill="#5a616b",
        **box,
    )


def _of_chart(chart: Chart, name: str, keys: Sequence[str] = ()) -> str:
    """A chart of the page under its title, with the names of its lines beneath."""
    title = f"{chart.title} of {name}" if chart.title else name
    height = chart.canvas.height
    rows = keys_beneath(keys, height, len(keys), "classes")
    body = joined(chart_body(chart), tag("g", rows, transform=f"translate(0 {HEAD})"))
    return standalone(title, body, WIDTH, HEAD + height + LINE * len(rows) + (6 if rows else 0))


def chart_body(chart: Chart, left: float = 0) -> Html:
    """The frame and the marks of a chart beneath the title of a picture, so far from its left edge."""
    return tag("g", chart.canvas.frame(), *chart.marks, transform=f"translate({left:g} {HEAD})")


def keys_beneath(keys: Sequence[str], height: float, n_all: int, of_what: str) -> list[Html]:
    """The names of the lines of a chart of some height, as many as have a colour, and how many there are besides."""
    rows = [_key(place, words, height) for place, words in enumerate(keys[: MOST_IN_COLOUR + 1])]
    if n_all > len(rows):
        rows.append(words_at(24, height + LINE * (len(rows) + 0.8), f"{n_all - len(rows)} more {of_what}", "start"))
    return rows


def _key(place: int, words: str, height: float) -> Html:
    at = height + LINE * (place + 0.8)
    mark = tag("path", d=f"M8 {at - 4:g}H20", class_=f"line {colour_of(place)}")
    return joined(mark, words_at(24, at, words[:60], "start"))


def _cell(row: int, column: int, n: float, total: float) -> Html:
    part = n / total if total else 0.0
    x, y = NAMES + column * CELL, HEAD + 24 + row * CELL * 0.6
    box = tag("rect", x=f"{x:g}", y=f"{y:g}", width=CELL - 2, height=f"{CELL * 0.6 - 2:g}", fill="#0065a8",
              fill_opacity=f"{0.06 + 0.54 * part:.2f}")  # fmt: skip
    return joined(box, words_at(x + CELL / 2, y + 27, count(n), "middle", fill="#1d2126"))


def words_at(x: float, y: float, words: str, anchor: str, **attributes: str) -> Html:
    """Words of a picture at a place."""
    return tag("text", words, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, **attributes)
