"""What a run shows in Prefect's pages: its leaderboard as rows, and its verdict with where to look as Markdown."""

import math
import re
from collections.abc import Mapping
from typing import Any

from evenhand.records.pipeline import Figures, Judgement
from evenhand.records.report import Report
from evenhand.records.verdicts import VERDICT_WORDS
from evenhand.reporting.terminal.run import check_lines, decided_lines, verdict_lines
from evenhand.runtime.text import counted, time_text

SIGNS = re.compile(r"([\\`*_{}\[\]<>|#~])")
MOST_ROWS = 100


def leaderboard_rows(judgement: Judgement) -> list[dict[str, Any]]:
    """The leaderboard, the best first, with its columns named as people read them."""
    return [_row(rank, each, judgement) for rank, each in enumerate(judgement.figures[:MOST_ROWS], 1)]


def _row(rank: int, figures: Figures, judgement: Judgement) -> dict[str, Any]:
    metric, name = judgement.metric, figures.plan.name
    low, high = figures.holdout_interval.get(metric, (None, None))
    row = {
        "rank": rank,
        "candidate": name,
        f"{metric}, folds": _rounded(figures.mean(metric)),
        "±": _rounded(figures.std(metric)),
        "held out": _rounded(figures.holdout.get(metric)),
        "95 %": "" if low is None or high is None else f"{low:.3f} to {high:.3f}",
        "verdict": VERDICT_WORDS.get(judgement.verdict(name), ""),
        "fit": time_text(figures.fit_seconds),
    }
    return {key: value for key, value in row.items() if value is not None}


def _rounded(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else round(value, 4)


def verdict_markdown(report: Report, links: Mapping[str, str]) -> str:
    """What a run came to in words: who leads, what was decided, what to mind, and where to look further."""
    judgement = report.judgement
    decided = [] if judgement.decided is None else decided_lines(judgement.decided)
    failed = [f"{each.word}: {each.name}: {each.why}" for each in judgement.failed]
    parts = {
        "Verdict": [f"leads: {judgement.best.plan.name}", *verdict_lines(judgement)],
        "Decision": [f"served: {judgement.winner.plan.name}", *decided],
        "To mind": [*report.notes, *failed, *(line for line, _ in check_lines(report.checks))],
        "Rows and time": [
            f"{counted(report.n_executed, 'fit')} done, {report.n_reused:,} reused; {report.rows_words}; "
            f"{time_text(report.seconds)}"
        ],
    }
    shown = [
        f"## {head}\n" + "\n".join(f"- {_plain(line)}" for line in lines) for head, lines in parts.items() if lines
    ]
    where = [f"- [{name}]({address})" for name, address in links.items()]
    page = [f"- page of the run: `{report.page}`"] if report.page is not None else []
    return "\n\n".join([*shown, "## Where to look\n" + "\n".join([*where, *page, f"- MLflow run `{report.run_id}`"])])


def skipped_markdown(why: str) -> str:
    """Why a tick ran nothing."""
    return f"## Skipped\n- {_plain(why)}"


def _plain(text: str) -> str:
    """A line that Markdown shows as it is."""
    return SIGNS.sub(r"\\\1", " ".join(text.split()))
