"""Retrain and compare: from raw rows to a ranked comparison, a model and a record of both."""

from datetime import datetime
from itertools import product

from prefect import flow

from evenhand.records.pipeline import FINAL, Report
from evenhand.runtime.engines import side_by_side
from evenhand.study.study import Study
from evenhand.tasks.balancing import balance
from evenhand.tasks.checking import check
from evenhand.tasks.cleaning import clean
from evenhand.tasks.comparing import compare
from evenhand.tasks.deciding import decide
from evenhand.tasks.encoding import prepare
from evenhand.tasks.explaining import explain
from evenhand.tasks.fitting import fit
from evenhand.tasks.gating import gate
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.judging import judge
from evenhand.tasks.planning import plan
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.selection import select
from evenhand.tasks.splitting import split
from evenhand.tasks.tracing import trace
from evenhand.tasks.tuning import settle, tune


@flow(name="retrain", validate_parameters=False)
def retrain(
    study: Study,
    only: str | None = None,
    accepts_contract: bool = False,
    allows_leaks: bool = False,
    as_of: datetime | None = None,
) -> Report:
    """Fit every candidate of a study on every fold, judge them on rows they never saw, and keep the record.

    With `as_of`, rows later than that moment are not seen.
    """
    plans = plan(study, only)
    with opened(study) as run:
        snapshot = ingest(study, accepts_contract)
        table = clean(snapshot, study, as_of)
        ledger = split(table, study)
        checks = check(table, ledger, plans, study, allows_leaks)

        folds = [*ledger.folds, FINAL]
        encodings = dict.fromkeys(made.encoding for made in plans)
        balances = dict.fromkeys((made.encoding, made.balance) for made in plans)
        costly_first = sorted(plans, key=lambda made: -made.weight)

        prepared = side_by_side(prepare, {(e, f): (table, ledger, study, e, f) for e, f in product(encodings, folds)})
        balanced = side_by_side(
            balance,
            {(e, b, f): (prepared[e, f].training, table, study, b) for (e, b), f in product(balances, folds)},
        )
        traced = trace(prepared, balanced, ledger, study, allows_leaks)
        tuned = side_by_side(
            tune,
            {(p.name, f): (p, f, table, ledger, study) for p, f in product(costly_first, folds) if p.tuning},
        )
        settled = settle(plans, tuned, ledger.folds)
        scores = side_by_side(
            fit,
            {
                (p.name, f): (p, prepared[p.encoding, f], balanced[p.encoding, p.balance, f], table, study.seed)
                for p, f in ((settled[made.name, f], f) for made, f in product(costly_first, folds))
            },
        )

        judged = judge([settled[p.name, FINAL] for p in plans], scores, prepared, table, study)
        compared = compare(select(judged, table, study), table, study)
        judgement = decide(compared, scores, table, study)
        model = refit(judgement, prepared, balanced, table, study)
        explained = explain(model, judgement, table, ledger, study)
        found = (tuple(scores.values()), (*checks, traced), tuple(tuned.values()), explained)
        results = Results(study, snapshot, table, ledger, judgement, model, *found)
        return gate(run, record(run, results), table, ledger, study)
