"""From a score to a probability, as plain numbers that a stored model can hold."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit, logit

from evenhand.estimators._door import named_at


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    """The log odds of probabilities, kept finite."""
    return logit(np.clip(probabilities, 1e-12, 1 - 1e-12))


def _nothing() -> np.ndarray:
    return np.empty(0)


@named_at("evenhand.models")
@dataclass(frozen=True, eq=False)
class ScoreMap:
    """One calibration: none, a logistic curve (prior, sigmoid) of the score or its log odds, or steps (isotonic).

    Rows of one step would tie, and a ranking by probabilities be worse than one by scores: steps are mixed with a
    logistic curve of the weight `rise`, so that a higher score is a higher probability everywhere.
    """

    kind: str
    intercept: float = 0.0
    slope: float = 1.0
    reads_odds: bool = False
    x: np.ndarray = field(default_factory=_nothing)
    y: np.ndarray = field(default_factory=_nothing)
    rise: float = 0.0

    def __call__(self, scores: Any) -> np.ndarray:
        """The probabilities that scores stand for."""
        scores = np.asarray(scores, dtype=float)
        if self.kind == "none":
            return scores
        if self.kind != "isotonic":
            return self._curve(scores)
        steps = np.interp(scores, self.x, self.y)
        return (1 - self.rise) * steps + self.rise * self._curve(scores) if self.rise else steps

    def _curve(self, scores: np.ndarray) -> np.ndarray:
        return expit(self.intercept + self.slope * (log_odds(scores) if self.reads_odds else scores))

    def shifted(self, offset: float) -> Self:
        """The map with the offset added to its log odds."""
        if self.kind == "none":
            return replace(self, kind="prior", intercept=offset, reads_odds=True)
        return replace(self, intercept=self.intercept + offset, y=expit(log_odds(self.y) + offset))

    def as_facts(self) -> dict[str, Any]:
        """Plain numbers and text."""
        return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in asdict(self).items()}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        """The map that these numbers describe."""
        return cls(**{**facts, "x": np.asarray(facts["x"], dtype=float), "y": np.asarray(facts["y"], dtype=float)})


def calibrated(scores: np.ndarray, maps: Sequence[ScoreMap]) -> np.ndarray:
    """The probability of the second of two classes, or of each class; each class has a map of its own."""
    if scores.ndim == 1:
        return maps[0](scores)
    return normalised(np.column_stack([each(column) for each, column in zip(maps, scores.T, strict=True)]))


def normalised(chances: np.ndarray) -> np.ndarray:
    """Rows that sum to 1; a row of zeros becomes even."""
    chances = np.clip(chances, 0.0, None)
    sums = chances.sum(axis=1, keepdims=True)
    return np.where(sums > 0, chances / np.where(sums > 0, sums, 1.0), 1.0 / chances.shape[1])
