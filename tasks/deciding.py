"""From scores to probabilities, to the threshold that serves a purpose, and whether resampling was worth it."""

from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.data.frames import read_rows
from evenhand.evaluation.calibrated_scores import (
    Calibrator,
    calibrator_of,
    first_of_each,
    fitted_to,
    fold_places,
    losses_by_fold,
    reliability,
    row_codes,
)
from evenhand.evaluation.calibration import decide_by_cost
from evenhand.evaluation.prediction_profile import ScoresAt, winner_profiles
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.evaluation.resampling_effect import LOSSES, RANKINGS, Arm, counterparts, decision_figures, trials_of
from evenhand.evaluation.threshold_objectives import (
    Purpose,
    capacity_share,
    cross_thresholds,
    outcome_of,
    purpose_of,
    threshold_for,
    usual_purpose,
)
from evenhand.records.decision import Calibrated, Decided, DecisionOutcome, Gain, Pairing, ResamplingTrial, as_plain
from evenhand.records.pipeline import ENSEMBLE, Figures, Judgement, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Store
from evenhand.study.registry import METRICS
from evenhand.study.study import Study

CODE = (
    "evenhand.tasks.deciding:_build",
    "evenhand.records.pipeline:Judgement.winner",
    "evenhand.records.pipeline:Judgement.best",
    "evenhand.records.pipeline:Judgement.best_served",
    "evenhand.study.study:Study.balance_kind",
)


@step("decide")
def decide(judgement: Judgement, scores: ScoresAt, table: Table, study: Study) -> Judgement:
    """The judgement with calibrated figures, the winner's threshold and probabilities, and the trial of resampling."""
    if table.task == "regression":
        return judgement
    share = _capacity(table, study)
    inputs = {
        "predictions": judgement.digest,
        "scores": [[name, fold, each.digest] for (name, fold), each in scores.items()],
        "classes": table.classes,
        "ensemble": [judgement.ensemble, study.ensemble, study.seed],
        "winner": judgement.winner.plan.name,
        "plans": [[each.plan, each.scale, each.folds] for each in judgement.figures],
        "balance": {name: study.balance_kind(name) for name in study.balance},
        "decide": study.decide,
        "share": share,
        "calibrate": study.calibrate,
        "alpha": study.alpha,
        "repeats": study.split.repeats,
        "drifts": "time" in {study.split.folds_by or study.split.holdout},
    }
    entry = Store().keep(
        "decided", inputs, [*CODE, *METRICS.modules], lambda _: _build(judgement, scores, table, study, share)
    )
    decided = _with_facts(judgement, entry.facts)
    if decided.decided is not None:
        (logger().info if decided.decided.is_reached else logger().warning)("%s", decided.decided.words)
    n_helped = sum(trial.helped is True for trial in decided.trials)
    logger().info("resampling helped %d of %d candidates", n_helped, len(decided.trials))
    return decided


def _capacity(table: Table, study: Study) -> float | None:
    if study.decide is None or study.decide.capacity is None:
        return None
    capacity, time = study.decide.capacity, study.columns.time
    times = read_rows(table, [time])[time].to_numpy() if capacity.per == "day" and time is not None else None
    return capacity_share(capacity, table.n_rows, times)


def _build(judgement: Judgement, scores: ScoresAt, table: Table, study: Study, share: float | None) -> dict[str, Any]:
    predictions, n_classes = Predictions(judgement.predictions, table), len(table.classes)
    purpose = None if study.decide is None else purpose_of(study.decide, table.classes, share)
    measured_by, winner = purpose or usual_purpose(n_classes), judgement.winner.plan.name
    pairs = counterparts([each.plan for each in judgement.figures], study)
    on_trial = {plan.name for made, rivals in pairs.values() for plan in (made, *rivals.values())}
    codes = places = np.empty(0)
    facts: dict[str, Any] = {"figures": {}, "decided": None, "calibrated": None}
    arms: dict[str, Arm] = {}
    for each in judgement.figures:
        candidate = predictions.of(each.plan.name, each.scale)
        part = candidate.out_of_fold
        if not len(codes):
            codes, places = row_codes(part), fold_places(part)
        calibrator = calibrator_of(
            part, codes, study.calibrate, is_rebalanced=_is_rebalanced(each.plan.name, judgement, study)
        )
        losses = {} if calibrator is None else losses_by_fold(part.truth, calibrator.cross_fitted, places)
        facts["figures"][each.plan.name] = {name: float(values.mean()) for name, values in losses.items()}
        if each.plan.name in on_trial:
            arms[each.plan.name] = _arm(each, part, losses, measured_by, codes, places, n_classes)
        if each.plan.name == winner:
            calibrator = _served(judgement, calibrator, scores, table, study)
            facts["calibrated"] = _calibrated(candidate, calibrator)
            facts["decided"] = None if purpose is None else _decided(purpose, candidate, calibrator, codes, table)
    return as_plain({**facts, "trials": trials_of(pairs, arms, measured_by, study)})


def _is_rebalanced(name: str, judgement: Judgement, study: Study) -> bool:
    """Whether the odds of a candidate, or of a member of the ensemble, are of other shares than the rows have."""
    if name == ENSEMBLE and judgement.ensemble is not None:
        return any(_is_rebalanced(member, judgement, study) for member in judgement.ensemble.weights)
    balance = next(each.plan.balance for each in judgement.figures if each.plan.name == name)
    return study.balance_kind(balance) != "none"


def _served(
    judgement: Judgement, calibrator: Calibrator | None, scores: ScoresAt, table: Table, study: Study
) -> Calibrator | None:
    """The calibrator brought to the model that is served, where it or what it is made of was resampled or weighted."""
    if calibrator is None or not _is_rebalanced(judgement.winner.plan.name, judgement, study):
        return calibrator
    final, folds = winner_profiles(judgement, scores, table, study)
    drifts = "time" in {study.split.folds_by or study.split.holdout}
    return calibrator if final is None else fitted_to(final, folds, calibrator, drifts=drifts)


def _arm(
    each: Figures,
    part: CandidatePredictions,
    losses: dict[str, np.ndarray],
    purpose: Purpose,
    codes: np.ndarray,
    places: np.ndarray,
    n_classes: int,
) -> Arm:
    loss = LOSSES.get(n_classes, "log_loss")
    metrics: dict[str, Any] = {name: np.array(each.folds[name]) for name in RANKINGS if name in each.folds}
    metrics |= {loss: losses[loss]} if loss in losses else {}
    return Arm(metrics, *decision_figures(purpose, part, codes, places, n_classes))


def _calibrated(candidate: CandidatePredictions, calibrator: Calibrator | None) -> Calibrated | None:
    part, held = candidate.out_of_fold, candidate.holdout
    if calibrator is None or held.scores is None:
        return None
    first = first_of_each(part.row)
    return Calibrated(
        kind=calibrator.kind,
        log_losses=calibrator.log_losses,
        maps=tuple(each.as_facts() for each in calibrator.maps),
        out_of_fold=reliability(part.truth[first], calibrator.cross_fitted[first]),
        holdout=reliability(held.truth, calibrator(held.scores)) if len(held) else {},
    )


def _decided(
    purpose: Purpose, candidate: CandidatePredictions, calibrator: Calibrator | None, codes: np.ndarray, table: Table
) -> Decided:
    n_classes, part, held, why = len(table.classes), candidate.out_of_fold, candidate.holdout, ""
    try:
        threshold, labels, predicted = _threshold_and_labels(purpose, candidate, calibrator, codes, n_classes)
    except Unreached as error:
        threshold, labels, predicted, why = None, part.predicted, held.predicted, str(error)
    outcomes = [
        outcome_of(purpose, held.truth, each, n_classes) if len(held) else None for each in (predicted, held.predicted)
    ]
    n_rows = len(np.unique(part.row))
    return Decided(
        purpose=purpose.kind,
        figure=purpose.figure,
        threshold=threshold,
        words=_unreached(purpose, why) if why else _words(purpose, threshold, candidate.name, n_rows, outcomes),
        out_of_fold=outcome_of(purpose, part.truth, labels, n_classes),
        holdout=outcomes[0],
        own=outcomes[1],
        cost=None if purpose.cost is None or why else tuple(map(tuple, purpose.cost.tolist())),
        is_reached=not why,
    )


class Unreached(Exception):
    """Why no decision serves the purpose."""


def _threshold_and_labels(
    purpose: Purpose, candidate: CandidatePredictions, calibrator: Calibrator | None, codes: np.ndarray, n_classes: int
) -> tuple[float | None, np.ndarray, np.ndarray]:
    """The threshold, where there is one, and the labels it gives out-of-fold rows, cross-fitted, and held ones."""
    part, held = candidate.out_of_fold, candidate.holdout
    if part.scores is not None and held.scores is not None:
        if n_classes == 2:
            threshold = _threshold(purpose, part.name, part.truth, part.scores)
            limits = cross_thresholds(purpose, part.truth, part.scores, codes)
            return threshold, part.scores >= limits, held.scores >= threshold
        if calibrator is not None and purpose.cost is not None:
            labels = decide_by_cost(calibrator.cross_fitted, purpose.cost)
            return None, labels, decide_by_cost(calibrator(held.scores), purpose.cost)
    raise Unreached(
        f"it needs scores that can be weighed, but '{candidate.name}' gives "
        f"{'none' if part.scores is None else 'decision values'}; take it out of the candidates, or set calibrate: auto"
    )


def _threshold(purpose: Purpose, name: str, truth: np.ndarray, scores: np.ndarray) -> float:
    try:
        return threshold_for(purpose, truth, scores).threshold
    except ValueError as error:
        raise Unreached(f"no threshold of '{name}' serves it out of fold: {str(error).rstrip('.')}") from error


def _unreached(purpose: Purpose, why: str) -> str:
    """What becomes of a run whose purpose is out of reach: all but the decision is as good as ever."""
    return f"{purpose.words[:1].upper()}{purpose.words[1:]} is not reached: {why}. The model keeps its own decision."


def _words(
    purpose: Purpose, threshold: float | None, name: str, n_rows: int, outcomes: list[DecisionOutcome | None]
) -> str:
    how = "The class of least expected cost" if threshold is None else f"Threshold {threshold:.4g} for {purpose.words}"
    words = f"{how}, tuned on {n_rows:,} out-of-fold rows of {name}."
    decided, own = outcomes
    if decided is None or own is None:
        return words
    figure = purpose.figure.replace("_", " ")
    return f"{words} On the holdout {figure} is {decided.figure:.4g}; the model's own decision has {own.figure:.4g}."


def _with_facts(judgement: Judgement, facts: dict[str, Any]) -> Judgement:
    """The judgement with what is kept about it; JSON has no tuples and no infinity."""
    figures = tuple(replace(each, calibrated=facts["figures"].get(each.plan.name, {})) for each in judgement.figures)
    decided, calibrated = facts["decided"], facts["calibrated"]
    return replace(
        judgement,
        figures=figures,
        decided=None if decided is None else _decided_from(decided),
        calibrated=None if calibrated is None else Calibrated(**{**calibrated, "maps": tuple(calibrated["maps"])}),
        trials=tuple(_trial_from(each) for each in facts["trials"]),
    )


def _decided_from(facts: dict[str, Any]) -> Decided:
    parts = ("out_of_fold", "holdout", "own")
    cost, threshold = facts["cost"], facts["threshold"]
    flags_nothing = facts["is_reached"] and threshold is None and len(facts["out_of_fold"]["counts"]) == 2
    return Decided(
        **{
            **facts,
            **{part: None if facts[part] is None else DecisionOutcome(**facts[part]) for part in parts},
            "threshold": float("inf") if flags_nothing else threshold,
            "cost": None if cost is None else tuple(map(tuple, cost)),
        }
    )


def _trial_from(facts: dict[str, Any]) -> ResamplingTrial:
    pairings = tuple(
        Pairing(**{**each, "gains": tuple(Gain(**gain) for gain in each["gains"])}) for each in facts["pairings"]
    )
    return ResamplingTrial(**{**facts, "pairings": pairings})
