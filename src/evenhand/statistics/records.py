"""What the statistics return: an interval, and a comparison of two models."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Interval:
    """Where a figure lies with the stated level of confidence, both ends included."""

    low: float
    high: float
    level: float

    def covers(self, value: float) -> bool:
        """Return whether the value is one the data do not speak against."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class PairedDifference:
    """First minus second: the difference, its interval, and how surprising it would be between equals."""

    difference: float
    interval: Interval
    statistic: float
    p_value: float
    method: str

    def differs(self, alpha: float = 0.05) -> bool:
        """Return whether the two differ significantly at the level alpha."""
        return self.p_value <= alpha


def codes_of_two(y: np.ndarray) -> np.ndarray:
    """Return which rows are of the second of two classes, in sorted order."""
    classes = np.unique(y)
    if classes.size != 2:
        raise ValueError(
            f"An area under the curve needs two classes, but y holds {classes.size}: {classes.tolist()[:5]}."
        )
    return np.asarray(y) == classes[1]
