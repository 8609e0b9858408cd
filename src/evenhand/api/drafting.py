"""From a data file to a study file that runs as it is."""

from dataclasses import dataclass

from evenhand.data.study_proposal import look, read_back, unread, written
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.splitting import split


@dataclass(frozen=True)
class Drafted:
    """The text of a study file, what was found for it in a few lines, and how much it would run."""

    text: str
    lines: tuple[str, ...]


def draft(data: str, target: str, heading: tuple[str, ...] = ()) -> Drafted:
    """A study file for a data file; its rows have been read, cleaned and split with it, so that it is known to run."""
    unknown = unread(data, target)
    seen = look(ingest.fn(unknown, True), unknown)
    text = written(seen, heading)
    study = read_back(text)
    plans = plan.fn(study)
    table = clean.fn(ingest.fn(study, True), study)
    ledger = split.fn(table, study)
    kind = {"regression": "numbers", "binary": "two classes"}.get(table.task, f"{len(table.classes)} classes")
    roles = [f"{role}: {', '.join(seen.of(role))}" for role in ("time", "key", "text", "ignore") if seen.of(role)]
    lines = (
        f"{table.n_rows:,} rows, {len(table.features)} columns to learn from, target {target} with {kind}",
        *roles,
        f"{ledger.n_training:,} training rows in {len(ledger.folds)} folds, {ledger.n_holdout:,} held out by "
        f"{study.split.holdout}; {len(plans)} candidates",
    )
    return Drafted(text, lines)
