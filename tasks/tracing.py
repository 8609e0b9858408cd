"""Where balanced rows come from: every parent of every row must be a training row of its fold."""

from collections.abc import Iterator, Mapping

import numpy as np

from evenhand.data.splits import fold_rows
from evenhand.evaluation.leakage.gate import is_on, stop_at_leaks, switched_off
from evenhand.models.sampler_lineage import NOBODY
from evenhand.records.checks import Check
from evenhand.records.pipeline import Balanced, Ledger, Prepared
from evenhand.runtime.steps import step
from evenhand.runtime.text import counted
from evenhand.storage.artifact_store import local
from evenhand.storage.matrices import read_matrix_rows, read_parents
from evenhand.study.study import Study

NAME = "parents of training rows"


@step("trace")
def trace(
    prepared: Mapping[tuple[str, str], Prepared],
    balanced: Mapping[tuple[str, str, str], Balanced],
    ledger: Ledger,
    study: Study,
    allows_leaks: bool = False,
) -> Check:
    """Whether every row that is fitted on was drawn or made from the fold's training rows, by the ledger."""
    if not is_on(NAME, study):
        return switched_off(NAME)
    folds = dict.fromkeys(fold for _, fold in prepared)
    trained = {fold: fold_rows(ledger, fold)[0] for fold in folds}
    wrong = [*_strangers(prepared, trained), *_outside(balanced, trained)]
    unknown = sorted(
        {
            balance
            for (_, balance, _), each in balanced.items()
            if each.n_made is not None and each.n_unexplained is None
        }
    )
    found = _check(wrong, unknown, balanced, sum(map(len, trained.values())))
    stop_at_leaks([found], allows_leaks)
    return found


def _strangers(prepared: Mapping[tuple[str, str], Prepared], trained: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Encoded training rows that the ledger does not count among the training rows of their fold."""
    for (encoding, fold), each in prepared.items():
        rows = read_matrix_rows(local(each.training.stored))
        strange = rows[~np.isin(rows, trained[fold])]
        if len(strange):
            are = counted(len(strange), "encoded row")
            yield f"encoding '{encoding}' on {fold}: {are} outside the fold's training rows, such as row {strange[0]}"


def _outside(balanced: Mapping[tuple[str, str, str], Balanced], trained: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Balanced rows with a parent outside the fold's training rows, or with parents that cannot be theirs."""
    for (encoding, balance, fold), each in balanced.items():
        if each.n_made is None or each.n_unexplained is None:
            continue
        parents = read_parents(local(each.training.stored))
        inside = np.append(trained[fold], NOBODY)
        strange = parents[~np.isin(parents, inside).all(axis=1)]
        where = f"balance '{balance}' with encoding '{encoding}' on {fold}"
        if len(strange):
            which = strange[0][~np.isin(strange[0], inside)][0]
            n_rows = counted(len(strange), "row")
            yield f"{where}: {n_rows} with a parent outside the fold's training rows, such as row {which}"
        if each.n_unexplained:
            n_rows = counted(each.n_unexplained, "row")
            yield f"{where}: {n_rows} that the training rows named as parents cannot have made"


def _check(wrong: list[str], unknown: list[str], balanced: Mapping[tuple[str, str, str], Balanced], n: int) -> Check:
    if wrong:
        rest = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return Check(NAME, "error", "; ".join(wrong[:3]) + rest, "repair or leave out that encoding or balance")
    if unknown:
        words = f"not verified for {', '.join(unknown)}: the sampler does not name parents"
        return Check(NAME, "warning", words, "use a sampler whose entry names a lineage, or trust this one")
    traced = [each for each in balanced.values() if each.n_made is not None]
    if not traced:
        return Check(NAME, "ok", f"all {n:,} training rows of the folds are training rows by the ledger")
    n_made, n_rows = sum(each.n_made or 0 for each in traced), sum(each.training.n_rows for each in traced)
    made = f"{n_made:,} made and {n_rows - n_made:,} drawn or kept rows of {counted(len(traced), 'balanced training')}"
    return Check(NAME, "ok", f"every parent of {made} is a training row of its fold{_whole(traced)}")


def _whole(traced: list[Balanced]) -> str:
    """Words on the columns that have two values in made rows too, the first of many."""
    names = list(dict.fromkeys(name for each in traced for name in each.whole))
    if not names:
        return ""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"; a made row has one of the two values of {', '.join(map(repr, names[:3]))}{rest}, not a fraction"
