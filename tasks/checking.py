"""Leakage checks: what is an error stops the run unless leaks are allowed."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from evenhand.data.frames import TableColumns, kept_columns_of, read_dates, read_order, read_target
from evenhand.data.splits import content_hashes, fold_rows
from evenhand.errors import listed
from evenhand.evaluation.leakage.entry import CheckedRows
from evenhand.evaluation.leakage.gate import is_on, run_checks, stop_at_leaks, switched_off
from evenhand.evaluation.threshold_objectives import purpose_mistakes
from evenhand.models.checks.kernel_columns import check_kernels
from evenhand.models.ensembling import ensemble_mistakes
from evenhand.models.packing.estimates import (
    by_blocks,
    check_memory,
    counted_values,
    estimated_needs,
    memory_in_words,
)
from evenhand.models.samplers import fraction_mistakes
from evenhand.records.checks import Check
from evenhand.records.pipeline import FINAL, HOLDOUT, TRAINING, Ledger, Plan, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.progress import remark
from evenhand.runtime.steps import step
from evenhand.statistics.group_draws import shared_places
from evenhand.storage.artifact_store import local
from evenhand.study.loader import refuse
from evenhand.study.study import Study

COPIES = "copies across sides"


@step("check", anywhere=True)
def check(
    table: Table, ledger: Ledger, plans: list[Plan], study: Study, allows_leaks: bool = False
) -> tuple[Check, ...]:
    """What every leakage check found; an error stops the run unless leaks are allowed."""
    frame, y = kept_columns_of(table), read_target(table)
    refuse(study, fraction_mistakes(study, plans, table.features))
    _check_purpose(frame, table, study)
    refuse(study, list(ensemble_mistakes(study, plans, table.task)))
    check_kernels(study, table, [made.candidate for made in plans])
    _check_memory(plans, study, table, frame, y[fold_rows(ledger, FINAL)[0]])
    copies = straddling(table, ledger) if is_on(COPIES, study) else switched_off(COPIES)
    beside = read_order(table), read_dates(table)
    found = (copies, *run_checks(CheckedRows(frame, y, table, ledger, study, plans, *beside)))
    stop_at_leaks(found, allows_leaks)
    return found


def _check_memory(plans: list[Plan], study: Study, table: Table, frame: pd.DataFrame, y: np.ndarray) -> None:
    """Say what fits will take, and end a run of which none has enough memory before anything is fitted."""
    n_values = counted_values(plans, study, table, frame)
    needs = estimated_needs(plans, study, table, n_values, y)
    logger().info(memory_in_words(needs, study))
    if in_blocks := by_blocks(plans, study, table, n_values, len(y)):
        words = f"fitted by blocks of rows, as LIBLINEAR would copy {len(y):,} of them: {listed(in_blocks, 4)}"
        logger().info(words)
        remark("check", words)
    if too_large := check_memory(needs):
        words = (
            f"more memory than is free is estimated for {listed(too_large, 4)}: each is refused unless some is freed"
        )
        logger().warning(words)
        remark("check", words)


def _check_purpose(frame: pd.DataFrame, table: Table, study: Study) -> None:
    """Refuse, before anything is fitted, a decision that does not fit the classes and times found."""
    if study.decide is not None:
        times = None if study.columns.time is None else frame[study.columns.time].to_numpy()
        refuse(study, purpose_mistakes(study.decide, table.classes, table.n_rows, times))


def straddling(table: Table, ledger: Ledger) -> Check:
    """Whether a row has an exact or near copy on the other side of the holdout or of a fold."""
    name = "copies across sides"
    features = TableColumns(table, [feature.name for feature in table.features])
    columns = pq.read_table(local(ledger.stored), columns=["side", "link"])
    side = columns["side"].to_numpy()
    n_exact = _across(content_hashes(features), side, ledger)
    n_near = _across(columns["link"].to_numpy(), side, ledger)
    if n_exact + n_near == 0:
        return Check(name, "ok", "no judged row has an exact or near copy among the rows that were trained on")
    words = f"{n_exact} judged rows have an exact copy and {n_near} a near one among the rows trained on"
    return Check(
        name, "error", words, "copies belong on one side, and split puts them there: look for what changed that"
    )


def _across(content: np.ndarray, side: np.ndarray, ledger: Ledger) -> int:
    """How many judged rows have content that a row trained on has too; rows of which there is one need no look."""
    shared = shared_places(content)
    if not shared.size:
        return 0
    found = int(np.isin(content[side == HOLDOUT], content[shared[side[shared] == TRAINING]]).sum())
    for fold in ledger.folds:
        trained, judged = (np.intersect1d(rows, shared, assume_unique=True) for rows in fold_rows(ledger, fold))
        found += int(np.isin(content[judged], content[trained]).sum())
    return found
