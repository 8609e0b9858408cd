"""The page of a run: one HTML file that needs no network, no other file and, to be read, no script."""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from evenhand.reporting.html import figures, leaderboard, tables
from evenhand.reporting.html.chart import Chart
from evenhand.reporting.html.coefficients import coefficients
from evenhand.reporting.html.content import GateVerdict, PageContent
from evenhand.reporting.html.elements import Html
from evenhand.reporting.html.insights.data import data
from evenhand.reporting.html.insights.history import history
from evenhand.reporting.html.insights.more import learning, lift
from evenhand.reporting.html.insights.residuals import residual_columns
from evenhand.reporting.html.insights.slices import slices
from evenhand.reporting.html.insights.why import why
from evenhand.reporting.html.resampling import trials
from evenhand.reporting.html.templates import render
from evenhand.reporting.html.training import drawings

SECTIONS = (
    figures.curves,
    figures.class_curves,
    figures.threshold,
    figures.decision,
    figures.calibration,
    figures.class_calibration,
    figures.confusion,
    figures.regression,
    residual_columns,
    why,
    slices,
    lift,
    learning,
    coefficients,
    tables.comparisons,
    trials,
    tables.effects,
    figures.validation,
    drawings,
    history,
    tables.leak_checks,
    tables.timing,
    data,
    tables.card,
    tables.about,
)


def page(content: PageContent) -> str:
    """The whole page as text, to be written as UTF-8."""
    parts, charts = _drawn(content)
    slider = figures.slider_data(content.thresholds) if content.thresholds else None
    parts = [leaderboard.leaderboard(content), *parts]
    return render(
        "page",
        content=content,
        policy=_policy(),
        style=Html(_style()),
        script=Html(_script()),
        head=leaderboard.head(content),
        contents=map(_id_and_heading, parts),
        parts=parts,
        data=_data({"charts": {chart.id: chart.data() for chart in charts}, "slider": slider}),
    )


def with_verdict(text: str, gate: GateVerdict) -> str:
    """The page with what became of the model at the gate, which is known only after the page was written."""
    return text.replace(leaderboard.GATE_PLACE, leaderboard.gate_words(gate), 1)


def _drawn(content: PageContent) -> tuple[list[Html], list[Chart]]:
    parts, charts = [], []
    for make in SECTIONS:
        made = make(content)
        part, drawn = made if isinstance(made, tuple) else (made, [])
        parts += [part] if part is not None else []
        charts += drawn
    return parts, charts


def _policy() -> str:
    return (
        f"default-src 'none'; style-src '{_digest(_style())}'; script-src '{_digest(_script())}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _id_and_heading(part: Html) -> tuple[str, Html]:
    heading = part.split("<h2", 1)[1].split(">", 1)[1].split("</h2>", 1)[0]
    return part.split('id="', 1)[1].split('"', 1)[0], Html(heading)


def _data(values: dict[str, Any]) -> Html:
    """JSON in the page; with `<` spelt out no name in it can end the element or begin another."""
    text = json.dumps(values, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")
    return Html(text.replace("&", "\\u0026"))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _style() -> str:
    return files(__package__).joinpath("report_style.css").read_text(encoding="utf-8")


@cache
def _script() -> str:
    return files(__package__).joinpath("report_script.js").read_text(encoding="utf-8")
