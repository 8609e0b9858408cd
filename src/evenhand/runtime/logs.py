"""One place that logs what a task did, inside a run and outside."""

import logging
from typing import Any


def logger() -> Any:
    """The logger of the Prefect run, or a plain one named evenhand where there is no run."""
    from prefect import get_run_logger
    from prefect.exceptions import MissingContextError

    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger("evenhand")
