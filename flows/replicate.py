"""Replicate: the studies behind the published figures, and the table of what was published and what is measured."""

import time
from collections.abc import Mapping

from evenhand.flows.side_by_side import side_by_side
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.replicating import compare_formula, compare_worked, open_up
from evenhand.tasks.replicating_record import opened_replication, report
from evenhand.tasks.splitting import split
from prefect import flow

from evenhand.replication.outcome import Outcome, Replication
from evenhand.settings import Study


@flow(name="replicate", validate_parameters=False)
def replicate(studies: Mapping[str, Study | None], with_beyond: bool = False) -> Replication:
    """Run each published study as its document describes it, and compare figure by figure."""
    with opened_replication() as run:
        outcomes = [_outcome(name, study) for name, study in studies.items()]
        return report(run, outcomes, with_beyond)


def _outcome(name: str, study: Study | None) -> Outcome:
    started = time.perf_counter()
    lines = compare_formula() if study is None else _worked(name, study)
    return Outcome(name, tuple(lines), study, seconds=time.perf_counter() - started)


def _worked(name: str, study: Study) -> list:
    table = clean(ingest(study), study)
    ledger = split(table, study)
    fitted = side_by_side(open_up, {made.name: (made, table, ledger, study) for made in plan(study)})
    return compare_worked(name, fitted)
