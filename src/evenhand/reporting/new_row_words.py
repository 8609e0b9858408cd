"""What a check on few new rows may come to, in words."""

from collections.abc import Callable

from evenhand.evaluation.new_row_limits import of_new_rows
from evenhand.records.verdicts import Expected

FEW = 200
FEW_FOR_INTERVAL = "too few rows of a class for an interval"


def few_rows_words(expected: Expected, written: Callable[[float], str]) -> str:
    """Within which limits a check on few new rows may come out, in words; nothing where that is not known."""
    if not expected.row_error:
        return ""
    _, low, high = of_new_rows(expected, FEW)
    return f"; of {FEW} new rows {written(low)} to {written(high)}"
