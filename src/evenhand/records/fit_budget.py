"""How a machine with a budget of seconds was fitted, in words: what it chose, and what it had estimated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Budgeted:
    """The way that a machine took on one fold, and the seconds that each way was estimated to take there."""

    fold: str
    way: str
    choice: str
    budget: float
    seconds: float
    estimated: dict[str, float]

    @property
    def words(self) -> str:
        """The choice and what it was made by."""
        words = f"{self.choice} in {self.seconds:.1f} s of {self.budget:g} s"
        if not self.estimated:
            return f"{words}: few rows, nothing to choose"
        return f"{words}; estimated: " + ", ".join(f"{way} {seconds:.1f} s" for way, seconds in self.estimated.items())


def budgeted_of(estimator: Any) -> dict[str, Any]:
    """The choice of a fitted machine with a budget; nothing for any other and for one that was given the way."""
    if not hasattr(estimator, "predicted_seconds_") or estimator.way != "auto":
        return {}
    return {
        "way": estimator.settled_params_["way"],
        "choice": estimator.choice_,
        "budget": float(estimator.budget),
        "estimated": estimator.predicted_seconds_,
    }


def budget_note(found: Sequence[Budgeted], final: str) -> str:
    """What a leaderboard shows: the choice on all rows with its forecast, and other choices on folds."""
    if not any(each.estimated for each in found):
        return ""
    last = next((each for each in found if each.fold == final), found[-1])
    note = f"{last.choice}, {_forecast(last)}"
    others = [choice for choice in dict.fromkeys(each.choice for each in found) if choice != last.choice]
    return f"{note}; on folds also {', '.join(others)}" if others else note


def _forecast(each: Budgeted) -> str:
    if each.way not in each.estimated:
        return f"done in {each.seconds:.1f} s of {each.budget:g} s"
    words = f"estimated {each.estimated[each.way]:.1f} s of {each.budget:g} s a fit"
    return words if each.way == "exact" else f"{words} (exact {each.estimated['exact']:.1f} s)"
