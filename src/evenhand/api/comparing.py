"""What the command line asks of several runs."""

from typing import Any

from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.splitting import split
from evenhand.tracking.history import read_history
from evenhand.tracking.rescore import newest, rescore
from evenhand.tracking.run_comparison import check_metric, contrast, recorded_runs

__all__ = ["contrasted", "history_of"]


def contrasted(words: tuple[str, ...], metric: str | None = None, *, rescores: bool = False) -> Any:
    """Runs of one study side by side, or the candidates of several studies ranked.

    With `rescores` the models of all runs are asked about rows that none was trained on, of whichever studies they are.
    """
    check_metric(metric)
    found = recorded_runs(words)
    if not rescores:
        return contrast(found, metric)
    _, study = newest(found)
    table = clean.fn(ingest.fn(study), study)
    return rescore(found, table, split.fn(table, study), metric)


def history_of(study: str, metric: str | None = None) -> Any:
    """The finished runs of a study, the oldest first."""
    return read_history(study, metric)
