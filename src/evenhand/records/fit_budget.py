"""How a machine with a budget of seconds was fitted, in words: what it chose, and what it had foreseen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Budgeted:
    """The way that a machine took on one fold, and the seconds that each way was foreseen to take there."""

    fold: str
    way: str
    choice: str
    budget: float
    seconds: float
    foreseen: dict[str, float]

    @property
    def words(self) -> str:
        """The choice and what it was made by."""
        words = f"{self.choice} in {self.seconds:.1f} s of {self.budget:g} s"
        if not self.foreseen:
            return f"{words}: few rows, nothing to choose"
        return f"{words}; foreseen: " + ", ".join(f"{way} {seconds:.1f} s" for way, seconds in self.foreseen.items())


def budgeted_of(estimator: Any) -> dict[str, Any]:
    """What a fitted machine with a budget tells of its choice; nothing for any other and for one that was told how."""
    if not hasattr(estimator, "predicted_seconds_") or estimator.way != "auto":
        return {}
    return {
        "way": estimator.settled_params_["way"],
        "choice": estimator.choice_,
        "budget": float(estimator.budget),
        "foreseen": estimator.predicted_seconds_,
    }


def budget_note(found: Sequence[Budgeted], final: str) -> str:
    """What a leaderboard tells: the choice on all rows with its forecast, and other choices on folds."""
    if not any(each.foreseen for each in found):
        return ""
    last = next((each for each in found if each.fold == final), found[-1])
    note = f"{last.choice}, {_forecast(last)}"
    others = [choice for choice in dict.fromkeys(each.choice for each in found) if choice != last.choice]
    return f"{note}; on folds also {', '.join(others)}" if others else note


def _forecast(each: Budgeted) -> str:
    if each.way not in each.foreseen:
        return f"done in {each.seconds:.1f} s of {each.budget:g} s"
    words = f"foreseen {each.foreseen[each.way]:.1f} s of {each.budget:g} s a fit"
    return words if each.way == "exact" else f"{words} (exact {each.foreseen['exact']:.1f} s)"
