"""Telling someone what became of a study: what flows say of a failure, a promotion, skipped ticks and silence."""

from evenhand.decisions import Decision
from evenhand.notices import Event, Outcome, failure, promotion, send_owed, silence, skip_streak, tell
from evenhand.settings import Study

__all__ = ["Event", "Outcome", "failure", "promotion", "send_owed", "silence", "skip_streak", "tell", "tell_crowned"]


def tell_crowned(study: Study, line: Decision) -> Outcome:
    """Tell of a decision that made somebody champion, once."""
    facts = {"verdict": line.verdict, "run": line.candidate.run_id, "who": line.who}
    return tell(study, promotion(line.candidate.version, line.why, line.hash, **facts))
