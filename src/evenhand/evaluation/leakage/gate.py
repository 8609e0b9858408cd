"""Runs the leakage checks that are on, and what is done about them: each is logged, and an error stops the run."""

from collections.abc import Sequence

from evenhand.errors import DataError
from evenhand.evaluation.leakage.entry import CheckedRows, CheckEntry, CheckFinding
from evenhand.records.checks import Check
from evenhand.runtime.logs import logger
from evenhand.study.registry import CHECKS, named_object
from evenhand.study.study import Study

SWITCHED_OFF = CheckFinding("skipped", "switched off in checks")


def run_checks(rows: CheckedRows) -> list[Check]:
    """What every check found that has a function of its own."""
    return [_check(entry, rows) for entry in CHECKS.values() if entry.home is not None]


def _check(entry: CheckEntry, rows: CheckedRows) -> Check:
    if not is_on(entry.name, rows.study):
        return switched_off(entry.name)
    found = named_object(str(entry.home), f"the check '{entry.name}'")(rows)
    return Check(entry.name, found.severity, found.words, found.remedy)


def is_on(name: str, study: Study) -> bool:
    """Whether a study has a check look."""
    return study.checks.get(name, True)


def switched_off(name: str) -> Check:
    """What is recorded of a check that a study switched off."""
    return Check(name, SWITCHED_OFF.severity, SWITCHED_OFF.words)


def stop_at_leaks(found: Sequence[Check], allows_leaks: bool) -> None:
    """Log what each check found; raise what is an error."""
    for each in found:
        logger().info("%s: %s: %s", each.severity, each.name, each.words)
    errors = [each for each in found if each.severity == "error"]
    if errors and not allows_leaks:
        words = "\n".join(f"  {each.name}: {each.words}. {each.remedy}".rstrip(". ") for each in errors)
        checks = "1 leakage check failed" if len(errors) == 1 else f"{len(errors)} leakage checks failed"
        raise DataError(f"{checks}:\n{words}\nFix the study, or go on with --allow-leaks.")
