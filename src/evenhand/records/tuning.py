"""The nouns of tuning: what is searched, what was tried and what was chosen."""

from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

Space = dict[str, Any]


@dataclass(frozen=True)
class Tuning:
    """What is searched for one candidate: a list of values, or low, high and log, for each parameter."""

    over: Space
    trials: int | None = None
    seconds: float | None = None
    folds: int = 3


@dataclass(frozen=True)
class Trial:
    """One point on a share of the inner training rows: its mean score over inner folds; NaN where it cannot be fitted.

    `round` counts the rounds of halving from 0, `bracket` how often halving was begun anew.
    """

    params: dict[str, Any]
    share: float
    score: float
    spread: float
    seconds: float
    round: int = 0
    bracket: int = 0
    refused: str = ""


@dataclass(frozen=True)
class Tuned:
    """What was chosen for one candidate from the training rows of one fold, and all that was tried."""

    plan: str
    fold: str
    params: dict[str, Any]
    metric: str
    trials: tuple[Trial, ...] = field(default_factory=tuple)
    seconds: float = 0.0
    budget: float | None = None
    reused: bool = False
    ended: str = ""

    @property
    def chosen(self) -> Trial:
        """The last trial of the chosen point."""
        return [trial for trial in self.trials if trial.params == self.params][-1]

    def as_json(self) -> dict[str, Any]:
        """The choice, without the trials."""
        return {
            "fold": self.fold,
            "params": self.params,
            "metric": self.metric,
            "score": self.chosen.score,
            "share": self.chosen.share,
            "trials": len(self.trials),
            "seconds": self.seconds,
            "time_bound": self.budget is not None,
            "ended": self.ended,
        }


def trials_from(facts: list[dict[str, Any]]) -> tuple[Trial, ...]:
    """Trials as they were kept; a score that is no number is kept as none."""
    nan = float("nan")
    return tuple(
        Trial(**{**each, **{key: nan if each[key] is None else each[key] for key in ("score", "spread")}})
        for each in facts
    )


def trials_as_facts(trials: list[Trial]) -> list[dict[str, Any]]:
    """Trials in the form that JSON can keep."""
    return [
        {**asdict(trial), **{key: value if isfinite(value) else None for key, value in _figures(trial).items()}}
        for trial in trials
    ]


def _figures(trial: Trial) -> dict[str, float]:
    return {"score": trial.score, "spread": trial.spread}
