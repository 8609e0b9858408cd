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
    losses_by_row,
    reliability,
    row_codes,
)
from evenhand.evaluation.calibration import decide_by_cost
from evenhand.evaluation.prediction_profile import ScoresAt, winner_profiles
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.evaluation.resampling_effect import (
    LOSSES,
    RANKINGS,
    Arm,
    JudgedRows,
    counterparts,
    decision_series,
    held_decisions,
    loss_series,
    ranking_series,
    trials_of,
    with_holdout,
)
from evenhand.evaluation.threshold_gain import by_thresholds, gain_over_own
from evenhand.evaluation.threshold_objectives import (
    CONSTRAINED,
    Purpose,
    capacity_share,
    cross_thresholds,
    outcome_of,
    purpose_of,
    threshold_for,
    usual_purpose,
)
from evenhand.records.decision import (
    Calibrated,
    Decided,
    DecisionGain,
    DecisionOutcome,
    Gain,
    Pairing,
    ResamplingTrial,
    as_plain,
    trials_words,
)
from evenhand.records.pipeline import Figures, Judgement, Table
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.storage.artifact_store import Store, local
from evenhand.study.registry import METRICS
from evenhand.study.study import Study

CODE = (
    "evenhand.tasks.deciding:_build",
    "evenhand.records.pipeline:Judgement.winner",
    "evenhand.records.pipeline:Judgement.best",
    "evenhand.records.pipeline:Judgement.best_served",
    "evenhand.records.pipeline:Table.task",
    "evenhand.study.study:Study.balance_kind",
)


@step("decide")
def decide(judgement: Judgement, scores: ScoresAt, table: Table, study: Study) -> Judgement:
    """The judgement with calibrated figures, the winner's threshold and probabilities, and the trial of resampling."""
    if table.task in {"regression", "multilabel"}:
        return judgement
    share = _capacity(table, study)
    inputs = {
        "predictions": judgement.digest,
        "scores": [[name, fold, each.digest] for (name, fold), each in scores.items()],
        "classes": table.classes,
        "ensembles": [judgement.ensembles, study.ensemble, study.seed],
        "winner": judgement.winner.plan.name,
        "plans": [[each.plan, each.scale, each.folds] for each in judgement.figures],
        "balance": {name: study.balance_kind(name) for name in study.balance},
        "decide": study.decide,
        "share": share,
        "calibrate": study.calibrate,
        "alpha": study.alpha,
        "seed": study.seed,
        "equivalence": [study.metric, study.equivalence],
        "repeats": study.split.repeats,
        "drifts": "time" in {study.split.folds_by or study.split.holdout},
    }
    entry = Store().keep(
        "decided", inputs, [*CODE, *METRICS.modules], lambda _: _build(judgement, scores, table, study, share)
    )
    decided = _with_facts(judgement, entry.facts)
    if decided.decided is not None:
        (logger().info if decided.decided.is_reached else logger().warning)("%s", decided.decided.words)
    if decided.trials:
        logger().info("%s", trials_words(decided.trials))
    return decided


def _capacity(table: Table, study: Study) -> float | None:
    if study.decide is None or study.decide.capacity is None:
        return None
    capacity, time = study.decide.capacity, study.columns.time
    times = read_rows(table, [time])[time].to_numpy() if capacity.per == "day" and time is not None else None
    return capacity_share(capacity, table.n_rows, times)


def _build(judgement: Judgement, scores: ScoresAt, table: Table, study: Study, share: float | None) -> dict[str, Any]:
    predictions, n_classes = Predictions(local(judgement.predictions), table), len(table.classes)
    purpose = None if study.decide is None else purpose_of(study.decide, table.classes, share)
    measured_by, winner = purpose or usual_purpose(n_classes), judgement.winner.plan.name
    pairs = counterparts([each.plan for each in judgement.figures], study)
    on_trial = {plan.name for made, rivals in pairs.values() for plan in (made, *rivals.values())}
    codes = places = np.empty(0)
    facts: dict[str, Any] = {"figures": {}, "decided": None, "calibrated": None}
    arms: dict[str, Arm] = {}
    rows: JudgedRows | None = None
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
            rows = JudgedRows(part.row, part.truth, places, _held_rows(candidate.holdout))
            arm = _arm(each, part, calibrator, measured_by, codes, rows, n_classes)
            on_held = _held_arm(each, candidate, calibrator, measured_by, rows.held, n_classes)
            arms[each.plan.name] = arm if on_held is None else with_holdout(arm, on_held)
        if each.plan.name == winner:
            calibrator = _served(judgement, calibrator, scores, table, study)
            facts["calibrated"] = _calibrated(candidate, calibrator)
            facts["decided"] = (
                None if purpose is None else _decided(purpose, candidate, calibrator, codes, table, study)
            )
    trials = trials_of(pairs, arms, measured_by, rows, study) if rows is not None and places.max() > 0 else ()
    return as_plain({**facts, "trials": trials})


def _is_rebalanced(name: str, judgement: Judgement, study: Study) -> bool:
    """Whether the odds of a candidate, or of a member of the ensemble, are of other shares than the rows have."""
    if (ensemble := judgement.ensembles.get(name)) is not None:
        return any(_is_rebalanced(member, judgement, study) for member in ensemble.weights)
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
    calibrator: Calibrator | None,
    purpose: Purpose,
    codes: np.ndarray,
    rows: JudgedRows,
    n_classes: int,
) -> Arm:
    ranked = [name for name in RANKINGS if name in each.folds]
    found = {name: ranking_series(name, each.folds[name], part, rows, n_classes) for name in ranked}
    if calibrator is not None and (name := LOSSES.get(n_classes, "log_loss")):
        found[name] = loss_series(losses_by_row(part.truth, calibrator.cross_fitted)[name], rows)
    known = {name: series for name, series in found.items() if series is not None}
    return Arm(known, *decision_series(purpose, part, codes, rows, n_classes))


def _held_rows(held: CandidatePredictions) -> JudgedRows | None:
    return JudgedRows(held.row, held.truth, np.zeros(len(held), dtype=np.int64)) if len(held) else None


def _held_arm(
    each: Figures,
    candidate: CandidatePredictions,
    calibrator: Calibrator | None,
    purpose: Purpose,
    rows: JudgedRows | None,
    n_classes: int,
) -> Arm | None:
    """The same figures on the holdout, where maps and thresholds are those of all out-of-fold rows."""
    if rows is None:
        return None
    part, held = candidate.out_of_fold, candidate.holdout
    ranked = [name for name in RANKINGS if name in each.holdout]
    found = {name: ranking_series(name, [each.holdout[name]], held, rows, n_classes) for name in ranked}
    if calibrator is not None and held.scores is not None and (name := LOSSES.get(n_classes, "log_loss")):
        found[name] = loss_series(losses_by_row(held.truth, calibrator(held.scores))[name], rows)
    known = {name: series for name, series in found.items() if series is not None}
    return Arm(known, *held_decisions(purpose, part, held, rows, n_classes))


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
    purpose: Purpose,
    candidate: CandidatePredictions,
    calibrator: Calibrator | None,
    codes: np.ndarray,
    table: Table,
    study: Study,
) -> Decided:
    n_classes, part, held, why = len(table.classes), candidate.out_of_fold, candidate.holdout, ""
    gain = None
    try:
        threshold, labels, predicted = _threshold_and_labels(purpose, candidate, calibrator, codes, n_classes)
        gain = _gain(purpose, part, labels, codes, n_classes, study)
    except Unreached as error:
        threshold, labels, predicted, why = None, part.predicted, held.predicted, str(error)
    sides = [
        outcome_of(purpose, rows.truth, each, n_classes, rows.n_repeats) if len(rows) else None
        for rows, each in ((part, labels), (part, part.predicted), (held, predicted), (held, held.predicted))
    ]
    assert sides[0] is not None
    found = Decided(
        purpose=purpose.kind,
        figure=purpose.figure,
        threshold=threshold,
        words="",
        out_of_fold=sides[0],
        holdout=sides[2],
        own=sides[3],
        cost=None if purpose.cost is None or why else tuple(map(tuple, purpose.cost.tolist())),
        is_reached=not why,
        is_served=not why and (gain is None or gain.low > 0),
        own_out_of_fold=sides[1],
        gain=gain,
        classes=tuple(str(label) for label in table.classes),
    )
    n_rows = len(np.unique(part.row))
    words = _unreached(purpose, why) if why else _words(purpose, found, candidate.name, n_rows)
    return replace(found, words=words)


def _gain(
    purpose: Purpose, part: CandidatePredictions, labels: np.ndarray, codes: np.ndarray, n_classes: int, study: Study
) -> DecisionGain | None:
    """By how much the decision is better than the model's own; None for a constraint, which only tuning can meet."""
    if purpose.kind in CONSTRAINED:
        return None
    decided = by_thresholds(purpose, part, codes) if n_classes == 2 else lambda _: labels
    return gain_over_own(purpose, part, decided, n_classes, alpha=study.alpha, seed=study.seed)


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


def _words(purpose: Purpose, found: Decided, name: str, n_rows: int) -> str:
    """The decision with its figure beside that of the model's own, cross-fitted and on the holdout, and who serves."""
    threshold = found.threshold
    how = "The class of least expected cost" if threshold is None else f"Threshold {threshold:.4g} for {purpose.words}"
    words = [f"{how}, tuned on {n_rows:,} out-of-fold rows of {name}."]
    figure, gain, own = purpose.figure.replace("_", " "), found.gain, found.own_out_of_fold
    if own is not None:
        better = "" if gain is None else f" ({_gain_words(gain.estimate, gain.low)})"
        beside = f"the model's own decision has {own.figure:.4g}"
        words.append(f"Cross-fitted, {figure} is {found.out_of_fold.figure:.4g}; {beside}{better}.")
    if found.holdout is not None and found.own is not None:
        beside = f"the model's own decision has {found.own.figure:.4g}"
        words.append(f"On the holdout {figure} is {found.holdout.figure:.4g}; {beside}.")
    kept = "That is not better beyond chance, out of fold: the model keeps its own decision."
    return " ".join(words if found.is_served else [*words, kept])


def _gain_words(estimate: float, low: float) -> str:
    return f"better by {estimate:.4g}, at least {low:.4g}" if estimate > 0 else f"no better: worse by {-estimate:.4g}"


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
    parts = ("out_of_fold", "holdout", "own", "own_out_of_fold")
    cost, threshold = facts["cost"], facts["threshold"]
    flags_nothing = facts["is_reached"] and threshold is None and len(facts["out_of_fold"]["counts"]) == 2
    return Decided(
        **{
            **facts,
            **{part: None if facts[part] is None else DecisionOutcome(**facts[part]) for part in parts},
            "threshold": float("inf") if flags_nothing else threshold,
            "cost": None if cost is None else tuple(map(tuple, cost)),
            "gain": None if facts["gain"] is None else DecisionGain(**facts["gain"]),
            "classes": tuple(facts["classes"]),
        }
    )


def _trial_from(facts: dict[str, Any]) -> ResamplingTrial:
    pairings = tuple(
        Pairing(**{**each, "gains": tuple(Gain(**gain) for gain in each["gains"])}) for each in facts["pairings"]
    )
    return ResamplingTrial(**{**facts, "pairings": pairings})
