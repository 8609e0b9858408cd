"""Replicate: the studies behind the published figures, and the table of what was published and what is measured."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from prefect import flow

from evenhand.records.pipeline import Judgement, Ledger, Prepared, Snapshot, Table
from evenhand.replication.lines import Line
from evenhand.replication.modern import MEASURES
from evenhand.replication.outcome import Replication, StudyOutcome
from evenhand.runtime.engines.side_by_side import side_by_side
from evenhand.study.study import Study
from evenhand.tasks.balancing import balance
from evenhand.tasks.cleaning import clean
from evenhand.tasks.encoding import prepare
from evenhand.tasks.fitting import fit
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.judging import judge
from evenhand.tasks.planning import plan
from evenhand.tasks.replication.beyond import keep_drawn, report_beyond
from evenhand.tasks.replication.draws import Protocol, hastened, repeat_splits
from evenhand.tasks.replication.measure import compare_formula, compare_worked, draw_fitting, open_up
from evenhand.tasks.replication.record import opened_replication, report
from evenhand.tasks.replication.repeats import compare_repeats
from evenhand.tasks.replication.upselling import compare_upselling, count_over_test_rows, library, rank_columns
from evenhand.tasks.selection import select
from evenhand.tasks.splitting import split

N_REPEATS = {"sine": 200, "credit_card_fraud": 200, "california_housing": 200}
AT_ONCE = {"sine": 50, "credit_card_fraud": 50, "california_housing": 5}
PROTOCOLS = {
    "sine": {"training": Protocol("training", makes_rows=True)},
    "credit_card_fraud": {"all": Protocol("all", 492), "training": Protocol("training", 492)},
    "california_housing": {"all": Protocol("all")},
}
ENSEMBLES = {"ensemble_auc": "roc_auc", "ensemble_precision": "average_precision"}
FEW = 7  # models of an ensemble in one fold, as published


@flow(name="replicate", validate_parameters=False)
def replicate(studies: Mapping[str, Study | None], beyond: Mapping[str, Study] | None = None) -> Replication:
    """Run each published study as its document describes it, compare figure by figure, and go beyond where asked."""
    with opened_replication() as run, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'Threading' parallel backend")  # scikit-learn-intelex, called in a thread
        outcomes = [_timed(name, study, (beyond or {}).get(name)) for name, study in studies.items()]
        return report(run, outcomes, bool(beyond))


def _timed(name: str, study: Study | None, modern: Study | None) -> StudyOutcome:
    started = time.perf_counter()
    outcome = _outcome(name, study)
    lines = outcome.lines if study is None or modern is None else _beyond(name, outcome.lines, study, modern)
    return replace(outcome, lines=lines, study=study, seconds=time.perf_counter() - started)


def _outcome(name: str, study: Study | None) -> StudyOutcome:
    if study is None:
        return StudyOutcome(name, tuple(compare_formula()))
    table = clean(_rows(study), study)
    if name in PROTOCOLS:
        return _repeated(name, study, table)
    ledger = split(table, study)
    if study.ensemble is not None:
        return _tables(name, study, table, ledger)
    fitted = side_by_side(open_up, {made.name: (made, table, ledger, study) for made in plan(study)})
    pictures = draw_fitting(fitted) if name == "iris_two_features" else ()
    return StudyOutcome(name, tuple(compare_worked(name, fitted)), pictures=pictures)


def _repeated(name: str, study: Study, table: Table) -> StudyOutcome:
    """A figure of one unknown split: many splits by the same protocol."""
    plans = hastened(plan(study)) if name == "california_housing" else plan(study)
    size = AT_ONCE[name]
    parts = [range(first, first + size) for first in range(0, N_REPEATS[name], size)]
    calls = product(PROTOCOLS[name].items(), parts)
    done = side_by_side(
        repeat_splits, {(way, part[0]): (plans, table, study, protocol, part) for (way, protocol), part in calls}
    )
    lines, pictures = compare_repeats(name, done, table)
    return StudyOutcome(name, tuple(lines), pictures=tuple(pictures))


def _tables(name: str, study: Study, table: Table, ledger: Ledger) -> StudyOutcome:
    """The paper's tables: every setting on every fold, two ensembles, the columns chosen."""
    judgement, prepared = _judged(study, table, ledger)
    machines = library(judgement)
    ensembles = {key: select(machines, table, _steered(study, metric)) for key, metric in ENSEMBLES.items()}
    of_few = {
        key: select(machines, table, _steered(study, metric, bags=1, max_size=FEW)) for key, metric in ENSEMBLES.items()
    }
    values = [prepared["values", fold] for fold in ledger.folds]
    C = next(each.plan.params["C"] for each in judgement.figures if each.plan.candidate == "lin")
    semi = side_by_side(count_over_test_rows, {one.fold: (one, C) for one in values})
    rankings = rank_columns(table, study, "values")
    lines = compare_upselling(judgement, ensembles, values, rankings, list(semi.values()), of_few)
    return StudyOutcome(name, tuple(lines))


def _rows(study: Study) -> Snapshot:
    """The rows of a study, whatever form earlier ones had: it may be run on other files of the same data."""
    return ingest(study, accepts_contract=True)


def _beyond(name: str, lines: Sequence[Line], study: Study, modern: Study) -> tuple[Line, ...]:
    """The pipeline of today on the same rows, with an ensemble chosen on other folds than it is judged on."""
    if n_per_class := next((one.n_per_class for one in PROTOCOLS.get(name, {}).values()), None):
        modern = keep_drawn(modern, clean(_rows(study), study), n_per_class)
    table = clean(_rows(modern), modern)
    judgement, _ = _judged(modern, table, split(table, modern))
    steered = {metric: select(judgement, table, _steered(modern, metric)) for metric in MEASURES[name]}
    return report_beyond(lines, name, steered, table, modern.split.folds)


def _judged(study: Study, table: Table, ledger: Ledger) -> tuple[Judgement, dict[tuple[str, str], Prepared]]:
    """Every candidate of a study on every fold, judged; nothing is held out and nothing refitted."""
    plans, folds = hastened(plan(study)), ledger.folds
    encodings = dict.fromkeys(made.encoding for made in plans)
    balances = dict.fromkeys((made.encoding, made.balance) for made in plans)
    prepared = side_by_side(prepare, {(e, f): (table, ledger, study, e, f) for e, f in product(encodings, folds)})
    balanced = side_by_side(
        balance, {(e, b, f): (prepared[e, f].training, table, study, b) for (e, b), f in product(balances, folds)}
    )
    scores = side_by_side(
        fit,
        {
            (p.name, f): (p, prepared[p.encoding, f], balanced[p.encoding, p.balance, f], table, study.seed)
            for p, f in product(sorted(plans, key=lambda made: -made.weight), folds)
        },
    )
    return judge(plans, scores, prepared, table, study), prepared


def _steered(study: Study, metric: str, **more: int) -> Study:
    """The study with its ensemble chosen by another metric."""
    assert study.ensemble is not None
    return study.model_copy(update={"ensemble": study.ensemble.model_copy(update={"metric": metric, **more})})
