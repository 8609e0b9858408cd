"""What a run left for the next one of the same study: if nothing has changed, this is the answer."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from evenhand.records.leaderboard import LeaderboardRow


@dataclass(frozen=True)
class Standing:
    """A finished run under the key of all that it was made of, with what was shown of it."""

    key: str
    study: str
    run_id: str
    when: str
    metric: str
    rows: tuple[LeaderboardRow, ...]
    lines: tuple[tuple[str, str], ...]
    verdict: str
    n_fits: int
    rows_words: str
    page: str

    def as_facts(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        """The same from plain values."""
        rows = tuple(LeaderboardRow(**{**row, "holdout_interval": _ends(row)}) for row in facts["rows"])
        return cls(**{**facts, "rows": rows, "lines": tuple((text, style) for text, style in facts["lines"])})


@dataclass(frozen=True)
class Recalled:
    """The run before, of which nothing has changed, and the run in MLflow that notes so."""

    standing: Standing
    noted_in: str


def _ends(row: dict[str, Any]) -> tuple[float, float] | None:
    low, high = row["holdout_interval"] or (None, None)
    return None if low is None or high is None else (low, high)
