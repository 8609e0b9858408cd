"""What became of each candidate against the best, and what the best is expected to score."""

from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["best", "worse", "same", "unseparated"]
VERDICT_WORDS: dict[str, str] = {
    "best": "best",
    "worse": "worse",
    "same": "practically the same",
    "unseparated": "not separated",
}
VERDICT_NAMES = {words: name for name, words in VERDICT_WORDS.items()}
VERDICT_MARKS = {"same": "=", "unseparated": "~", "worse": "<"}


@dataclass(frozen=True)
class Versus:
    """How much better the best is than one candidate: over all judged rows, and on the holdout alone.

    Verdict, interval and p-value come from one computation. `detectable` is the gap that would be found in 80 of 100
    runs; `holdout_power` the chance that the holdout alone finds a small one.
    """

    name: str
    difference: float
    low: float
    high: float
    p_value: float
    verdict: Verdict
    detectable: float
    holdout_difference: float | None = None
    holdout_low: float | None = None
    holdout_high: float | None = None
    holdout_p_value: float | None = None
    holdout_power: float | None = None

    @property
    def is_worse(self) -> bool:
        """Whether the best is better beyond chance and by more than makes no practical difference."""
        return self.verdict == "worse"

    @property
    def words(self) -> str:
        """The verdict as people read it; with the gap that these rows would have shown where they showed none."""
        words = VERDICT_WORDS[self.verdict]
        return f"{words} (detectable: {self.detectable:.3g})" if self.verdict == "unseparated" else words

    def gap(self) -> dict[str, float]:
        """The gap as `--json` has it."""
        return {
            "estimate": self.difference,
            "low": self.low,
            "high": self.high,
            "detectable": self.detectable,
        }


@dataclass(frozen=True)
class Expected:
    """What the candidate that leads is expected to score on many new rows, corrected for having been chosen by it.

    On few new rows the figure varies more: by `row_error` over the square root of their number; and some metrics are
    higher on few rows: by `row_bias` over their number. Where an ensemble is preferred to the one that leads, it is the
    `candidate`, and the figures are its own, corrected for the choice among ensembles.
    """

    metric: str
    estimate: float
    low: float
    high: float
    row_error: float = 0.0
    row_bias: float = 0.0
    candidate: str = ""

    @property
    def whose(self) -> str:
        """Whose figure it is, in words."""
        return self.candidate or "the best"


@dataclass(frozen=True)
class MetricVerdicts:
    """Each candidate against the best by a metric that a study asks for beside the one that it ranks by."""

    metric: str
    best: str
    versus: tuple[Versus, ...]


def verdict_of(name: str, best: str, versus: tuple[Versus, ...]) -> dict[str, Any]:
    """The verdict and the gap of one candidate as `--json` has them; no gap where it could not be compared."""
    if name == best:
        return {"verdict": "best", "gap": {"estimate": 0.0, "low": 0.0, "high": 0.0, "detectable": 0.0}}
    found = next((each for each in versus if each.name == name), None)
    return {"verdict": "unseparated", "gap": None} if found is None else {"verdict": found.verdict, "gap": found.gap()}
