"""One candidate on a share of the first fold's training rows: a first look at its score and its cost."""

import time
from math import isfinite
from pathlib import Path
from typing import Any

from evenhand.data.splits import fold_rows
from evenhand.errors import EvenhandError
from evenhand.evaluation.intervals import error_of
from evenhand.evaluation.metrics import metrics_of, usual_metric
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.evaluation.parts.part_scores import predicted_by
from evenhand.models.catalogue import class_of
from evenhand.models.encoder_steps import step_key
from evenhand.models.halving.share import encoded_share, kept_rows
from evenhand.models.model_code import model_key
from evenhand.models.samplers import sampler_code
from evenhand.records.halving import Attempt
from evenhand.records.pipeline import Ledger, Plan, Table
from evenhand.runtime.steps import step
from evenhand.runtime.time_limit import OutOfTime, within
from evenhand.storage.artifact_store import Store
from evenhand.storage.code_digest import code_digest
from evenhand.study.registry import METRICS
from evenhand.study.study import Study

CODE = ("evenhand.tasks.halving.attempting:_built", "evenhand.study.study:Study.balance_kind")
MOST_JUDGED = 5_000
KEPT = ("n_rows", "error", "seconds", "fit_seconds", "cpu_seconds", "refused", "is_too_slow")


@step("attempt", anywhere=True)
def attempt(plan: Plan, share: float, longest: float, table: Table, ledger: Ledger, study: Study) -> Attempt:
    """The score of one candidate that learned from a share of the rows in at most so many seconds, and its cost."""
    metric = study.metric or usual_metric(len(table.classes), table.is_multilabel)
    fold = ledger.folds[-1]  # of folds by time the one with most rows to learn from
    inputs = {
        **model_key(plan),
        "parts": [step_key(study.encodings[plan.encoding]), code_digest(*METRICS.modules)],
        "share": [share, longest, fold],
        "rows": [table.digest, ledger.digest, table.features],
        "encoding": study.encodings[plan.encoding],
        "balance": [study.balance_kind(plan.balance), study.balance[plan.balance]],
        "metric": metric,
        "seed": study.seed,
        **study.cleaning.of_folds,
    }

    def build(_: Path) -> dict[str, Any]:
        return _built(plan, fold, (share, longest), metric, table, ledger, study)

    entry = Store().keep("attempts", inputs, [*CODE, *sampler_code(study.balance_kind(plan.balance))], build)
    facts = {key: entry.facts[key] for key in KEPT}
    score = float("nan") if entry.facts["score"] is None else entry.facts["score"]
    return Attempt(plan.name, share, score=score, reused=entry.reused, **facts)


def _built(
    plan: Plan, fold: str, limits: tuple[float, float], metric: str, table: Table, ledger: Ledger, study: Study
) -> dict[str, Any]:
    share, longest = limits
    rows = fold_rows(ledger, fold)
    judged = min(1.0, MOST_JUDGED / max(len(rows[1]), 1))
    found: dict[str, Any] = {"n_rows": int(share * len(rows[0])), "refused": "", "is_too_slow": False}
    found |= {"score": None, "error": 0.0, "fit_seconds": None, "cpu_seconds": None}
    began = time.perf_counter()
    try:
        found |= within(longest, lambda: _score(plan, rows, (share, judged), metric, table, study))
    except OutOfTime:
        found |= {"is_too_slow": True, "refused": f"it took more than {longest:.1f} s"}
    except EvenhandError as error:
        found["refused"] = " ".join(str(error).split())
    return {**found, "seconds": time.perf_counter() - began}


def _score(
    plan: Plan, rows: tuple[Any, Any], share: tuple[float, float], metric: str, table: Table, study: Study
) -> dict[str, Any]:
    """The metric on the judged rows and its standard error, or neither where it cannot be had, and the fit's time."""
    given = encoded_share(plan, *kept_rows(table), rows, share, table, study)
    class_of(plan.model)  # imported before the time is taken: the next fit need not
    began, worked, n_classes = time.perf_counter(), time.thread_time(), len(table.classes)
    predicted = predicted_by(plan, given, table, study.seed)
    took = {"fit_seconds": time.perf_counter() - began, "cpu_seconds": time.thread_time() - worked}
    minority = minority_of(predicted, n_classes)
    found = metrics_of(predicted, n_classes, minority).get(metric)
    if found is None or not isfinite(found):
        return took
    error = error_of(predicted, metric, n_classes, minority)
    return {"score": float(found), "error": error, **took}
