"""Whether resampling was worth it: each resampled candidate against the same model without, fold by fold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.evaluation.threshold_objectives import CONSTRAINED, Purpose, cross_thresholds, figures_by_purpose
from evenhand.records.decision import Gain, Pairing, ResamplingTrial
from evenhand.records.pipeline import Plan
from evenhand.statistics import corrected_resampled_t, holm
from evenhand.study.registry import LOWER_IS_BETTER, UNSAMPLED
from evenhand.study.study import Study

NOTHING, WEIGHTS, TUNED = "nothing", "class weights", "a tuned threshold alone"
RANKINGS = ("roc_auc", "average_precision", "roc_auc_ovr")
LOSSES = {2: "brier_score_loss"}


@dataclass(frozen=True)
class Arm:
    """One candidate's values by fold: metrics of its scores and probabilities, and the decision figure both ways."""

    metrics: Mapping[str, np.ndarray]
    own: np.ndarray
    tuned: np.ndarray | None


def decision_figures(
    purpose: Purpose, part: CandidatePredictions, codes: np.ndarray, places: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """The figure in each fold at the model's own threshold, and at thresholds tuned on the other folds."""
    own = figures_by_purpose(purpose, _tables(part.truth, part.predicted, places, n_classes))
    if part.scores is None or n_classes != 2:
        return own, None
    flagged = part.scores >= cross_thresholds(purpose, part.truth, part.scores, codes)
    return own, figures_by_purpose(purpose, _tables(part.truth, flagged, places, n_classes))


def _tables(truth: np.ndarray, predicted: np.ndarray, places: np.ndarray, n_classes: int) -> np.ndarray:
    n_folds = int(places.max()) + 1
    cells = (places * n_classes + truth.astype(np.int64)) * n_classes + predicted.astype(np.int64)
    return np.bincount(cells, minlength=n_folds * n_classes**2).reshape(n_folds, n_classes, n_classes)


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
    pairs: Mapping[str, tuple[Plan, dict[str, Plan]]], arms: Mapping[str, Arm], purpose: Purpose, study: Study
) -> tuple[ResamplingTrial, ...]:
    """What resampling brought each candidate; p-values are adjusted over all trials of the study."""
    share = study.split.repeats / max(len(next(iter(arms.values())).own), 2) if arms else 0.5
    found = {name: _pairings(arms[name], rivals, arms, purpose, share) for name, (_, rivals) in pairs.items()}
    adjusted = iter(holm([gain.p_value for each in found.values() for one in each for gain in one.gains]).tolist())
    trials = []
    for name, each in found.items():
        paired = [
            replace(one, gains=tuple(replace(gain, p_value=next(adjusted)) for gain in one.gains)) for one in each
        ]
        helped, words = verdict(paired, study.alpha)
        trials.append(ResamplingTrial(name, helped, words, tuple(paired)))
    return tuple(trials)


def _pairings(
    arm: Arm, rivals: dict[str, Plan], arms: Mapping[str, Arm], purpose: Purpose, share: float
) -> list[Pairing]:
    found = []
    for against, kind in ((NOTHING, "none"), (WEIGHTS, "class_weight"), (TUNED, "none")):
        rival = rivals.get(kind)
        if rival is None:
            found.append(Pairing(against, "", words="no such candidate in the study"))
        elif against == TUNED and arms[rival.name].tuned is None:
            found.append(Pairing(against, "", words="no threshold can be tuned: no scores of two classes"))
        else:
            found.append(Pairing(against, rival.name, _gains(arm, arms[rival.name], against, purpose, share)))
    return found


def _gains(arm: Arm, rival: Arm, against: str, purpose: Purpose, share: float) -> tuple[Gain, ...]:
    series = [
        (name, name in LOWER_IS_BETTER, arm.metrics[name], rival.metrics[name])
        for name in arm.metrics
        if name in rival.metrics
    ]
    mine, theirs = _decided(arm, purpose), _decided(rival, purpose)
    if against == TUNED and rival.tuned is not None:
        theirs = rival.tuned
    series.append((purpose.figure, purpose.lower_is_better, mine, theirs))
    gains = [_gain(name, is_loss, ours, others, share) for name, is_loss, ours, others in series]
    return tuple(gain for gain in gains if np.isfinite(gain.value))


def _decided(arm: Arm, purpose: Purpose) -> np.ndarray:
    """Constraints can only be met by tuning; other purposes are judged at the threshold that the model has itself."""
    return arm.tuned if purpose.kind in CONSTRAINED and arm.tuned is not None else arm.own


def _gain(name: str, is_loss: bool, mine: np.ndarray, theirs: np.ndarray, share: float) -> Gain:
    first, second = (theirs, mine) if is_loss else (mine, theirs)
    found = corrected_resampled_t(first, second, test_share=share)
    return Gain(name, found.difference, found.interval.low, found.interval.high, found.p_value)


def verdict(pairings: Sequence[Pairing], alpha: float) -> tuple[bool | None, str]:
    """Whether resampling beat every other way by some metric beyond chance, in plain words."""
    there = [one for one in pairings if one.rival]
    lacking = [one.against for one in pairings if not one.rival]
    rest = f" It was not set against {' or '.join(lacking)}: {_why(pairings)}." if lacking else ""
    if not there:
        return None, f"Unknown.{rest} Set trial: full to run what is missing."
    hard = [one for one in there if one.against != NOTHING] or there
    gains = [{gain.metric: gain for gain in one.gains} for one in hard]
    shared = [name for name in gains[0] if all(name in each for each in gains)]
    better = [name for name in shared if all(_is_beyond(each[name], alpha) > 0 for each in gains)]
    worse = [name for name in shared if any(_is_beyond(each[name], alpha) < 0 for each in gains)]
    others = " or ".join(one.against for one in hard)
    lost = f" It did harm: {_listed_gains(worse, gains)}." if worse else ""
    if better:
        return True, f"Resampling helped, set against {others}: {_listed_gains(better, gains)}.{lost}{rest}"
    return False, f"Resampling did not help: no figure is better beyond chance than with {others}.{lost}{rest}"


def _why(pairings: Sequence[Pairing]) -> str:
    return ", ".join(dict.fromkeys(one.words for one in pairings if not one.rival))


def _is_beyond(gain: Gain, alpha: float) -> int:
    """1 where better beyond chance, -1 where worse, else 0."""
    return 0 if gain.p_value > alpha else int(np.sign(gain.value))


def _listed_gains(names: Sequence[str], gains: Sequence[dict[str, Gain]]) -> str:
    """Each metric with its least gain, or its greatest loss."""
    least = {name: min((each[name] for each in gains), key=lambda gain: gain.value) for name in names}
    return ", ".join(f"{name} {gain.value:+.4f} (p = {gain.p_value:.2g})" for name, gain in least.items())
