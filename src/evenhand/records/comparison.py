"""The records of a comparison of runs or of studies, and of a study's history."""

from dataclasses import dataclass
from typing import Any

from evenhand.records.decision import as_plain

FOLDS, HOLDOUT = "folds", "holdout"


@dataclass(frozen=True)
class Value:
    """One metric of one model: over folds and on the holdout, with the 95 % interval of the latter."""

    cv: float | None = None
    cv_std: float | None = None
    holdout: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Side:
    """One run of a comparison: whose winner it is and what it was made of."""

    label: str
    run_id: str
    when_ms: int
    candidate: str
    split_id: str
    data: str
    values: dict[str, Value]


@dataclass(frozen=True)
class Gap:
    """By how much a run is better than the first in a metric, on the same folds or rows; worse is negative.

    `p_value` is Holm's, over the runs that are set against the first in this metric.
    """

    metric: str
    where: str
    first: float
    other: float
    better_by: float
    low: float
    high: float
    p_value: float
    method: str


@dataclass(frozen=True)
class Rival:
    """A run against the first one; `says_the_same` where both models say exactly the same of every row."""

    label: str
    gaps: tuple[Gap, ...]
    predicts_the_same: bool = False


@dataclass(frozen=True)
class RunContrast:
    """The winners of several runs on the same rows."""

    metric: str
    sides: tuple[Side, ...]
    rivals: tuple[Rival, ...]
    alpha: float
    n_folds: int
    n_rows: int
    is_rescored: bool = False
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The content of `--json`."""
        return {"kind": "runs", **as_plain(self)}


@dataclass(frozen=True)
class StudyContrast:
    """The candidates that several studies share, ranked over the studies; 1 is best.

    `groups` hold candidates that Nemenyi's test does not separate, the largest sets there are.
    """

    metric: str
    studies: tuple[str, ...]
    run_ids: tuple[str, ...]
    candidates: tuple[str, ...]
    figures: tuple[tuple[float, ...], ...]
    mean_ranks: tuple[float, ...]
    chi_squared: float
    chi_squared_p_value: float
    f_statistic: float
    p_value: float
    critical_difference: float
    alpha: float
    groups: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The content of `--json`."""
        return {"kind": "studies", **as_plain(self)}


@dataclass(frozen=True)
class Episode:
    """One finished run in the history of a study: its winner with the metric, and what was decided on it."""

    number: int
    run_id: str
    when_ms: int
    winner: str
    value: Value
    data: str
    split_id: str
    leaks: str
    verdicts: tuple[str, ...]


@dataclass(frozen=True)
class History:
    """The finished runs of a study, the oldest first."""

    study: str
    metric: str
    episodes: tuple[Episode, ...]
    n_unfinished: int = 0

    def as_json(self) -> dict[str, Any]:
        """The content of `--json`."""
        return {"kind": "history", **as_plain(self)}
