"""A run as a notebook shows it: what it is, its leaderboard, and where it is recorded."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

MOST_ROWS = 12
HEADS = ("", "", "candidate", "folds", "±", "95 %", "holdout", "95 %", "verdict", "fit s")


def run_html(words: str, metric: str, lines: Sequence[Mapping[str, Any]], address: str) -> str:
    """A heading, the best candidates as a table, and a link to the record."""
    head = "".join(f"<th>{name}</th>" for name in HEADS)
    body = "".join(_line(rank, line) for rank, line in enumerate(lines[:MOST_ROWS], 1))
    more = f"<p>{len(lines) - MOST_ROWS} more in <code>run.leaderboard</code></p>" if len(lines) > MOST_ROWS else ""
    return (
        f"<p><b>{html.escape(words)}</b>; ranked by {html.escape(metric)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        f'<p>page: <code>run.report</code>; <a href="{html.escape(address)}">MLflow</a> while <code>evenhand ui</code> '
        "serves it</p>"
    )


def _line(rank: int, line: Mapping[str, Any]) -> str:
    words = [
        str(rank),
        line["mark"],
        line["candidate"],
        _number(line["cv"]),
        _number(line["cv_std"]),
        _ends(line["cv_low"], line["cv_high"]),
        _number(line["holdout"]),
        _ends(line["holdout_low"], line["holdout_high"]),
        line["verdict"],
        _number(line["fit_seconds"], 3),
    ]
    return "<tr>" + "".join(f"<td>{html.escape(word)}</td>" for word in words) + "</tr>"


def _number(value: float, digits: int = 4) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _ends(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"{low:.3f}-{high:.3f}"
