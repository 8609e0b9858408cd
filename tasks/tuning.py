"""Parameters chosen inside: for each fold from its training rows alone; the judged score never saw the choice."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.data.frames import read_rows, read_target
from evenhand.errors import DataError, EvenhandError
from evenhand.evaluation.metrics import PredictionSet, metrics_of, usual_metric
from evenhand.evaluation.paired_comparison import minority_of
from evenhand.models.encoder_steps import step_key
from evenhand.models.fitting import check_finite, decisions_of, failing_alone, fitted_model, scores_of
from evenhand.models.halving.share import encoded_share
from evenhand.models.inner_folds import inner_folds
from evenhand.models.model_code import model_key
from evenhand.models.samplers import sampler_code
from evenhand.models.search_space import points
from evenhand.models.successive_halving import Search, shares_of
from evenhand.records.pipeline import FINAL, Ledger, Plan, Table
from evenhand.records.tuning import Tuned, trials_as_facts, trials_from
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.runtime.time_limit import OutOfTime, within
from evenhand.statistics.label_sets import label_columns
from evenhand.storage.artifact_store import Store
from evenhand.storage.code_digest import code_digest
from evenhand.study.registry import LOWER_IS_BETTER, METRICS
from evenhand.study.study import Study

CODE = (
    "evenhand.tasks.tuning:_searched",
    "evenhand.tasks.tuning:_Inside",
    "evenhand.study.study:Study.balance_kind",
)
FEWEST_IN_PILOTS, MOST_PILOTS = 60, 8
LITTLE_USED = 0.9


@step("tune", anywhere=True)
def tune(plan: Plan, fold: str, table: Table, ledger: Ledger, study: Study) -> Tuned:
    """The parameters of one candidate for one fold, found on inner folds of that fold's training rows."""
    assert plan.tuning is not None
    budget = None if plan.tuning.seconds is None else plan.tuning.seconds / (len(ledger.folds) + 1)
    metric = study.metric or usual_metric(len(table.classes), table.is_multilabel)
    inputs = {
        **model_key(plan),
        "parts": _parts_code(plan, study),
        "tuning": plan.tuning,
        "budget": budget,
        "rows": [table.digest, ledger.digest, fold, table.features, study.columns.time, study.columns.group],
        "groups": "group" in {study.split.folds_by or study.split.holdout},
        "encoding": study.encodings[plan.encoding],
        "balance": [study.balance_kind(plan.balance), study.balance[plan.balance]],
        "metric": metric,
        "seed": study.seed,
        **study.cleaning.of_folds,
    }

    sampled = sampler_code(study.balance_kind(plan.balance))

    def build(_: Path) -> dict[str, Any]:
        began = time.perf_counter()
        return _searched(_Inside(plan, fold, table, ledger, study, metric), budget, began)

    entry = Store().keep("tuned", inputs, [*CODE, *sampled], build)
    facts = entry.facts
    found = Tuned(
        plan=plan.name, fold=fold, params=facts["params"], metric=metric, trials=trials_from(facts["trials"]),
        seconds=facts["seconds"], budget=budget, reused=entry.reused, ended=facts["ended"],
    )  # fmt: skip
    logger().info("%s for %s on %s; chosen %s", _words(found), plan.name, fold, found.params)
    return found


def _parts_code(plan: Plan, study: Study) -> list[Any]:
    """What a search depends on beside its model: the steps of the encoding and the formulas of metrics."""
    return [step_key(study.encodings[plan.encoding]), code_digest(*METRICS.modules)]


def _words(found: Tuned) -> str:
    """How many trials in how many seconds, and why no more where less was used than was given."""
    used = f"{len(found.trials)} trials in {found.seconds:.1f} s"
    if found.budget is None:
        return used
    why = f": {found.ended}" if found.seconds < LITTLE_USED * found.budget else ""
    return f"{used} of {found.budget:.1f} s{why}"


def settle(plans: Iterable[Plan], tuned: Mapping[tuple[str, str], Tuned], folds: Sequence[str]) -> dict[Any, Plan]:
    """The plan of each candidate on each fold, with what was chosen there; all are alike where nothing was tuned."""
    return {
        (made.name, fold): replace(made, params={**made.params, **tuned[made.name, fold].params})
        if (made.name, fold) in tuned
        else made
        for made in plans
        for fold in (*folds, FINAL)
    }


def _searched(inside: "_Inside", budget: float | None, began: float) -> dict[str, Any]:
    tuning, study = inside.plan.tuning, inside.study
    assert tuning is not None
    n_rows = min(len(trained) for trained, _ in inside.parts)
    shares, ladder = shares_of(n_rows), shares_of(n_rows, FEWEST_IN_PILOTS, MOST_PILOTS)
    search = Search(
        points=points(tuning.over, study.seed),
        shares=shares,
        pilots=ladder[: -len(shares)],
        evaluate=inside.evaluate,
        sign=-1.0 if inside.metric in LOWER_IS_BETTER else 1.0,
        clock=time.perf_counter,
    )
    if tuning.trials is not None:
        search.by_trials(tuning.trials)
    else:
        assert budget is not None
        search.by_seconds(budget, began)
    best = search.best()
    if best is None:
        raise DataError(_nothing_found(inside, search))
    return {
        "params": best.params,
        "trials": trials_as_facts(search.tried),
        "seconds": time.perf_counter() - began,
        "ended": search.ended,
    }


def _nothing_found(inside: "_Inside", search: Search) -> str:
    place = f"candidates.{inside.plan.candidate}.tune"
    if refused := [trial.refused for trial in search.tried if trial.refused]:
        return f"{place}: none of {len(search.tried)} trials on {inside.fold} can be fitted; the first: {refused[0]}"
    return (
        f"{place}: {inside.plan.model} has no {inside.metric} on the inner folds of {inside.fold}: "
        "set another metric, or get more rows of the rare class"
    )


class _Inside:
    """The inner folds of one fold, encoded and balanced once for each share of their rows."""

    def __init__(self, plan: Plan, fold: str, table: Table, ledger: Ledger, study: Study, metric: str) -> None:
        assert plan.tuning is not None
        self.plan, self.fold, self.table, self.study, self.metric = plan, fold, table, study, metric
        self.parts = inner_folds(table, ledger, study, fold, plan.tuning.folds)
        self.frame, self.y = read_rows(table, [feature.name for feature in table.features]), read_target(table)
        self.encoded = cache(self._encoded)

    def evaluate(self, params: dict[str, Any], share: float, stop_at: float) -> list[float] | str | None:
        """The metric on each inner fold; why it cannot be had, or None where time is up."""
        plan, found, longest = replace(self.plan, params={**self.plan.params, **params}), [], 0.0
        for place in range(len(self.parts)):
            began = time.perf_counter()
            if began + longest > stop_at:
                return None
            training, held = self.encoded(place, share)
            try:
                found.append(self._score(plan, training, held))
            except (EvenhandError, OutOfTime) as error:
                return " ".join(str(error).split())
            longest = max(longest, time.perf_counter() - began)
        return found

    def _score(self, plan: Plan, training: tuple[Any, ...], held: tuple[Any, ...]) -> float:
        (X, y, balanced), (others, truth) = training, held
        n_classes, seed = len(self.table.classes), self.study.seed
        estimator = within(
            self.study.time_limit, lambda: fitted_model(plan, balanced, X, y, n_classes, seed, unlabelled=others)
        )
        with failing_alone(plan):
            scale, scores, predictions = scores_of(estimator, others)
            check_finite(plan, scores, predictions)
        truth = label_columns(truth, n_classes) if plan.n_labels else truth
        predicted = PredictionSet(truth, predictions, scores, scale == "probability", decisions_of(estimator, others))
        minority = minority_of(predicted, n_classes)
        return metrics_of(predicted, n_classes, minority).get(self.metric, float("nan"))

    def _encoded(self, place: int, share: float) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Matrices of an inner fold, all of them learned on its own training rows."""
        rows, shares = self.parts[place], (share, share)
        return encoded_share(self.plan, self.frame, self.y, rows, shares, self.table, self.study)
