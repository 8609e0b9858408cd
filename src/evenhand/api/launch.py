"""Starting a flow from a program: the server it needs, the runner it asks for, and no record lost at the end."""

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evenhand.runtime.event_loop import away_from_loop
from evenhand.runtime.io_errors import reporting_io
from evenhand.runtime.progress import report_progress
from evenhand.runtime.starting import NOT_USED, importing, without
from evenhand.runtime.wall_clock import counting
from evenhand.service.places import check_places
from evenhand.service.prefect_server.at_hand import start_server
from evenhand.service.prefect_session import be_quiet, ended, result_of
from evenhand.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.flows.feedback import RealizedPerformance
    from evenhand.flows.score import Scored
    from evenhand.flows.watch import Watched
    from evenhand.records.report import Report
    from evenhand.records.standing import Recalled
    from evenhand.replication.outcome import Replication
    from evenhand.service.tick_ledger import Tick


def prepare() -> None:
    """Have a Prefect server come up while the program goes on importing, if the places of a run can be used."""
    be_quiet()
    check_places()
    away_from_loop(start_server)


def run_study(
    study: Study,
    only: str | None = None,
    *,
    accepts_contract: bool = False,
    allows_leaks: bool = False,
    again: bool = False,
) -> "Report | Recalled":
    """The report of a retraining run, or the run before if nothing has changed since and `again` does not ask for it.

    A Prefect server starts beside the imports where none is up.
    """
    with counting():
        return away_from_loop(partial(_run_study, study, again, only, accepts_contract, allows_leaks))


def _run_study(study: Study, again: bool, *settings: Any) -> "Report | Recalled":
    check_places()
    start_server()
    report_progress("load", 0, 1)
    with importing():
        from evenhand.data.in_memory import with_kept_rows
        from evenhand.service.unchanged import key_of, remember

    study = with_kept_rows(study)
    key = key_of(study, *settings)
    if key and not again and (recalled := _recalled(study, key)):
        return recalled
    with importing(), without(*NOT_USED):
        import skops.io  # noqa: F401  it looks for all of NumPy in every module loaded: after the others it is slow

        from evenhand.flows.retrain import retrain
    from evenhand.service.engine import runner

    report_progress("load", 1, 1)
    flow = retrain.with_options(task_runner=runner(study))
    state = ended(flow, study, *settings)
    try:
        with reporting_io():
            report = cast("Report", state.result())
    except Exception as error:
        _notify_failure(study, error, str(state.state_details.flow_run_id))
        raise
    if key:
        remember(study, key, report)
    return report


def _recalled(study: Study, key: str) -> "Recalled | None":
    """The run before, if it was made of the same and is the latest."""
    from evenhand.service.unchanged import standing_of

    if (standing := standing_of(study, key)) is None:
        return None
    with importing(), without(*NOT_USED):
        from evenhand.flows.recall import retrain_unchanged
        from evenhand.tracking.mlflow_client import import_store

        import_store()  # while Prefect's server comes up
    report_progress("load", 1, 1)
    return cast("Recalled | None", result_of(retrain_unchanged, standing))


def _notify_failure(study: Study, error: Exception, key: str) -> None:
    from evenhand.service.announcements import failure, notify

    notify(study, failure(error, key))


def run_tick(conf: str, as_of: datetime, because: str, promotes: bool) -> "Tick":
    """What became of a tick that is run here and now; a Prefect server starts where none is configured."""
    prepare()
    from evenhand.flows.tick import tick

    return cast("Tick", result_of(tick, conf, as_of, because=because, promotes=promotes))


def run_scoring(study: str, source: str, output: Path, run_id: str | None = None, n_reasons: int = 0) -> "Scored":
    """What came of scoring the rows of a file."""
    prepare()
    from evenhand.flows.score import score

    return result_of(score, study, source, output, run_id, n_reasons)


def run_watch(name: str, source: str, study: Study | None = None, as_of: str = "") -> "Watched":
    """What the rows of a file have moved by since the champion of a study was trained."""
    prepare()
    from evenhand.flows.watch import watch

    return result_of(watch, name, source, study, as_of)


def run_feedback(study: Study, as_of: str) -> "tuple[list[RealizedPerformance], list[str]]":
    """What labels that arrived say of each model that scored rows of a study, and notes on rows that do not fit."""
    prepare()
    from evenhand.flows.feedback import feedback

    return result_of(feedback, study, as_of)


def run_replication(
    studies: "Mapping[str, Study | None]", beyond: "Mapping[str, Study] | None" = None
) -> "Replication":
    """The published figures beside the measured ones."""
    prepare()
    from evenhand.flows.replicate import replicate

    return result_of(replicate, studies, beyond)
