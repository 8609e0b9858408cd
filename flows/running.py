"""Starting a flow from a program: the server it needs, the runner it asks for, and no record lost at the end."""

import logging
import os
import threading
import time
import warnings
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.processes import end_left_servers, own_children
from evenhand.settings import Study
from evenhand.stopping import deaf_to_ctrl_c

if TYPE_CHECKING:
    from uuid import UUID

    from evenhand.flows.feedback import Realised
    from evenhand.flows.score import Scored
    from evenhand.flows.watch import Watched
    from evenhand.tables import Report
    from evenhand.tasks.ticking import Tick

QUIET = {
    "DO_NOT_TRACK": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "90",
}
SETTLE_SECONDS = 30.0


def be_quiet(console_level: str = "WARNING") -> None:
    """Let nothing leave the machine and keep Prefect's own lines off the console, unless the caller says otherwise."""
    for name, value in {**QUIET, "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": console_level}.items():
        os.environ.setdefault(name, value)
    warnings.filterwarnings("ignore", message="Hint: Inferred schema contains integer column")  # decisions never lack
    warnings.filterwarnings("ignore", message="'Threading' parallel backend is not supported")  # it uses all cores then
    logging.getLogger("gcsfs").setLevel(logging.CRITICAL)  # every try of several with its traceback
    warnings.filterwarnings("ignore", message="The 'alias' attribute with value")  # of packages imported side by side
    warnings.filterwarnings("ignore", message="n_quantiles")  # fewer rows than quantiles: one for each row is meant


def run_study(
    study: Study, only: str | None = None, *, accepts_contract: bool = False, allows_leaks: bool = False
) -> "Report":
    """The report of a retraining run; a Prefect server starts beside the imports where none is configured."""
    server = threading.Thread(target=_start_server, daemon=True)
    server.start()
    from evenhand.flows.retrain import retrain
    from evenhand.flows.side_by_side import runner

    server.join()
    flow = retrain.with_options(task_runner=runner(study))
    state = _ended(flow, study, only, accepts_contract, allows_leaks)
    try:
        return state.result()
    except Exception as error:
        _tell_failure(study, error, str(state.state_details.flow_run_id))
        raise


def whole(flow: Any, *arguments: Any, **named: Any) -> Any:
    """What a flow comes to, started from a program: failures are the caller's to tell, and no record is lost."""
    return _ended(flow, *arguments, **named).result()


def _ended(flow: Any, *arguments: Any, **named: Any) -> Any:
    from httpx import HTTPError

    from evenhand.steps import Step

    leave_failures_to_the_caller()
    has_closed = _close_lost()
    n_before = Step.n_called
    with _no_heartbeat(), _owned():
        state = flow(*arguments, **named, return_state=True)
    has_flow_within = flow.name == "retrain-on-schedule"  # whose steps are counted too, but are not this flow's
    n_expected = Step.n_called - n_before if state.is_completed() and not has_flow_within else None
    settle(state.state_details.flow_run_id, n_expected)
    if has_closed:  # by now the server has written all that the dead sent it
        with suppress(HTTPError):
            _close_lost()
    return state


def _close_lost() -> bool:
    """On a server that stays, close what killed processes of this machine left, and tell whether there were such runs.

    A temporary server ends with its runs.
    """
    from prefect.settings import PREFECT_API_URL

    if not PREFECT_API_URL.value():
        return False
    from evenhand.flows.keeping import close_lost

    return bool(close_lost())


def _tell_failure(study: Study, error: Exception, key: str) -> None:
    from evenhand.tasks.telling import failure, tell

    tell(study, failure(error, key))


def run_tick(conf: str, as_of: datetime, because: str, promotes: bool) -> "Tick":
    """What became of a tick that is run here and now; a Prefect server starts where none is configured."""
    _start_server()
    from evenhand.flows.tick import tick

    return whole(tick, conf, as_of, because=because, promotes=promotes)


def run_scoring(study: str, source: str, output: Path, run_id: str | None = None) -> "Scored":
    """What came of scoring the rows of a file."""
    from evenhand.flows.score import score

    return whole(score, study, source, output, run_id)


def run_watch(name: str, source: str, study: Study | None = None, as_of: str = "") -> "Watched":
    """What the rows of a file have moved by since the champion of a study was trained."""
    from evenhand.flows.watch import watch

    return whole(watch, name, source, study, as_of)


def run_feedback(study: Study, as_of: str) -> "tuple[list[Realised], list[str]]":
    """What labels that arrived say of each model that scored rows of a study, and notes on rows that do not fit."""
    from evenhand.flows.feedback import feedback

    return whole(feedback, study, as_of)


def _owned() -> AbstractContextManager[Any]:
    """On a server that stays, a run says which process works on it, so that it can be closed when that is gone."""
    from prefect import tags
    from prefect.settings import PREFECT_API_URL

    from evenhand.processes import owner_tag

    return tags(owner_tag()) if PREFECT_API_URL.value() else nullcontext()


def _no_heartbeat() -> AbstractContextManager[Any]:
    """Nobody watches the heartbeat on a temporary server, and a flow waits up to a second for its end."""
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    return nullcontext() if PREFECT_API_URL.value() else temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None})


def _start_server() -> None:
    """Start Prefect's temporary server early, so that it comes up while the learners are imported."""
    from prefect.settings import PREFECT_API_URL

    if PREFECT_API_URL.value():
        return
    from prefect.server.api.server import SubprocessASGIServer

    end_left_servers()
    own_children()
    with deaf_to_ctrl_c():
        SubprocessASGIServer().start()


def leave_failures_to_the_caller() -> None:
    """Keep off the console the tracebacks that Prefect writes for a failed task and its flow; they are raised too."""
    from prefect.logging.configuration import setup_logging
    from prefect.logging.handlers import PrefectConsoleHandler

    setup_logging()
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler) and _is_no_failure not in handler.filters:
            handler.addFilter(_is_no_failure)


def _is_no_failure(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR or record.name not in {"prefect.flow_runs", "prefect.task_runs"}


def settle(flow_run_id: "UUID | None", n_expected: int | None) -> None:
    """Wait until the temporary server has written every task run; it drops what is under way when it ends.

    How many a run that failed has begun is not known, so there the count must stand still for a while.
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
    from prefect.settings import PREFECT_API_URL

    if PREFECT_API_URL.value():
        return
    chosen = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id]))
    deadline = time.monotonic() + SETTLE_SECONDS
    seen: list[int] = []
    with get_client(sync_client=True) as client:
        while True:
            n_kept = sum(run.state is not None and run.state.is_final() for run in _all_task_runs(client, chosen))
            seen.append(n_kept)
            if n_kept >= n_expected if n_expected is not None else seen[-5:] == [n_kept] * 5:
                return
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
    logging.getLogger("evenhand").warning("Prefect kept %d task runs of %s", n_kept, n_expected)


def _all_task_runs(client: Any, chosen: Any, page: int = 200) -> list[Any]:
    runs: list[Any] = []
    while len(more := client.read_task_runs(flow_run_filter=chosen, limit=page, offset=len(runs))) == page:
        runs += more
    return runs + more
