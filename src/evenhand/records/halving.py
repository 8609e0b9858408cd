"""One candidate tried on a share of the rows: how good it was there, and what that cost."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attempt:
    """The score of a candidate that learned from a share of one fold's training rows, with its standard error.

    `seconds` are those of the clock when it was made; found in the store, they are the same again.
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
