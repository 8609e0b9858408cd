"""What was found on top of the scores: probabilities, a threshold, trials of resampling, effects of columns, costs."""

import math
from collections import Counter
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

from evenhand.records.insight import Insight


@dataclass(frozen=True)
class DecisionOutcome:
    """What deciding comes to on some rows: counts by true and predicted class, and shares of the positive class.

    Rows that repeats judged several times count once, so that counts need not be whole.
    """

    n_rows: int
    counts: tuple[tuple[float, ...], ...]
    figure: float
    cost: float | None = None
    precision: float | None = None
    recall: float | None = None
    false_positive_rate: float | None = None
    flagged_share: float | None = None


@dataclass(frozen=True)
class DecisionGain:
    """By how much a decision is better than the model's own on rows that had no say in it; above 0 is better.

    `low` and `high` each hold with the confidence of the study; what is better beyond chance has `low` above 0.
    """

    estimate: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Decided:
    """The purpose, the threshold tuned for it on out-of-fold scores, and what it comes to beside the model's own.

    `figure` names what outcomes are measured by; `out_of_fold` is cross-fitted: no row helped to set the threshold that
    it is judged by. `own_out_of_fold` and `own` are the model's own decision, out of fold and on the holdout. Several
    classes have costs and no threshold. A purpose that is not reached leaves the model its own decision, and all
    outcomes are of that. `is_served` is false too where the decision is not better than the model's own beyond chance.
    """

    purpose: str
    figure: str
    threshold: float | None
    words: str
    out_of_fold: DecisionOutcome
    holdout: DecisionOutcome | None = None
    own: DecisionOutcome | None = None
    cost: tuple[tuple[float, ...], ...] | None = None
    is_reached: bool = True
    is_served: bool = True
    own_out_of_fold: DecisionOutcome | None = None
    gain: DecisionGain | None = None
    classes: tuple[str, ...] = ()

    @property
    def served_threshold(self) -> float | None:
        """The threshold that the served model holds; None where it keeps its own decision."""
        return self.threshold if self.is_served else None

    @property
    def served_cost(self) -> tuple[tuple[float, ...], ...] | None:
        """The costs that the served model decides by; None where it keeps its own decision."""
        return self.cost if self.is_served else None

    @property
    def served(self) -> tuple[DecisionOutcome, str]:
        """What the served decision comes to, on the holdout or without one on rows of other folds, and which it is."""
        if self.holdout is not None and self.own is not None:
            return (self.holdout if self.is_served else self.own), "the holdout"
        own = self.own_out_of_fold or self.out_of_fold
        return (self.out_of_fold if self.is_served else own), "rows of other folds"

    def by_class(self, outcome: DecisionOutcome) -> str:
        """How the classes fared, by their names."""
        return classes_fared(self.classes or tuple(map(str, range(len(outcome.counts)))), outcome.counts)

    @property
    def sides(self) -> tuple[tuple[str, bool, DecisionOutcome | None, DecisionOutcome | None], ...]:
        """Each decision by name, whether it is served, and its outcome cross-fitted and on the holdout."""
        name = "Least expected cost" if self.threshold is None else f"Threshold {self.threshold:.4g}"
        own = ("The model's own", not self.is_served, self.own_out_of_fold, self.own)
        return ((name, self.is_served, self.out_of_fold, self.holdout), own) if self.is_reached else (own,)


@dataclass(frozen=True)
class Calibrated:
    """How the winner's scores become probabilities (`maps` as facts, one a class), and how well they then hold.

    `holdout` and `out_of_fold` hold slope, intercept and expected_error as (value, low, high); the latter cross-fitted.
    """

    kind: str
    log_losses: dict[str, float]
    maps: tuple[dict[str, Any], ...]
    out_of_fold: dict[str, tuple[float, ...]] = field(default_factory=dict)
    holdout: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Gain:
    """How much better than its counterpart a resampled candidate is by one metric, on the same rows; above 0 better.

    Limits and p-value hold for all gains of the study together; `detectable` is the true gain that would be found in 80
    of 100 runs.
    """

    metric: str
    value: float
    low: float
    high: float
    p_value: float
    verdict: Literal["better", "worse", "same", "unseparated"]
    detectable: float


@dataclass(frozen=True)
class Pairing:
    """A resampled candidate against the same model with nothing, class weights, or nothing and a tuned threshold."""

    against: str
    rival: str
    gains: tuple[Gain, ...] = ()
    words: str = ""


ResamplingVerdict = Literal["helped", "harmed", "same", "unseparated", "unknown"]


@dataclass(frozen=True)
class ResamplingTrial:
    """Whether resampling was worth it for one candidate."""

    name: str
    verdict: ResamplingVerdict
    words: str
    pairings: tuple[Pairing, ...] = ()

    @property
    def helped(self) -> bool | None:
        """Whether it did; None where it was set against nothing."""
        return None if self.verdict == "unknown" else self.verdict == "helped"


def trials_words(trials: tuple[ResamplingTrial, ...]) -> str:
    """Of how many resampled candidates resampling helped, harmed, or is not separated from the cheaper ways."""
    n_of = Counter(trial.verdict for trial in trials)
    left = [trial for trial in trials if trial.verdict == "unseparated"]
    gains = [gain for trial in left for each in trial.pairings for gain in each.gains if gain.verdict == "unseparated"]
    sizes = {gain.metric: [each.detectable for each in gains if each.metric == gain.metric] for gain in gains}
    shown = ", ".join(f"{name} {_ends(each)}" for name, each in sizes.items())
    parts = [
        f"helped {n_of['helped']}",
        f"harmed {n_of['harmed']}",
        *([f"made no practical difference to {n_of['same']}"] if n_of["same"] else []),
        *([f"not separated for {len(left)} (detectable: {shown})"] if left else []),
        *([f"unknown for {n_of['unknown']}"] if n_of["unknown"] else []),
    ]
    return f"resampling: {', '.join(parts)} of {len(trials)} resampled candidates"


def _ends(values: list[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Effect:
    """How much worse the metric gets when a column is shuffled, once per repeat, with a 95 % interval."""

    column: str
    values: tuple[float, ...]
    low: float
    high: float

    @property
    def mean(self) -> float:
        """The mean over the repeats."""
        return sum(self.values) / len(self.values)


@dataclass(frozen=True)
class Explained:
    """What each raw column is worth to the model that is served, on holdout rows; the greatest effect first.

    `figure` is the metric before anything was shuffled, `n_rows` how many of the holdout rows were asked about.
    """

    metric: str
    figure: float
    n_rows: int
    n_holdout: int
    effects: tuple[Effect, ...] = ()
    left_out: tuple[str, ...] = ()
    words: str = ""
    insight: Insight = field(default_factory=Insight)


@dataclass(frozen=True)
class Stage:
    """One stage of the run: how long it took, how much of it was done or found, and the highest memory meanwhile."""

    name: str
    seconds: float
    n_executed: int | None = None
    n_reused: int | None = None
    peak_mb: float | None = None


def metrics_of_decided(decided: Decided | None, calibrated: Calibrated | None) -> dict[str, float]:
    """What was decided as single numbers by name, for the record of a run; those without a value are left out."""
    found: dict[str, float | None] = {}
    if decided is not None:
        found |= {"threshold": decided.served_threshold, "tuned_threshold": decided.threshold}
        found["decided_is_served"] = float(decided.is_served)
        if decided.gain is not None:
            found |= {f"decided_gain_{each.name}": getattr(decided.gain, each.name) for each in fields(decided.gain)}
        sides = {
            "cv": decided.out_of_fold, "cv_own": decided.own_out_of_fold,
            "holdout": decided.holdout, "holdout_own": decided.own,
        }  # fmt: skip
        for where, outcome in sides.items():
            shares = ("figure", "precision", "recall", "false_positive_rate", "flagged_share")
            for name in shares if outcome is not None else ():
                found[f"{where}_decided_{decided.figure if name == 'figure' else name}"] = getattr(outcome, name)
    if calibrated is not None:
        for where, figures in (("cv", calibrated.out_of_fold), ("holdout", calibrated.holdout)):
            found |= {f"{where}_calibration_{name}": values[0] for name, values in figures.items()}
    return {name: value for name, value in found.items() if value is not None and math.isfinite(value)}


def as_plain(record: Any) -> Any:
    """Records as mappings and lists; a number that JSON cannot hold becomes None."""
    if is_dataclass(record) and not isinstance(record, type):
        return {each.name: as_plain(getattr(record, each.name)) for each in fields(record)}
    if isinstance(record, dict):
        return {key: as_plain(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [as_plain(value) for value in record]
    return None if isinstance(record, float) and not math.isfinite(record) else record


def rows_text(count: float) -> str:
    """A count of rows with commas; one that repeats or weights make uneven keeps one place."""
    return f"{count:,.0f}" if abs(count - round(count)) < 1e-6 * max(1.0, abs(count)) else f"{count:,.1f}"


def classes_fared(labels: tuple[str, ...], counts: tuple[tuple[float, ...], ...]) -> str:
    """Of a confusion of classes by their names: what was found and falsely called, of more than two what was right."""
    names = tuple(map(as_class, labels))
    if len(names) != 2:
        right = (f"{rows_text(row[k])} of {rows_text(sum(row))} {names[k]}" for k, row in enumerate(counts))
        return f"rightly called: {', '.join(right)}"
    (left, wrong), (missed, found) = counts
    called = f"{rows_text(wrong)} of {rows_text(left + wrong)} {names[0]} called {names[1]}"
    return f"{rows_text(found)} of {rows_text(found + missed)} {names[1]} found, {called}"


def as_class(label: str) -> str:
    """A class as it can be named in a sentence: what looks like a number is called a class."""
    try:
        float(label)
    except ValueError:
        return label
    return f"class {label}"
