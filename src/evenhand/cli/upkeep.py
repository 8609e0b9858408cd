"""Commands that keep a machine up: servers and schedules, what became of them, and a run now or of days gone by."""

from datetime import datetime

import click

from evenhand.cli.shared import StudyName, echo, set_option

ONLY_DAY, WITH_TIME = "%Y-%m-%d", "%Y-%m-%dT%H:%M"
port_type = click.IntRange(1, 65535)
schedule_argument = click.argument("name", metavar="CONF|NAME", type=StudyName())


@click.command()
@click.argument("confs", nargs=-1, metavar="[CONF ...]", type=click.Path())
@click.option("--port", type=port_type, default=5000, show_default=True, help="Of MLflow's pages.")
@click.option("--prefect-port", type=port_type, default=4200, show_default=True, help="Of Prefect's pages and API.")
@click.option(
    "--at-once", type=click.IntRange(1), default=4, show_default=True, help="Runs at most; others that are due wait."
)
def up(confs: tuple[str, ...], port: int, prefect_port: int, at_once: int) -> None:
    """Start Prefect, MLflow and the schedules of study files or folders (left out: conf/), and stay until Ctrl-C."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting_reports

    with waiting_reports(echo, idle="up; Ctrl-C ends") as report:
        eh.up(*confs, port=port, prefect_port=prefect_port, at_once=at_once, report=report)


@click.command()
@click.argument("confs", nargs=-1, metavar="[CONF ...]", type=click.Path())
@click.option("--check", is_flag=True, help="Exit with 1 if a tick never came; needs nothing to be up.")
@click.pass_context
def status(ctx: click.Context, confs: tuple[str, ...], check: bool) -> None:
    """Show what is up, the next ticks, the last ones and the last verdicts."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    with waiting("asking Prefect and MLflow"):
        found = eh.status(*confs, check=check)
    for line in found.late if check else found.lines:
        echo(line, err=check)
    if check and found.late:
        ctx.exit(1)


@click.command()
@schedule_argument
@set_option
@click.option("--force", is_flag=True, help="Run even if nothing changed.")
@click.option("--wait", is_flag=True, help="Wait until it has ended; exit code 1 if it failed.")
@click.pass_context
def trigger(ctx: click.Context, name: str, changes: tuple[str, ...], force: bool, wait: bool) -> None:
    """Have `evenhand up` run the schedule NAME now."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    with waiting("asking Prefect"):
        asked = eh.trigger(name, changes, force=force)
    echo(f"started flow run {asked.flow_run_id}")
    if wait:
        with waiting("running"):
            state = asked.wait()
        echo(f"{state.name}: {state.message or 'nothing was said'}")
        ctx.exit(0 if state.is_completed() else 1)


@click.group()
def schedule() -> None:
    """List, pause or resume schedules."""


@schedule.command("list")
@click.argument("confs", nargs=-1, metavar="[CONF ...]", type=click.Path())
def list_schedules(confs: tuple[str, ...]) -> None:
    """List the schedules with their next tick."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    with waiting("asking Prefect"):
        found = eh.schedules(*confs)
    for line in found:
        echo(line)


@schedule.command()
@schedule_argument
def pause(name: str) -> None:
    """Have the schedule NAME do nothing until it is resumed."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    with waiting("asking Prefect"):
        eh.pause(name)
    echo(f"schedule {name} paused")


@schedule.command()
@schedule_argument
def resume(name: str) -> None:
    """Have the schedule NAME run again; ticks that passed meanwhile are not run later."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    with waiting("asking Prefect"):
        eh.resume(name)
    echo(f"schedule {name} resumed")


@click.command()
@click.argument("conf", type=click.Path())
@click.option("--from", "first", required=True, type=click.DateTime([ONLY_DAY, WITH_TIME]), help="In the cron's zone.")
@click.option("--to", "last", required=True, type=click.DateTime([ONLY_DAY, WITH_TIME]), help="A day is meant whole.")
@click.option("--promote", is_flag=True, help="Let the gate decide; left out, no champion changes.")
def backfill(conf: str, first: datetime, last: datetime, promote: bool) -> None:
    """Run the ticks that CONF would have had between two dates, each on the rows up to its time."""
    from evenhand.api.schedules import backfill_ticks
    from evenhand.reporting.terminal.waiting import waiting

    ticks = iter(backfill_ticks(conf, first, last, promote=promote))
    while True:
        with waiting("running the next tick"):
            done = next(ticks, None)
        if done is None:
            break
        echo(f"{done.as_of[:16]}  {done.outcome}: {done.why}")


COMMANDS = (up, status, trigger, schedule, backfill)
