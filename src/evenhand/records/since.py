"""What differs between a run and one before it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was."""

    what: str
    before: str
    now: str


@dataclass(frozen=True)
class SinceRun:
    """A run set against an earlier one: what differs, and by how much its candidate is better on the same held rows.

    `gain` is above 0 where this run is better, with its interval; None where the rows are not the same.
    """

    label: str
    role: str
    differences: tuple[Difference, ...] = ()
    verdict: str = ""
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class ColumnShape:
    """What the training rows hold in one column: ends, quantiles and counts between them, or its common values.

    `drift` is what became of it since the run before, in words; empty where nothing was compared.
    """

    name: str
    n_rows: int
    n_missing: int
    low: float | None = None
    high: float | None = None
    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    values: tuple[str, ...] = ()
    drift: str = ""
    is_drifted: bool = False
