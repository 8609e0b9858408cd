"""Champion: who serves a study, who did, and one command each to change it."""

from evenhand.service.announcements import tell_crowned
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tracking.champion import Standing, promote, propose, register, roll_back, stand

__all__ = ["Standing", "go_back", "promote_run", "standing"]


def standing(study: str) -> Standing:
    """Who is champion by the ledger; the alias is set right on the way."""
    return stand(study)


def promote_run(study: str, why: str, version: int | None = None) -> Standing:
    """Make the latest run's model champion, or a version, after it was proved and registered."""
    seen = stand(study).decisions
    proposed = propose(study, version)
    table = clean.fn(ingest.fn(proposed.study), proposed.study)
    line = promote(proposed, register(proposed, table.digest, table.path / "rows.parquet"), why, seen)
    tell_crowned(proposed.study, line)
    return stand(study)


def go_back(study: str, why: str, version: int | None = None) -> Standing:
    """Make the champion before champion again, or an earlier one by its version."""
    line = roll_back(study, why, version)
    tell_crowned(propose(study, line.candidate.version).study, line)
    return stand(study)
