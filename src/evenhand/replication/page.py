"""The replication table as one self-contained HTML page."""

from collections.abc import Sequence
from importlib.resources import files

from evenhand.replication.lines import Line
from evenhand.replication.wording import VERDICTS, by_study, interval_text, origin, tally, value_text
from evenhand.reporting.html.elements import Heading, Html, facts, joined, section, table, tag, void

MARKS = {"matches": "ok", "inside": "ok", "ordered": "ok", "explained": "ok", "differs": "warning"}
PICTURE_CSS = """
main { max-width: 1200px; }
figure img { max-width: 100%; height: auto; }
td.text { min-width: 24ch; max-width: 46ch; }
td.num { white-space: normal; min-width: 10ch; }
tbody th.text { min-width: 20ch; }
nav + p { margin-top: 16px; }
"""


def page(lines: Sequence[Line], pictures: Sequence[tuple[str, str]], when: str, with_beyond: bool = False) -> str:
    """The page with a table for each study and pictures, given as data addresses, below."""
    groups = by_study(lines)
    style = files("evenhand.reporting.html").joinpath("report_style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        void("meta", charset="utf-8"),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "Replication of the published figures"),
        tag("style", Html(style + PICTURE_CSS)),
    )
    body = tag(
        "main", _opening(lines, groups, when), *(_study(*group, with_beyond) for group in groups), _shown(pictures)
    )
    return f'<!doctype html><html lang="en">{head}{tag("body", body)}</html>'


def _opening(lines: Sequence[Line], groups: Sequence[tuple[str, list[Line]]], when: str) -> Html:
    links = [tag("li", tag("a", name, href=f"#{name}")) for name, _ in groups]
    return joined(
        tag("h1", "Replication of the published figures"),
        tag("p", f"{len(lines)} figures of {len(groups)} studies: {tally(lines)}.", class_="answer"),
        facts((verdict, meaning) for verdict, meaning in VERDICTS.items()),
        tag("nav", tag("ul", *links), aria_label="Studies"),
        tag("p", f"Measured {when}.", class_="about"),
    )


def _study(name: str, lines: Sequence[Line], with_beyond: bool) -> Html:
    heads = [
        Heading("Figure", "text"),
        Heading("Published"),
        Heading("Measured"),
        Heading("Interval"),
        Heading("Verdict", "words"),
        Heading("Note", "text"),
        *([Heading("Beyond", "text")] if with_beyond else []),
    ]
    rows = [[*_cells(line), *([line.beyond] if with_beyond else [])] for line in lines]
    lead = f"From {origin(name)}: {tally(lines)}."
    return section(name, name, table(heads, rows, f"Published and measured figures of {name}"), lead=lead)


def _cells(line: Line) -> list[str | Html]:
    verdict = tag("span", line.verdict, class_=f"verdict {MARKS[line.verdict]}")
    return [
        line.figure, value_text(line.published), value_text(line.measured), interval_text(line), verdict, line.note
    ]  # fmt: skip


def _shown(pictures: Sequence[tuple[str, str]]) -> Html:
    shown = [tag("figure", void("img", src=source, alt=title), tag("figcaption", title)) for title, source in pictures]
    return section("pictures", "Pictures", *shown) if shown else Html("")
