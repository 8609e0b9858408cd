"""Telling someone what became of a study: what flows say of a failure, a promotion, skipped ticks and silence."""

from itertools import takewhile

from evenhand.monitoring.notifications import (
    Event,
    Outcome,
    failure,
    promotion,
    send_owed,
    silence,
    skip_streak,
    tell,
)
from evenhand.service.tick_ledger import ON_TIME, OVER, ticks_of
from evenhand.study.study import Study
from evenhand.tracking.champion_ledger import Decision

__all__ = ["Event", "Outcome", "failure", "promotion", "send_owed", "silence", "tell", "tell_crowned", "tell_skips"]


def tell_crowned(study: Study, line: Decision) -> Outcome:
    """Tell of a decision that made somebody champion, once."""
    facts = {"verdict": line.verdict, "run": line.candidate.run_id, "who": line.who}
    return tell(study, promotion(line.candidate.version, line.why, line.hash, **facts))


def tell_skips(study: Study) -> Outcome:
    """Tell of the ticks skipped in a row up to the last, once a streak and when there are enough of them."""
    over = [line for line in ticks_of(study.name) if line.outcome in OVER and line.because in ON_TIME]
    streak = list(takewhile(lambda line: line.outcome == "skipped", reversed(over)))
    if not streak:
        return "not asked"
    return tell(study, skip_streak(len(streak), streak[0].why, streak[-1].as_of))
