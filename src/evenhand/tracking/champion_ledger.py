"""Who is champion, and why: an append-only ledger in which every line vouches for all before it.

MLflow's alias goes to the last writer and has no history, so the truth is here and the alias is derived from it. A line
holds the hash of the line before; it is appended under a lock, only if the ledger still ends where the writer last
looked, and it counts once it is on the disk.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from evenhand.errors import EvenhandError
from evenhand.runtime.fault_injection import around
from evenhand.storage.artifact_store import home
from evenhand.storage.ledger import BEGINNING, Broken, append_line, broken, held, is_begun, read_chain, repair_chain
from evenhand.storage.locks import now, who

__all__ = [
    "Broken",
    "Contender",
    "Decision",
    "Decisions",
    "Looks",
    "Overtaken",
    "Verdict",
    "decide",
    "decisions_of",
    "ledger_path",
    "repair",
]

Verdict = Literal["promote", "keep", "incomparable", "error", "rollback", "restart"]
PROMOTING = ("promote", "rollback")


class Overtaken(EvenhandError):
    """Somebody else decided meanwhile."""


@dataclass(frozen=True)
class Contender:
    """A model that was decided on: its run, its version in the registry and the digest of its files."""

    run_id: str
    version: int = 0
    digest: str = ""


@dataclass(frozen=True)
class Decision:
    """One line of the ledger; `before` and `hash` are the links of the chain."""

    study: str
    verdict: Verdict
    why: str
    candidate: Contender
    champion: Contender | None = None
    data: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    who: str = ""
    when: str = ""
    number: int = 0
    before: str = BEGINNING
    hash: str = ""


@dataclass(frozen=True)
class Looks:
    """How often the gate compared a challenger with the champion, and what share of a false promotion that spent."""

    n_taken: int = 0
    spent: float = 0.0


def _spent(figures: dict[str, Any]) -> float:
    """The alpha of one look: what its interval left outside."""
    return 1 - float(figures["gap"]["level"])


@dataclass(frozen=True)
class Decisions:
    """The ledger of a study as it was read; `cut_off` is what a crash left of a line, which never counted."""

    lines: tuple[Decision, ...] = ()
    cut_off: bytes = b""

    @property
    def head(self) -> str:
        """What a writer must have seen last for its line to be taken."""
        return self.lines[-1].hash if self.lines else BEGINNING

    @property
    def champion(self) -> Contender | None:
        """Who serves now."""
        return self.promotions[-1].candidate if self.promotions else None

    @property
    def looks(self) -> "Looks":
        """The comparisons of the gate since its horizon was begun, and the alpha that they spent."""
        last = max((place for place, line in enumerate(self.lines, 1) if line.verdict == "restart"), default=0)
        taken = [line.figures for line in self.lines[last:] if line.verdict != "rollback" and line.figures.get("look")]
        return Looks(len(taken), sum(_spent(figures) for figures in taken))

    @property
    def promotions(self) -> tuple[Decision, ...]:
        """The decisions that made somebody champion."""
        return tuple(line for line in self.lines if line.verdict in PROMOTING)


def ledger_path(study: str) -> Path:
    """Where the decisions of a study are kept."""
    return home() / "decisions" / f"{study}.jsonl"


def decisions_of(study: str) -> Decisions:
    """The ledger of a study, checked line by line."""
    chain = read_chain(ledger_path(study), "ledger")
    return Decisions(tuple(_decision(study, line) for line in chain.lines), chain.cut_off)


def decide(decision: Decision, head: str) -> Decision:
    """Append a decision if the ledger still ends at `head`; the line as it was written."""
    file = ledger_path(decision.study)
    with held(file):
        _repair(decision.study)
        chain = read_chain(file, "ledger")
        if chain.head != head:
            last = decisions_of(decision.study).lines[-1]
            raise Overtaken(
                f"{last.who} decided on study '{decision.study}' meanwhile "
                f"({last.verdict} at {last.when}: {last.why}). Nothing was changed: look at "
                "`evenhand champion show` and decide again."
            )
        signed = asdict(decision) | {"who": decision.who or who(), "when": decision.when or now()}
        with around("decision.append"):
            return _decision(decision.study, append_line(file, signed, chain))


def repair(study: str) -> bytes:
    """Take away what a crash left of a line and put it aside; what that was."""
    if not is_begun(ledger_path(study)):
        return b""
    with held(ledger_path(study)):
        return _repair(study)


def _repair(study: str) -> bytes:
    file = ledger_path(study)
    return repair_chain(file, read_chain(file, "ledger"))


def _decision(study: str, content: dict[str, Any]) -> Decision:
    try:
        champion = content["champion"]
        parts = {"candidate": Contender(**content["candidate"]), "champion": champion and Contender(**champion)}
        return Decision(**(content | parts))
    except (KeyError, TypeError):
        where = f"line {content['number']} of the ledger '{ledger_path(study)}'"
        raise broken(where, "cannot be read") from None
