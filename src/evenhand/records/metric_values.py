"""The metrics of a candidate by their names in MLflow, and which names and numbers MLflow can hold."""

import math
import re
from collections.abc import Sequence

from evenhand.records.pipeline import Figures

Number = tuple[str, float | None, int]  # a name, a value and a step
Named = tuple[str, float, int]
KEY_LIMIT = 250


def measured(figures: Figures, first: str = "") -> list[Number]:
    """Means over folds, spreads, holdout, training and costs, each with its step; those of the metric `first` lead."""
    values: list[Number] = []
    for name in figures.folds:
        values += [(f"cv_{name}", figures.mean(name), 0), (f"cv_{name}_std", figures.std(name), 0)]
    values += [(f"holdout_{name}", value, 0) for name, value in figures.holdout.items()]
    values += [(f"train_{name}", value, 0) for name, value in figures.train.items()]
    values += [(f"cv_calibrated_{name}", value, 0) for name, value in figures.calibrated.items()]
    values += [(name, value, 0) for name, value in figures.measured.items()]
    leading = {f"cv_{first}", f"cv_{first}_std", f"holdout_{first}", f"train_{first}"}
    return sorted(values, key=lambda value: value[0] not in leading)


def only_finite(values: Sequence[Number]) -> tuple[list[Named], list[str]]:
    """The values that are numbers, and the names of the others: databases keep neither NaN nor infinity alike."""
    kept = [(key, float(value), step) for key, value, step in values if value is not None and math.isfinite(value)]
    names = {key for key, _, _ in kept}
    return kept, [key for key in dict.fromkeys(key for key, _, _ in values) if key not in names]


def plain_key(name: str) -> str:
    """A name of a parameter or metric that MLflow takes: letters, digits, `_-.` and spaces, and no path of dots."""
    plain = re.sub(r"[^\w\-. ]", "_", name)[:KEY_LIMIT]
    return plain if plain.strip(".") else f"_{plain}"
