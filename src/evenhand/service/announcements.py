"""Announcements of what became of a study: a failure, a promotion, skipped ticks and silence."""

from itertools import takewhile

from evenhand.monitoring.notifications import (
    Delivery,
    Event,
    failure,
    notify,
    promotion,
    send_pending,
    silence,
    skip_streak,
)
from evenhand.service.tick_ledger import ON_TIME, OVER, ticks_of
from evenhand.study.study import Study
from evenhand.tracking.champion_ledger import Decision

__all__ = [
    "Delivery",
    "Event",
    "failure",
    "notify",
    "notify_promotion",
    "notify_skips",
    "promotion",
    "send_pending",
    "silence",
]


def notify_promotion(study: Study, line: Decision) -> Delivery:
    """Notify of a promotion, once."""
    facts = {"verdict": line.verdict, "run": line.candidate.run_id, "who": line.who}
    return notify(study, promotion(line.candidate.version, line.why, line.hash, **facts))


def notify_skips(study: Study) -> Delivery:
    """Notify of the ticks skipped in a row up to the last, once a streak and when there are enough of them."""
    over = [line for line in ticks_of(study.name) if line.outcome in OVER and line.because in ON_TIME]
    streak = list(takewhile(lambda line: line.outcome == "skipped", reversed(over)))
    if not streak:
        return "not asked"
    return notify(study, skip_streak(len(streak), streak[0].why, streak[-1].as_of))
