"""What was seen in a data set, and how its words stand in a study file."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

HOLDOUT_SHARE = 0.2
FEW_ROWS, FEW_OF_A_CLASS = 2_000, 50
MOST_ROWS_FOR_KERNELS, MOST_ROWS_FOR_NEIGHBOURS, MOST_ROWS_FOR_MADE = 10_000, 50_000, 50_000
MOST_ROWS_FOR_SVR = 25_000  # a regression has no balances, so a study fits it a few times only
IMBALANCED = 0.25
NEIGHBOURS_OF_SMOTE = 5
TOP_VALUES = 20
SAFE_WORD = re.compile(r"[A-Za-z_][\w]*(?:[ -][\w]+)*")

LEAST_OF_A_CLASS = 5


@dataclass(frozen=True)
class DataProfile:
    """What was seen in a data set that a study file depends on."""

    source: dict[str, Any]
    found: tuple[str, ...]
    n_rows: int
    target: str
    counts: dict[Any, int] = field(default_factory=dict)  # rows of each class; empty where numbers are predicted
    n_numbers: int = 0  # different values of a target of numbers
    n_without_target: int = 0
    roles: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    missing_values: tuple[str, ...] = ()
    unreadable: int = 0  # values of columns in `types` that are neither of that kind nor in `missing_values`
    n_mostly_missing: int = 0
    most_values: int = 0
    skew: float = 0.0  # of a target of numbers
    lowest: float = 0.0
    time_fits: str = ""  # why rows cannot be split by time; empty if they can

    def of(self, role: str) -> list[str]:
        """The columns that play a role."""
        return [name for name, given in self.roles.items() if given == role]

    @property
    def kept(self) -> dict[Any, int]:
        """The classes with enough rows to be learned and judged."""
        return {value: count for value, count in self.counts.items() if count >= LEAST_OF_A_CLASS}

    @property
    def rarest(self) -> tuple[Any, int]:
        """The rarest class that is kept and its rows."""
        return min(self.kept.items(), key=lambda item: item[1])


def is_imbalanced(seen: DataProfile) -> bool:
    """Whether the rarest class has under a quarter of the rows it would have if all had the same."""
    if not seen.counts:
        return False
    kept = seen.kept
    return seen.rarest[1] < 2 * IMBALANCED * sum(kept.values()) / len(kept)


def folds_of(seen: DataProfile) -> int:
    """Five folds, fewer where the training rows of the rarest class would leave under three to a fold."""
    if not seen.counts:
        return 5 if seen.n_rows >= 50 else 2
    return max(2, min(5, int(seen.rarest[1] * (1 - HOLDOUT_SHARE)) // 3))


def scalar(value: Any) -> str:
    """A value as YAML that stands safely anywhere, in flow collections too."""
    if isinstance(value, str):
        is_plain = SAFE_WORD.fullmatch(value) and yaml.safe_load(value) == value
        return value if is_plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def flow(value: Any) -> str:
    """A value, list or mapping on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    return scalar(value)


def share_words(part: int, whole: int) -> str:
    """How many of how many rows, in words."""
    return f"{part:,} of {whole:,} rows ({part / whole:.2%})" if whole else "no rows"


def plain(value: Any) -> str:
    """A class as a study file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
