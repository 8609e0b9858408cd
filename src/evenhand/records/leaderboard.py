"""Leaderboards as they are shown, of a run that just ended or of an earlier one."""

from dataclasses import dataclass, field

from evenhand.records.failures import Failed


@dataclass(frozen=True)
class LeaderboardRow:
    """One line of a leaderboard."""

    name: str
    mean: float | None
    std: float | None
    holdout: float | None
    train: float | None
    note: str = ""
    holdout_interval: tuple[float, float] | None = None
    measured: dict[str, float | None] = field(default_factory=dict)
    verdict: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """The candidates of a run, best first."""

    study: str
    metric: str
    rows: tuple[LeaderboardRow, ...]
    run_id: str
    when_ms: int
    n_executed: int
    n_reused: int
    address: str
    failed: tuple[Failed, ...] = ()
