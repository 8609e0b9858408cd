"""Candidates whose fits are shown rows that they are judged on, without labels."""

from evenhand.errors import listed
from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding


def unlabelled_rows(rows: CheckedRows) -> CheckFinding:
    """Whether a fit is shown rows that it is judged on; where it is, that is asked for, and labels are not shown."""
    found = [each.name for each in rows.plans if each.sees_unlabelled]
    if not found:
        return CheckFinding("ok", "no candidate is shown rows that it is judged on")
    words = f"{listed(found, 3)}: values of the rows to be judged are counted too, without labels, as asked"
    return CheckFinding("note", words)
