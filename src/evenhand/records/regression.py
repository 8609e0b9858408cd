"""The table of a linear regression: its coefficients and how well it fits, on the rows it was fitted on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LEVEL = 0.95
COEFFICIENTS = "coefficients.json"  # beside the scores of a candidate that has a table


@dataclass(frozen=True)
class Coefficient:
    """One encoded column with its interval; `is_made_up` where other columns make it up, so that it could be left out.

    `variance_inflation` is None for the intercept and where it is infinite or unknown.
    """

    column: str
    coefficient: float
    standard_error: float
    t: float
    p: float
    low: float
    high: float
    variance_inflation: float | None = None
    is_made_up: bool = False


@dataclass(frozen=True)
class RegressionTable:
    """The coefficients of one candidate, fitted on all training rows, and the measures of its fit to those rows."""

    candidate: str
    n_rows: int
    degrees_of_freedom: int
    r2: float
    adjusted_r2: float
    residual_standard_error: float
    f: float
    f_degrees: int
    f_p: float
    target_transform: str
    coefficients: tuple[Coefficient, ...]

    @classmethod
    def from_facts(cls, candidate: str, facts: Mapping[str, Any]) -> "RegressionTable":
        """The table as the store keeps it."""
        rows = tuple(Coefficient(**each) for each in facts["coefficients"])
        return cls(candidate=candidate, **{**facts, "coefficients": rows})

    def as_columns(self) -> dict[str, list[Any]]:
        """The coefficients by column, as MLflow shows a table."""
        names = (
            "column", "coefficient", "standard_error", "t", "p", "low", "high", "variance_inflation", "is_made_up",
        )  # fmt: skip
        return {name: [getattr(each, name) for each in self.coefficients] for name in names}

    @property
    def measures(self) -> dict[str, float]:
        """The measures of fit by name."""
        names = (
            "n_rows", "degrees_of_freedom", "r2", "adjusted_r2", "residual_standard_error", "f", "f_degrees", "f_p",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}
