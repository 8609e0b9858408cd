"""One place that logs what a task did, inside a run and outside; no line holds a secret or steers a terminal."""

import logging
from typing import Any

from evenhand.runtime.redaction import masked_text
from evenhand.runtime.text import printable

ENDED_WELL = "Finished in state Completed()"


def logger() -> Any:
    """The logger of the Prefect run, or a plain one named evenhand where there is no run."""
    from prefect import get_run_logger
    from prefect.exceptions import MissingContextError

    try:
        found = get_run_logger()
    except MissingContextError:
        found = logging.getLogger("evenhand")
    plain = found.logger if isinstance(found, logging.LoggerAdapter) else found
    plain.addFilter(_as_text)  # once: a filter that is there is not added again
    return found


def _as_text(record: logging.LogRecord) -> bool:
    """Let every line through, as text without secrets; but none for each part that ended well, as its state says so."""
    if record.name == "prefect.task_runs" and record.getMessage() == ENDED_WELL:
        return False
    record.msg, record.args = printable(masked_text(record.getMessage())), ()
    return True
