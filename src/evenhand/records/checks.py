"""What leakage checks found: one record for page, terminal, MLflow and `--json`."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["ok", "note", "warning", "error", "skipped"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
WORST_FIRST: tuple[Severity, ...] = ("error", "warning", "note", "ok", "skipped")


@dataclass(frozen=True)
class Check:
    """What one leakage check found: how grave it is, the evidence, and what to do about it."""

    name: str
    severity: Severity
    words: str
    remedy: str = ""


def counted_by_severity(severities: Iterable[str]) -> str:
    """How many checks came to what, the gravest first."""
    found = Counter(severities)
    plural = {"note": "notes", "warning": "warnings", "error": "errors"}
    return ", ".join(
        f"{found[each]} {plural.get(each, each) if found[each] > 1 else each}" for each in WORST_FIRST if found[each]
    )
