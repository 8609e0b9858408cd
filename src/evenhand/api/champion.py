"""Champion: who serves a study, who did, and one command each to change it."""

from evenhand.service.announcements import notify_promotion
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tracking.champion import ChampionStatus, promote, propose, register, roll_back, stand

__all__ = ["ChampionStatus", "champion_status", "go_back", "promote_run"]


def champion_status(study: str) -> ChampionStatus:
    """Who is champion by the ledger; the alias is set right on the way."""
    return stand(study)


def promote_run(study: str, why: str, version: int | None = None) -> ChampionStatus:
    """Make the latest run's model champion, or a version, after it was proved and registered."""
    seen = stand(study).decisions
    proposed = propose(study, version)
    table = clean.fn(ingest.fn(proposed.study), proposed.study)
    line = promote(proposed, register(proposed, table.digest, table.path / "rows.parquet"), why, seen)
    notify_promotion(proposed.study, line)
    return stand(study)


def go_back(study: str, why: str, version: int | None = None) -> ChampionStatus:
    """Make the champion before champion again, or an earlier one by its version."""
    line = roll_back(study, why, version)
    notify_promotion(propose(study, line.candidate.version).study, line)
    return stand(study)
