"""What the replication of one study came to, and of all of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.replication.lines import Line
from evenhand.study.study import Study


@dataclass(frozen=True)
class StudyOutcome:
    """The lines of one study, with pictures and single metrics for its run."""

    name: str
    lines: tuple[Line, ...]
    study: Study | None = None
    pictures: tuple[tuple[str, Any], ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Replication:
    """All lines of a command, and where they were recorded."""

    lines: tuple[Line, ...]
    seconds: float
    run_id: str
    page: Path
    with_beyond: bool = False

    def as_json(self) -> list[dict[str, Any]]:
        """The content of `--json`."""
        return [line.as_json(self.with_beyond) for line in self.lines]
