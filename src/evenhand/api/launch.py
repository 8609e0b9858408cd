"""Starting a flow from a program: the server it needs, the runner it asks for, and no record lost at the end."""

import threading
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenhand.runtime.event_loop import away_from_loop
from evenhand.service.places import check_places
from evenhand.service.prefect_session import ended, result_of, start_server
from evenhand.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.flows.feedback import RealizedPerformance
    from evenhand.flows.score import Scored
    from evenhand.flows.watch import Watched
    from evenhand.records.report import Report
    from evenhand.replication.outcome import Replication
    from evenhand.service.tick_ledger import Tick


def run_study(
    study: Study, only: str | None = None, *, accepts_contract: bool = False, allows_leaks: bool = False
) -> "Report":
    """The report of a retraining run; a Prefect server starts beside the imports where none is configured."""
    return away_from_loop(partial(_run_study, study, only, accepts_contract, allows_leaks))


def _run_study(study: Study, *settings: Any) -> "Report":
    check_places()
    server = threading.Thread(target=start_server, daemon=True)
    server.start()
    from evenhand.data.in_memory import with_kept_rows
    from evenhand.flows.retrain import retrain
    from evenhand.service.engine import runner

    study = with_kept_rows(study)
    server.join()
    flow = retrain.with_options(task_runner=runner(study))
    state = ended(flow, study, *settings)
    try:
        return cast("Report", state.result())
    except Exception as error:
        _notify_failure(study, error, str(state.state_details.flow_run_id))
        raise


def _notify_failure(study: Study, error: Exception, key: str) -> None:
    from evenhand.service.announcements import failure, notify

    notify(study, failure(error, key))


def run_tick(conf: str, as_of: datetime, because: str, promotes: bool) -> "Tick":
    """What became of a tick that is run here and now; a Prefect server starts where none is configured."""
    check_places()
    away_from_loop(start_server)
    from evenhand.flows.tick import tick

    return cast("Tick", result_of(tick, conf, as_of, because=because, promotes=promotes))


def run_scoring(study: str, source: str, output: Path, run_id: str | None = None) -> "Scored":
    """What came of scoring the rows of a file."""
    check_places()
    from evenhand.flows.score import score

    return result_of(score, study, source, output, run_id)


def run_watch(name: str, source: str, study: Study | None = None, as_of: str = "") -> "Watched":
    """What the rows of a file have moved by since the champion of a study was trained."""
    check_places()
    from evenhand.flows.watch import watch

    return result_of(watch, name, source, study, as_of)


def run_feedback(study: Study, as_of: str) -> "tuple[list[RealizedPerformance], list[str]]":
    """What labels that arrived say of each model that scored rows of a study, and notes on rows that do not fit."""
    check_places()
    from evenhand.flows.feedback import feedback

    return result_of(feedback, study, as_of)


def run_replication(
    studies: "Mapping[str, Study | None]", beyond: "Mapping[str, Study] | None" = None
) -> "Replication":
    """The published figures beside the measured ones."""
    check_places()
    from evenhand.flows.replicate import replicate

    return result_of(replicate, studies, beyond)
