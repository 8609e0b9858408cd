"""One candidate tried on a share of the rows: how good it was there, and what that cost."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attempt:
    """The score of a candidate that learned from a share of one fold's training rows, with its standard error.

    `seconds` are those of the clock when it was made, `fit_seconds` those of them that fitting and predicting took, and
    `cpu_seconds` those that its thread worked meanwhile; found in the store, they are the same again.
    """

    plan: str
    share: float
    n_rows: int
    score: float
    error: float
    seconds: float
    refused: str = ""
    is_too_slow: bool = False
    reused: bool = False
    fit_seconds: float | None = None
    cpu_seconds: float | None = None

    @property
    def clock(self) -> float:
        """What another fit on as many rows would take by the clock: rows are read and encoded once for all folds."""
        return self.seconds if self.fit_seconds is None else self.fit_seconds

    @property
    def work(self) -> float:
        """The same in seconds of a processor, as far as they are known."""
        return self.clock if self.cpu_seconds is None else self.cpu_seconds
