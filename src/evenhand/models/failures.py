"""What could not be made in a run, and which candidates that leaves."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from evenhand.errors import ConfError, DataError, listed
from evenhand.records.failures import Failed
from evenhand.records.pipeline import Plan
from evenhand.runtime.logs import logger

PARTS: dict[str, Callable[[Plan], tuple[str, ...]]] = {
    "prepare": lambda made: (made.encoding,),
    "balance": lambda made: (made.encoding, made.balance),
    "tune": lambda made: (made.name,),
    "fit": lambda made: (made.name,),
}


class Failures:
    """Collects what fails in the stages of candidates; in a strict run the first failure ends it."""

    def __init__(self, plans: Sequence[Plan] = (), is_strict: bool = False, stopped: Sequence[Failed] = ()) -> None:
        self.plans, self.is_strict, self.stopped = plans, is_strict, tuple(stopped)
        self._why: dict[tuple[Any, ...], str] = {}
        self._words: dict[str, None] = {}
        self._late: set[str] = set()

    def spares(self, stage: str, key: Hashable, error: Exception) -> bool:
        """Note one part that could not be made, if it ends nothing but its candidates; `key` ends with its fold."""
        is_late = getattr(error, "is_late", False)
        if (self.is_strict and not is_late) or not isinstance(error, ConfError | DataError):
            return False
        *made_of, fold = key if isinstance(key, tuple) else (key, "")
        part = (stage, *made_of)
        if part not in self._why:
            report = logger().info if is_late else logger().warning
            what = "did not come to its turn" if is_late else "failed"
            report("%s of %s %s on %s: %s", stage, "/".join(map(str, made_of)), what, fold, error)
            self._why[part] = f"{getattr(error, 'cause', '') or error} ({fold})"
            self._words.setdefault(str(error))
        if is_late:
            self._late.add(str(made_of[0]))
        return True

    @property
    def left(self) -> list[Plan]:
        """The plans of which nothing failed; where none is left, the run ends with all reasons."""
        found = [made for made in self.plans if not self._reason(made)]
        if not found:
            raise DataError(next(iter(self._words)) if len(self._words) == 1 else _every(self.found))
        return found

    @property
    def found(self) -> tuple[Failed, ...]:
        """The plans of which something failed, each with the first reason, and those that were stopped before."""
        failed = (
            Failed(made.name, why, made.model, made.encoding, made.balance, {**made.params, **made.settled}, late)
            for made in self.plans
            if (why := self._reason(made))
            for late in [made.name in self._late]
        )
        return (*failed, *self.stopped)

    def _reason(self, made: Plan) -> str:
        return next((why for stage, part in PARTS.items() if (why := self._why.get((stage, *part(made))))), "")


def of_plans(plans: Sequence[Plan], results: Mapping[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """The results by candidate and fold of these plans alone."""
    names = {made.name for made in plans}
    return {(name, fold): result for (name, fold), result in results.items() if name in names}


def _every(failed: Sequence[Failed]) -> str:
    """All reasons, those that candidates share once."""
    by_why: dict[str, list[str]] = {}
    for each in failed:
        by_why.setdefault(each.why, []).append(each.name)
    lines = [f"  {listed(names, 4)}: {why}" for why, names in by_why.items()]
    return "\n".join([f"none of {len(failed)} candidates can be fitted:", *lines])
