"""Runs the leakage checks that are on, and what is done about them: each is logged, and an error stops the run."""

from collections.abc import Sequence
from dataclasses import replace

from evenhand.errors import DataError
from evenhand.evaluation.leakage.entry import CheckedRows, CheckEntry, CheckFinding
from evenhand.records.checks import SEVERITIES, Check
from evenhand.runtime.logs import logger
from evenhand.study.registry import CHECKS, named_object
from evenhand.study.study import Study

SWITCHED_OFF = CheckFinding("skipped", "switched off in checks")


def run_checks(rows: CheckedRows) -> list[Check]:
    """What every check found that has a function of its own."""
    entries = [entry for entry in CHECKS.values() if entry.home is not None]
    if not rows.table.is_multilabel:
        return [_check(entry, rows) for entry in entries]
    each = {label: rows.of_label(k) for k, label in enumerate(rows.table.classes)}
    return [_joined({label: _check(entry, one) for label, one in each.items()}) for entry in entries]


def _joined(found: dict[str, Check]) -> Check:
    """What a check found of all labels: the gravest, and the words of the labels that it was found of."""
    gravest = max(found.values(), key=lambda one: SEVERITIES.index(one.severity))
    alike = {label: one for label, one in found.items() if one.severity == gravest.severity}
    words = dict.fromkeys(one.words for one in alike.values())
    if len(words) == 1:
        return gravest
    return replace(gravest, words="; ".join(f"of {label}: {one.words}" for label, one in alike.items()))


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
