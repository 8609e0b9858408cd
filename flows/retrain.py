"""Retrain and compare: from raw rows to a ranked comparison, a model and a record of both."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import product

from prefect import flow

from evenhand.models.failures import Failures, of_plans
from evenhand.models.halving.share import forget_rows
from evenhand.models.halving.under_way import UnderWay, kept_for_the_end, under_way
from evenhand.records.pipeline import FINAL, Judgement, Ledger, Plan, Prepared, Scores, Table
from evenhand.records.report import Report
from evenhand.runtime.engines.side_by_side import side_by_side
from evenhand.runtime.progress import report_judged
from evenhand.runtime.wall_clock import elapsed, end_of
from evenhand.service.flow_run_names import run_name
from evenhand.study.study import Study
from evenhand.tasks.balancing import balance
from evenhand.tasks.checking import check
from evenhand.tasks.cleaning import clean
from evenhand.tasks.comparing import compare
from evenhand.tasks.deciding import decide
from evenhand.tasks.encoding import prepare
from evenhand.tasks.explaining.served_model import explain
from evenhand.tasks.fitting import fit
from evenhand.tasks.gating import gate
from evenhand.tasks.halving.attempting import attempt
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.judging import judge
from evenhand.tasks.operation.publishing import publish
from evenhand.tasks.planning import balances_of, costly_first, encodings_of, plan
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.selection import select
from evenhand.tasks.splitting import split
from evenhand.tasks.tracing import trace
from evenhand.tasks.tuning import settle, tune


@flow(name="retrain", flow_run_name=run_name, validate_parameters=False)
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
        end_of_fits = end_of(study.minutes, kept_for_the_end(study.minutes or 0.0, elapsed()))
        checks = check(table, ledger, plans, study, allows_leaks)
        running = halve(plans, table, ledger, study)
        ends = partial(running.ends_for, end_of_fits=end_of_fits)
        folds, failures = [*ledger.folds, FINAL], Failures(running.left, study.strict, running.stopped)
        each = partial(side_by_side, spares=failures.spares)
        encoded = product(encodings_of(running.left), folds)
        prepared = each(prepare, {(e, f): (table, ledger, study, e, f) for e, f in encoded})
        balanced = each(
            balance,
            {
                (e, b, f): (prepared[e, f].training, table, study, b)
                for (e, b), f in product(balances_of(failures.left), folds)
            },
        )
        traced = trace(prepared, balanced, ledger, study, allows_leaks)
        in_order = costly_first(failures.left)
        tuned = each(tune, {(p.name, f): (p, f, table, ledger, study) for p, f in product(in_order, folds) if p.tuning})
        in_order = running.in_order(costly_first(failures.left))
        settled, limits = settle(failures.left, tuned, ledger.folds), (study.seed, study.time_limit)
        scores = each(
            fit,
            {
                (p.name, f): (p, prepared[p.encoding, f], balanced[p.encoding, p.balance, f], table, *limits, *ends(p))
                for p, f in ((settled[made.name, f], f) for made, f in product(in_order, folds))
            },
        )

        fitted = [settled[made.name, FINAL] for made in failures.left]
        scores, tuned = of_plans(fitted, scores), of_plans(fitted, tuned)
        judgement = judged(fitted, scores, prepared, table, study, failures)
        model = refit(judgement, prepared, balanced, table, study)
        explained = explain(model, judgement, table, ledger, study, settled)
        found = (model, tuple(scores.values()), (*checks, traced), tuple(tuned.values()), explained)
        results = Results(study, snapshot, table, ledger, judgement, *found)
        return publish(gate(run, record(run, results), table, ledger, study))


def judged(
    fitted: Sequence[Plan], scores: Mapping[tuple[str, str], Scores], prepared: Mapping[tuple[str, str], Prepared],
    table: Table, study: Study, failures: Failures,
) -> Judgement:  # fmt: skip
    """The candidates ranked and compared, with the decision of what is served; shown as soon as it is known."""
    figures = judge(fitted, scores, prepared, table, study, failures.found)
    compared = compare(select(figures, table, study), table, study)
    judgement = decide(compared, scores, table, study)
    report_judged(study.name, judgement)
    return judgement


def halve(plans: Sequence[Plan], table: Table, ledger: Ledger, study: Study) -> UnderWay:
    """The candidates that are left after each round on a larger share of the rows; all of them without minutes."""
    running = under_way(plans, ledger, study)
    while running.shares:
        share, longest = running.shares[0], running.longest
        shared = {made.name: (made, share, longest, table, ledger, study) for made in running.left}
        running = running.after(side_by_side(attempt, shared).values())
    forget_rows()
    return running
