"""Whether resampling was worth it: each resampled candidate against the same model without, on the same judged rows.

The gaps, their limits and p-values are those of the verdicts on candidates: the joint covariance of the judged rows,
over folds and on the holdout, raised for training rows that are drawn anew, and one critical value for all pairs that
are compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.evaluation.influence import influence_of, table_influence
from evenhand.evaluation.metrics import confusion
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.evaluation.threshold_objectives import (
    CONSTRAINED,
    COST,
    Purpose,
    cross_thresholds,
    figures_by_purpose,
    threshold_for,
)
from evenhand.evaluation.verdicts import EQUIVALENT_SHARE, MEANS_OF_ROWS, region_of
from evenhand.records.decision import Gain, Pairing, ResamplingTrial, ResamplingVerdict
from evenhand.records.pipeline import Plan
from evenhand.statistics.joint import FoldInfluence, JointFigures, joint_figures
from evenhand.statistics.paired import paired_verdicts
from evenhand.study.registry import UNSAMPLED
from evenhand.study.study import Study

NOTHING, WEIGHTS, TUNED = "nothing", "class weights", "a tuned threshold alone"
RANKINGS = ("roc_auc", "average_precision", "roc_auc_ovr")
LOSSES = {2: "brier_score_loss"}


@dataclass(frozen=True)
class FoldSeries:
    """A figure in each fold, with the influence of every judged row on it; greater is better.

    `held` is the same on the holdout, as if that were one fold; None where it gives no figure.
    """

    figures: np.ndarray
    influence: np.ndarray
    held: "FoldSeries | None" = None


@dataclass(frozen=True)
class Arm:
    """One candidate's figures: metrics of its scores and probabilities, and the decision figure both ways."""

    metrics: Mapping[str, FoldSeries]
    own: FoldSeries | None
    tuned: FoldSeries | None


@dataclass(frozen=True)
class JudgedRows:
    """Which row each judgement is about, its class, and the place of the fold that it was judged in.

    `held` are the rows of the holdout, where there are any.
    """

    rows: np.ndarray
    truth: np.ndarray
    places: np.ndarray
    held: "JudgedRows | None" = None

    def of_folds(self) -> list[np.ndarray]:
        """The judgements of each fold."""
        return [np.flatnonzero(self.places == k) for k in range(int(self.places.max()) + 1)]


def ranking_series(
    metric: str, folds: Sequence[float], part: CandidatePredictions, rows: JudgedRows, n_classes: int
) -> FoldSeries | None:
    """The figures of the leaderboard with the influence of every row; None where a fold gives none."""
    found = [influence_of(part.only(rows.places == k).prediction_set, metric, n_classes) for k in range(len(folds))]
    return _series(np.array(folds, dtype=float), found, rows)


def loss_series(losses: np.ndarray, rows: JudgedRows) -> FoldSeries:
    """The mean of the losses in each fold, below zero so that greater is better."""
    means = [float(losses[held].mean()) for held in rows.of_folds()]
    moved = [mean - losses[held] for mean, held in zip(means, rows.of_folds(), strict=True)]
    found = _series(-np.array(means), moved, rows)
    assert found is not None
    return found


def decision_series(
    purpose: Purpose, part: CandidatePredictions, codes: np.ndarray, rows: JudgedRows, n_classes: int
) -> tuple[FoldSeries | None, FoldSeries | None]:
    """The figure of the model's own decisions, and of those by thresholds tuned on the other folds."""
    own = _of_labels(purpose, part.predicted, rows, n_classes)
    if part.scores is None or n_classes != 2:
        return own, None
    flagged = part.scores >= cross_thresholds(purpose, part.truth, part.scores, codes)
    return own, _of_labels(purpose, flagged.astype(np.int64), rows, n_classes)


def held_decisions(
    purpose: Purpose, part: CandidatePredictions, held: CandidatePredictions, rows: JudgedRows, n_classes: int
) -> tuple[FoldSeries | None, FoldSeries | None]:
    """The figure of the model's own decisions on the holdout, and of those by the threshold of all out-of-fold rows."""
    own = _of_labels(purpose, held.predicted, rows, n_classes)
    if part.scores is None or held.scores is None or n_classes != 2:
        return own, None
    try:
        threshold = threshold_for(purpose, part.truth, part.scores).threshold
    except ValueError:
        threshold = np.inf
    return own, _of_labels(purpose, (held.scores >= threshold).astype(np.int64), rows, n_classes)


def with_holdout(arm: Arm, held: Arm) -> Arm:
    """The figures of a candidate over folds, each with that on the holdout."""
    metrics = {name: replace(one, held=held.metrics.get(name)) for name, one in arm.metrics.items()}
    both = ((arm.own, held.own), (arm.tuned, held.tuned))
    own, tuned = (None if one is None else replace(one, held=on_held) for one, on_held in both)
    return Arm(metrics, own, tuned)


def _of_labels(purpose: Purpose, labels: np.ndarray, rows: JudgedRows, n_classes: int) -> FoldSeries | None:
    sign = -1.0 if purpose.lower_is_better else 1.0

    def figures_of(tables: np.ndarray) -> np.ndarray:
        return sign * figures_by_purpose(purpose, tables)

    held = rows.of_folds()
    tables = np.stack([confusion(rows.truth[one], labels[one], n_classes) for one in held])
    moved = [table_influence(rows.truth[one], labels[one], n_classes, figures_of) for one in held]
    return _series(figures_of(tables), moved, rows)


def _series(figures: np.ndarray, moved: Sequence[np.ndarray | None], rows: JudgedRows) -> FoldSeries | None:
    influence = np.zeros(len(rows.rows), dtype=np.float32)
    for held, one in zip(rows.of_folds(), moved, strict=True):
        if one is None:
            return None
        influence[held] = one
    return FoldSeries(figures, influence) if np.isfinite(figures).all() else None


def counterparts(plans: Iterable[Plan], study: Study) -> dict[str, tuple[Plan, dict[str, Plan]]]:
    """Each resampled plan by name, with the plans that differ from it only in having nothing or class weights."""
    plans = [made for made in plans if made.balance in study.balance]
    alike: dict[str, dict[str, Plan]] = {}
    for made in plans:
        if (kind := study.balance_kind(made.balance)) in UNSAMPLED:
            alike.setdefault(_but_balance(made), {})[kind] = made
    return {
        made.name: (made, alike.get(_but_balance(made), {}))
        for made in plans
        if study.balance_kind(made.balance) not in UNSAMPLED
    }


def _but_balance(made: Plan) -> str:
    """What two plans share that differ in nothing but the balance; what was tuned may differ with it."""
    tuned = made.tuning.over if made.tuning else {}
    params = {name: value for name, value in made.params.items() if name not in tuned}
    return repr(replace(made, name="", balance="", params=params, settled={}))


def trials_of(
    pairs: Mapping[str, tuple[Plan, dict[str, Plan]]],
    arms: Mapping[str, Arm],
    purpose: Purpose,
    rows: JudgedRows,
    study: Study,
) -> tuple[ResamplingTrial, ...]:
    """What resampling brought each candidate; limits and p-values hold for all that is compared in the study."""
    pairings = {name: _pairings(arms, rivals) for name, (_, rivals) in pairs.items()}
    asked = [(name, one) for name, found in pairings.items() for one in found if one.rival]
    by_metric: dict[str, list[tuple[tuple[str, str], tuple[FoldSeries, FoldSeries]]]] = {}
    for name, one in asked:
        for metric, both in _compared(arms[name], arms[one.rival], one.against, purpose):
            by_metric.setdefault(metric, []).append(((name, one.against), both))
    gains: dict[tuple[str, str], list[Gain]] = {}
    for metric, each in by_metric.items():
        gained = _gains(metric, [both for _, both in each], purpose, rows, study, len(by_metric))
        for (key, _), gain in zip(each, gained, strict=True):
            gains.setdefault(key, []).append(gain)
    trials = []
    for name, found in pairings.items():
        paired = tuple(replace(one, gains=tuple(gains.get((name, one.against), ()))) for one in found)
        trials.append(ResamplingTrial(name, *verdict(paired), paired))
    return tuple(trials)


def _pairings(arms: Mapping[str, Arm], rivals: dict[str, Plan]) -> list[Pairing]:
    found = []
    for against, kind in ((NOTHING, "none"), (WEIGHTS, "class_weight"), (TUNED, "none")):
        rival = rivals.get(kind)
        if rival is None:
            found.append(Pairing(against, "", words="no such candidate in the study"))
        elif against == TUNED and arms[rival.name].tuned is None:
            found.append(Pairing(against, "", words="no threshold can be tuned: no scores of two classes"))
        else:
            found.append(Pairing(against, rival.name))
    return found


def _compared(arm: Arm, rival: Arm, against: str, purpose: Purpose) -> list[tuple[str, tuple[FoldSeries, FoldSeries]]]:
    """What both give of each metric, the resampled candidate first."""
    shared = [(name, (arm.metrics[name], rival.metrics[name])) for name in arm.metrics if name in rival.metrics]
    mine, theirs = _decided(arm, purpose), rival.tuned if against == TUNED else _decided(rival, purpose)
    return shared if mine is None or theirs is None else [*shared, (purpose.figure, (mine, theirs))]


def _decided(arm: Arm, purpose: Purpose) -> FoldSeries | None:
    """Constraints can only be met by tuning; other purposes are judged at the threshold that the model has itself."""
    return arm.tuned if purpose.kind in CONSTRAINED and arm.tuned is not None else arm.own


def _gains(
    metric: str,
    both: Sequence[tuple[FoldSeries, FoldSeries]],
    purpose: Purpose,
    rows: JudgedRows,
    study: Study,
    n_metrics: int,
) -> list[Gain]:
    """The gain of every pair in one metric; alpha is shared evenly among metrics."""
    series = list({id(one): one for pair in both for one in pair}.values())
    places = {id(one): place for place, one in enumerate(series)}
    joint = _joint(metric, series, rows)
    found = paired_verdicts(
        joint,
        [(places[id(first)], places[id(second)]) for first, second in both],
        region=_region(metric, joint, purpose, study),
        alpha=study.alpha,
        n_families=n_metrics,
        test_share=study.split.repeats / len(joint.folds),
        seed=study.seed,
    )
    return [
        Gain(metric, each.estimate, each.low, each.high, each.p_value, each.verdict, each.detectable) for each in found
    ]


def _joint(metric: str, series: Sequence[FoldSeries], rows: JudgedRows) -> JointFigures:
    on_held = [one.held for one in series if one.held is not None]
    is_known = len(on_held) == len(series)
    held = _parts(metric, on_held, rows.held)[0] if rows.held is not None and is_known else None
    return joint_figures(_parts(metric, series, rows), held)


def _parts(metric: str, series: Sequence[FoldSeries], rows: JudgedRows) -> list[FoldInfluence]:
    """The figures of each fold with the influence of its rows."""
    strata = np.zeros(len(rows.rows), dtype=int) if metric in {*MEANS_OF_ROWS, COST} else rows.truth.astype(int)
    return [
        FoldInfluence(
            np.array([one.figures[k] for one in series]),
            np.column_stack([one.influence[held] for one in series]),
            rows.rows[held],
            strata[held],
        )
        for k, held in enumerate(rows.of_folds())
    ]


def _region(metric: str, joint: JointFigures, purpose: Purpose, study: Study) -> float:
    """The gap that makes no practical difference; what the study sets is of its own metric."""
    best = float(np.abs(joint.means).min())
    if metric == COST or (metric == purpose.figure and purpose.lower_is_better):
        return EQUIVALENT_SHARE * best
    return region_of(metric, best, study.equivalence if metric == study.metric else None)


def verdict(pairings: Sequence[Pairing]) -> tuple[ResamplingVerdict, str]:
    """Whether resampling beat every other way by some metric beyond chance, in plain words."""
    there = [one for one in pairings if one.gains]
    lacking = [one.against for one in pairings if not one.gains]
    rest = f" It was not set against {' or '.join(lacking)}: {_why(pairings)}." if lacking else ""
    if not there:
        return "unknown", f"Unknown.{rest} Set trial: full to run what is missing."
    hard = [one for one in there if one.against != NOTHING] or there
    gains = [{gain.metric: gain for gain in one.gains} for one in hard]
    shared = [name for name in gains[0] if all(name in each for each in gains)]
    better = [name for name in shared if all(each[name].verdict == "better" for each in gains)]
    worse = [name for name in shared if any(each[name].verdict == "worse" for each in gains)]
    against = f"set against {' or '.join(one.against for one in hard)}"
    if better:
        lost = f" It harmed {_listed_gains(worse, gains)}." if worse else ""
        return "helped", f"Resampling helped, {against}: {_listed_gains(better, gains)}.{lost}{rest}"
    if worse:
        return "harmed", f"Resampling harmed, {against}: {_listed_gains(worse, gains)}.{rest}"
    if shared and all(each[name].verdict == "same" for each in gains for name in shared):
        return "same", f"Resampling made no practical difference, {against}.{rest}"
    shown = ", ".join(f"{name} {max(each[name].detectable for each in gains):.3g}" for name in shared)
    return "unseparated", f"Resampling is not separated, {against} (detectable: {shown}).{rest}"


def _why(pairings: Sequence[Pairing]) -> str:
    return ", ".join(dict.fromkeys(one.words or "no figure of both" for one in pairings if not one.gains))


def _listed_gains(names: Sequence[str], gains: Sequence[dict[str, Gain]]) -> str:
    """Each metric with its least gain, or its greatest loss."""
    least = {name: min((each[name] for each in gains), key=lambda gain: gain.value) for name in names}
    return ", ".join(f"{name} {gain.value:+.4f} ({gain.low:.4f} to {gain.high:.4f})" for name, gain in least.items())
