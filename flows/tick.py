"""A tick of a schedule: decide whether to run the study as of a moment, run it, write down what became of it."""

from datetime import UTC, datetime
from typing import Annotated, Any

from prefect import flow
from prefect.context import FlowRunContext
from prefect.states import Cancelled, Completed, State
from pydantic import Field

from evenhand.records.pipeline import Table
from evenhand.service.announcements import failure, notify, notify_skips
from evenhand.service.flow_run_names import name_skipped, run_name
from evenhand.service.schedules import clock, fail, has_finished, lateness, one_tick_of, refuse, refuse_unbounded
from evenhand.service.tick_ledger import Tick
from evenhand.service.tick_progress import reported
from evenhand.storage.locks import LockHeld
from evenhand.study.study import Study
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.operation.publishing import publish, publish_skip
from evenhand.tasks.operation.ticking import begin, finish, read, skip, unchanged


def _shown(title: str, description: str) -> Any:
    """What the form of the deployment says of a parameter."""
    return Field(json_schema_extra={"title": title, "description": description})


@flow(name="retrain-on-schedule", flow_run_name=run_name)
def tick(
    conf: Annotated[str, _shown("Study file", "The YAML file of the study, as a path on the machine that runs it.")],
    as_of: Annotated[
        datetime | None,
        _shown("As of", "Rows later than this by columns.time are not seen. Left empty: the time the run was due."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        _shown("Changed settings", "Settings to change for this run alone, one each, such as split.folds=10."),
    ] = None,
    because: Annotated[
        str | None, _shown("Reason", "Noted in the record of ticks. Left empty: schedule or trigger.")
    ] = None,
    force: Annotated[bool, _shown("Run in any case", "Run also if neither rows nor settings have changed.")] = False,
    promotes: Annotated[bool, _shown("Gate decides", "Off: the model is recorded and never made champion.")] = True,
) -> State[Tick]:
    """Retrain a study as of a moment, unless it comes too late, another run goes on, or nothing changed."""
    at = clock()
    try:
        study = read(conf, changes or [], promotes)
    except Exception as error:
        refuse(_due(None, as_of, because, at), conf, error)
        raise
    this = _due(study, as_of, because, at)
    try:
        with one_tick_of(study), reported(study.name):
            return _ticked(this, study, at, force)
    except LockHeld as held:
        why = skip(this, str(held)).why
        name_skipped(why)
        publish_skip(study.name, why)
        return Cancelled(message=why)


def check_bounded(study: Study, moment: datetime) -> None:
    """Refuse to run a study as of moments gone by if its rows cannot be ordered by time."""
    if study.columns.time is None:
        refuse_unbounded(study, moment, "there is no columns.time that says when a row came")
    if why := clean.fn(ingest.fn(study), study, moment).unbounded:
        refuse_unbounded(study, moment, why)


def _due(study: Study | None, as_of: datetime | None, because: str | None, at: datetime) -> Tick:
    """The tick that this run is for: of the times of the schedule that have come, the last; now, without a study."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    reason = because or ("schedule" if run is not None and run.auto_scheduled else "trigger")
    moment, schedule = at, study.schedule if study else None
    if as_of is not None:
        moment = as_of if as_of.tzinfo else as_of.replace(tzinfo=schedule.ticks.zone if schedule else UTC)
    elif reason == "schedule" and run is not None and run.expected_start_time and schedule:
        cron = schedule.ticks
        times = (cron.meant(datetime.fromtimestamp(run.expected_start_time.timestamp(), UTC)), cron.latest(at))
        moment = max(time for time in times if time is not None)
    when = moment.astimezone(UTC).isoformat(timespec="seconds")
    return Tick(study.name if study else "", when, "begun", because=reason, flow_run_id=str(run.id) if run else "")


def _ticked(this: Tick, study: Study, at: datetime, force: bool) -> State[Tick]:
    """The tick to its end; one that breaks leaves a line too, one that is killed only that it began.

    What learns is imported when it is needed, so that a tick which is skipped is over soon.
    """
    if this.because in {"schedule", "catch-up"} and (why := lateness(study, this.moment, at)):
        return _skipped(this, study, why)
    begin(this, study)
    try:
        table = clean(ingest(study), study, this.moment)
        this, why = unchanged(this, table, study)
        if not force and (why := _against(this, table, study, why)):
            return _skipped(this, study, why)
        from evenhand.flows.retrain import retrain
        from evenhand.service.engine import runner

        report = retrain.with_options(task_runner=runner(study))(study, as_of=this.moment)
        done = finish(this, report, table)
        publish(report)
        return Completed(message=done.why, data=done)
    except LockHeld:
        raise
    except Exception as error:
        fail(this, error)
        notify(study, failure(error, f"tick of {this.as_of}", as_of=this.as_of, because=this.because))
        raise


def _against(this: Tick, table: Table, study: Study, unchanged_because: str) -> str:
    """Why there is nothing to run by `on_change` and `on_drift`; without either, every tick runs."""
    schedule = study.schedule
    if schedule is None or schedule.on_change:
        return unchanged_because
    if schedule.on_drift and has_finished(this):
        from evenhand.flows.watch import on_drift

        found = on_drift(study, table, this.as_of)
        return "" if found.state == "drift" else found.words
    return ""


def _skipped(this: Tick, study: Study, why: str) -> State[Tick]:
    skipped = skip(this, why)
    name_skipped(why)
    publish_skip(study.name, why)
    notify_skips(study)
    return Completed(name="Skipped", message=why, data=skipped)
