"""The lines of the replication table in words, for the terminal and the pages."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from evenhand.replication.facts import published
from evenhand.replication.lines import Line, counted

VERDICTS = {
    "matches": "the same to the last printed digit",
    "inside": "a chance draw could give it: within the 99 % interval",
    "ordered": "the published order or direction holds",
    "explained": "it does not as run, but under the one change that the note names; that was tested",
    "differs": "it does not; what was tested and did not explain it is in the note",
}
START, END = "<!-- {} -->", "<!-- end of {} -->"
INTRODUCTION = """\
# Replication of the published figures

This page is written by `evenhand replicate --markdown docs/replication.md`; change nothing here by hand. The study
files are in `conf/replication/`, the published figures in `src/evenhand/replication/published.yaml`.

Intervals are of 99 %. Of a figure from one random split it is the range that holds the central 99 % of splits, and the
figure measured is their median. Of a claim it is the interval of a mean gap over splits of the same rows, not over new
rows. Where four columns stand side by side they are area under ROC, accuracy, accuracy on the rare class and average
precision, each with its interval, which allows for the draw of our rows and of the 50,000 published ones;
inside means that all four are.
"""


def value_text(value: Any) -> str:
    """A figure as it is shown: four significant places, tables in brackets, a dash for none."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_short(each) for each in value)}]"
    return str(value)


def _short(value: Any) -> str:
    """One of several figures: shares in four places, so that they stand in line."""
    return f"{value:.4f}" if isinstance(value, float) else value_text(value)


def interval_text(line: Line) -> str:
    """The interval of a line; empty where it has none."""
    pairs = line.interval if line.interval and isinstance(line.interval[0], tuple) else [line.interval]
    return "; ".join(f"{pair[0]:.4g} to {pair[1]:.4g}" for pair in pairs if pair)


def by_study(lines: Iterable[Line]) -> list[tuple[str, list[Line]]]:
    """Lines in groups of one study."""
    return [(name, list(group)) for name, group in groupby(lines, key=lambda line: line.study)]


def tally(lines: Sequence[Line]) -> str:
    """How many lines have each verdict, in words."""
    return ", ".join(f"{number} {verdict}" for verdict, number in counted(lines).items() if number)


def origin(name: str) -> str:
    """The document a study comes from."""
    return published()[name]["from"]


def markdown(lines: Sequence[Line], with_beyond: bool = False) -> str:
    """The page as Markdown, exact studies first and between marks of their own."""
    words = "\n".join(f"- **{verdict}**: {meaning}." for verdict, meaning in VERDICTS.items())
    parts = [INTRODUCTION, words, f"\n{len(lines)} figures: {tally(lines)}.\n"]
    for kind in ("exact", "split", "subset"):
        if some := [line for line in lines if published()[line.study]["kind"] == kind]:
            parts.append(marked(kind, section_text(kind, some, with_beyond)))
    return "\n".join(parts)


def marked(kind: str, text: str) -> str:
    """A part of the page between marks, so that it can be found again."""
    return f"{START.format(kind)}\n{text}\n{END.format(kind)}\n"


def section_text(kind: str, lines: Sequence[Line], with_beyond: bool = False) -> str:
    """The tables of all studies of a kind."""
    titles = {
        "exact": "Figures without chance",
        "split": "Figures of one random split",
        "subset": "Figures of more rows",
    }
    tables = [_table(name, group, with_beyond) for name, group in by_study(lines)]
    return "\n\n".join([f"## {titles[kind]}", *tables])


def _table(name: str, lines: Sequence[Line], with_beyond: bool) -> str:
    heads = ["figure", "published", "measured", "interval", "verdict", "note", *(["beyond"] if with_beyond else [])]
    rows = [heads, ["---"] * len(heads)]
    for line in lines:
        cells = [line.figure, value_text(line.published), value_text(line.measured), interval_text(line), line.verdict]
        rows.append([*cells, line.note, *([line.beyond] if with_beyond else [])])
    body = "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)
    return f"### {name}\n\nFrom {origin(name)}: {tally(lines)}.\n\n{body}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")
