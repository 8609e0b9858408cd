"""The leaderboard as rows of a table in Prefect's pages."""

import math
from typing import Any

from evenhand.records.pipeline import Figures, Judgement
from evenhand.records.verdicts import VERDICT_WORDS
from evenhand.runtime.text import time_text

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
