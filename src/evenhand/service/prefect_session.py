"""A flow started from a program: the server that it needs, quiet libraries, and no record lost at the end."""

import logging
import os
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from evenhand.runtime.event_loop import away_from_loop
from evenhand.runtime.process_identity import own_children
from evenhand.service.prefect_server.at_hand import is_temporary, server_at_hand, start_server
from evenhand.service.prefect_server.temporary import TEMPORARY
from evenhand.service.prefect_server.unheard import give_up_soon

if TYPE_CHECKING:
    from uuid import UUID

QUIET = {
    "PREFECT_API_REQUEST_TIMEOUT": "30",  # one that is not answered is sent again, after a minute if this is not said
    "DO_NOT_TRACK": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}
SETTLE_SECONDS = 30.0
HEARD_SECONDS = 5.0


def be_quiet(console_level: str = "WARNING") -> None:
    """Let nothing leave the machine and keep Prefect's own lines off the console, unless the caller says otherwise."""
    for name, value in {**QUIET, "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": console_level}.items():
        os.environ.setdefault(name, value)
    warnings.filterwarnings("ignore", message="Hint: Inferred schema contains integer column")  # decisions never lack
    warnings.filterwarnings("ignore", message="'Threading' parallel backend is not supported")  # it uses all cores then
    logging.getLogger("gcsfs").setLevel(logging.CRITICAL)  # every try of several with its traceback
    warnings.filterwarnings("ignore", message="The 'alias' attribute with value")  # of packages imported side by side
    warnings.filterwarnings("ignore", message="n_quantiles")  # fewer rows than quantiles: one for each row is meant


def come_up() -> None:
    """Have a temporary Prefect server come up while a command goes on, unless one stays up here."""
    be_quiet()
    start_server()


def leave() -> None:
    """Have the temporary server end while a command shows what its last flow came to, once it has heard all of it."""
    if not TEMPORARY.api:
        return
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    for worker in (APILogWorker, EventsWorker):  # what is left would be sent to nobody, again and again for a minute
        worker.drain_all(timeout=HEARD_SECONDS)
    TEMPORARY.leave()


def heed(surroundings: Mapping[str, str]) -> None:
    """Set variables of the environment, for a Prefect that was imported before too: it reads them at its import."""
    os.environ.update(surroundings)
    if "prefect.context" in sys.modules:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()


def result_of(flow: Any, *arguments: Any, **named: Any) -> Any:
    """What a flow comes to, started from a program: failures are the caller's to report, and no record is lost."""
    return away_from_loop(lambda: _ended(flow, *arguments, **named).result())


def ended(flow: Any, *arguments: Any, **named: Any) -> Any:
    """The final state of a flow started from a program, also inside a running event loop."""
    return away_from_loop(partial(_ended, flow, *arguments, **named))


def _ended(flow: Any, *arguments: Any, **named: Any) -> Any:
    from httpx import HTTPError

    from evenhand.runtime.steps import Step

    own_children()
    with server_at_hand():
        leave_failures_to_the_caller()
        if not is_temporary():  # one that is temporary is started again while its run waits in line
            give_up_soon()
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
    """On a server that stays, close what killed processes of this machine left; whether there was any.

    A temporary server ends with its runs.
    """
    if is_temporary():
        return False
    from evenhand.service.deployments import close_lost

    return bool(close_lost())


def _owned() -> AbstractContextManager[Any]:
    """On a server that stays, a run says which process works on it, so that it can be closed when that is gone."""
    from prefect import tags

    from evenhand.runtime.process_identity import owner_tag

    return nullcontext() if is_temporary() else tags(owner_tag())


def _no_heartbeat() -> AbstractContextManager[Any]:
    """Nobody watches the heartbeat on a temporary server, and a flow waits up to a second for its end."""
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    return temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}) if is_temporary() else nullcontext()


def leave_failures_to_the_caller() -> None:
    """Keep off the console the tracebacks that Prefect writes for a failed task and its flow; they are raised too."""
    from prefect.logging.handlers import PrefectConsoleHandler

    _set_up_logs(tuple(sorted(each for each in os.environ.items() if each[0].startswith("PREFECT_LOGGING_"))))
    for handler in logging.getLogger().handlers:
        if isinstance(handler, PrefectConsoleHandler) and _is_no_failure not in handler.filters:
            handler.addFilter(_is_no_failure)


@lru_cache(maxsize=1)
def _set_up_logs(variables: tuple[tuple[str, str], ...]) -> None:
    """Have Prefect heed variables about its logs that came after its import; where they are as before, it has."""
    from prefect.logging.configuration import setup_logging

    setup_logging()


def _is_no_failure(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR or record.name not in {"prefect.flow_runs", "prefect.task_runs"}


def settle(flow_run_id: "UUID | None", n_expected: int | None) -> None:
    """Wait until the temporary server has written every task run; it drops what is under way when it ends.

    How many a run that failed has begun is not known, so there the count must stand still for a while.
    """
    from prefect.client.orchestration import get_client

    if not is_temporary():
        return
    seen: list[int] = []
    pauses = chain((0.02, 0.04, 0.08) if n_expected is not None else (), repeat(0.1))
    with get_client(sync_client=True) as client:
        family = _family(client, flow_run_id)
        while True:
            seen.append(n_kept := _n_ended(client, family))
            if n_kept > max(seen[:-1], default=-1):  # a busy machine is slow, and writes all the same
                deadline = time.monotonic() + SETTLE_SECONDS
            if n_kept >= n_expected if n_expected is not None else seen[-5:] == [n_kept] * 5:
                return
            if time.monotonic() > deadline:
                break
            time.sleep(next(pauses))
    logging.getLogger("evenhand").warning("Prefect kept %d task runs of %s", n_kept, n_expected)


def _family(client: Any, flow_run_id: "UUID | None") -> "list[UUID | None]":
    """A flow run with all that run inside it."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterParentFlowRunId

    family = newest = [flow_run_id]
    while newest:
        inside = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=newest))
        newest = [run.id for run in client.read_flow_runs(flow_run_filter=inside, limit=200)]
        family = [*family, *newest]
    return family


def _n_ended(client: Any, flow_runs: "list[UUID | None]") -> int:
    """How many task runs of these flow runs the server has written to their end."""
    from prefect.client.schemas.objects import TERMINAL_STATES

    body = {
        "flow_runs": {"id": {"any_": [str(each) for each in flow_runs]}},
        "task_runs": {"state": {"type": {"any_": sorted(TERMINAL_STATES)}}},
    }
    return int(client.request("POST", "/task_runs/count", json=body).json())
