"""What a run shows in Prefect's own pages: artifacts that a person finds without knowing where else to look."""

import re
from collections.abc import Callable
from typing import Any

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.context import FlowRunContext

from evenhand.records.report import Report
from evenhand.reporting.run_artifacts import leaderboard_rows
from evenhand.reporting.run_note import run_note, skip_note
from evenhand.runtime.logs import logger
from evenhand.service.supervisor import pages_kept_up
from evenhand.tracking.ui.links import mlflow_links


def publish(report: Report) -> Report:
    """Put leaderboard, verdict and links of a run beside it in Prefect; the report as it was."""
    links = mlflow_links(report.experiment_id, report.run_id, report.page is not None, pages_kept_up())
    _put(create_table_artifact, report.study, "leaderboard", table=leaderboard_rows(report.judgement))
    _put(create_markdown_artifact, report.study, "verdict", markdown=run_note(report, links))
    for name, address in links.items():
        _put(create_link_artifact, report.study, name, link=address, link_text=f"{name} of {report.study}")
    return report


def publish_skip(study: str, why: str) -> None:
    """Put beside a tick that ran nothing why it did not."""
    _put(create_markdown_artifact, study, "verdict", markdown=skip_note(why))


def _put(create: Callable[..., Any], study: str, name: str, **content: Any) -> None:
    """Make an artifact of the run under way; one that cannot be made costs a line in the log, not the run."""
    if FlowRunContext.get() is None:
        return
    key = re.sub(r"[^a-z0-9]+", "-", f"{study}-{name}".lower()).strip("-")
    try:
        create(key=key, description=f"{name} of {study}", **content)
    except Exception as error:  # of a server that went away, or that refuses what it is given
        logger().warning("the %s could not be shown in Prefect: %s: %s", name, type(error).__name__, error)
