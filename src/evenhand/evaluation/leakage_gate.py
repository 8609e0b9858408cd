"""What is done about leakage checks: each is logged, and a failed one stops the run unless leaks are allowed."""

from collections.abc import Sequence

from evenhand.errors import DataError
from evenhand.records.pipeline import Check
from evenhand.runtime.logs import logger


def stop_at_leaks(found: Sequence[Check], allows_leaks: bool) -> None:
    """Log what each check found; raise what failed."""
    for each in found:
        logger().info("%s: %s: %s", each.verdict, each.name, each.words)
    failed = [each for each in found if each.verdict == "failed"]
    if failed and not allows_leaks:
        words = "\n".join(f"  {each.name}: {each.words}" for each in failed)
        looks = "1 leakage check failed" if len(failed) == 1 else f"{len(failed)} leakage checks failed"
        raise DataError(f"{looks}:\n{words}\nMend the study, or go on with --allow-leaks.")
