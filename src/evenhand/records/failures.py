"""Candidates that could not be fitted or were stopped early: each with its reason, while the others are compared."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Failed:
    """A candidate of a run that has no place on its leaderboard, and why."""

    name: str
    why: str
    model: str = ""
    encoding: str = ""
    balance: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    is_stopped: bool = False  # by the time that a study gives; nothing is wrong with it

    @property
    def word(self) -> str:
        """What became of it."""
        return "stopped early" if self.is_stopped else "failed"
