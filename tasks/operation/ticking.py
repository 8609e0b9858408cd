"""What a tick of a schedule asks and writes down, before and after the study is run."""

from collections.abc import Sequence
from dataclasses import replace

from evenhand.records.pipeline import Table
from evenhand.records.report import Report
from evenhand.runtime.logs import logger
from evenhand.runtime.steps import step
from evenhand.runtime.text import counted
from evenhand.service.schedules import record_skip, tick_tags
from evenhand.service.tick_ledger import (
    ON_TIME,
    Tick,
    last_finished,
    missed,
    note,
    settings_digest,
    shown,
    ticks_of,
)
from evenhand.study.loader import load_study
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client


@step("read")
def read(conf: str, changes: Sequence[str], promotes: bool) -> Study:
    """The study of a file with its changes; a mistake ends the tick before any store is touched."""
    study = load_study(conf, changes)
    return study if promotes else study.model_copy(update={"gate": None})


@step("begin")
def begin(tick: Tick, study: Study) -> Tick:
    """The line of a tick that goes to work; ticks before it that never came are noted with it."""
    if study.schedule is not None and tick.because in ON_TIME:
        lines = missed(ticks_of(study.name), study.schedule, tick.moment)
        if lines:
            why = f"{counted(len(lines), 'tick')} from {shown(lines[0])} on never came; this one is run for all"
            note(replace(tick, as_of=lines[-1].isoformat(), outcome="missed", why=why))
            logger().warning(why)
    return note(replace(tick, outcome="begun"))


@step("look for changes")
def unchanged(tick: Tick, table: Table, study: Study) -> tuple[Tick, str]:
    """The tick with the digests of its rows and settings, and why there is nothing to do; empty where there is."""
    tick = replace(tick, data=table.digest, settings=settings_digest(study))
    last = last_finished(ticks_of(study.name), tick.moment)
    if last is None or (last.data, last.settings) != (tick.data, tick.settings):
        return tick, ""
    return tick, f"neither data nor settings changed since the tick of {shown(last.moment)}"


@step("record skip")
def skip(tick: Tick, why: str) -> Tick:
    """The line of a tick that ran nothing."""
    recorded = record_skip(tick, why)
    logger().info("skipped: %s", why)
    return recorded


@step("record tick")
def finish(tick: Tick, report: Report, table: Table) -> Tick:
    """The line of a tick that retrained, whose run in MLflow is tagged with what it was for."""
    mlflow_client.log_tags(mlflow_client.open_store(), report.run_id, tick_tags(tick))
    why = report.notes[-1] if report.notes else f"{counted(report.n_executed, 'fit')} done, {report.n_reused:,} reused"
    words = "; ".join(part for part in (why, table.unbounded) if part)
    return note(replace(tick, outcome="retrained", why=words, run_id=report.run_id))
