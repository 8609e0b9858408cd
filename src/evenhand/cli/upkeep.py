"""Commands that keep a machine up: servers and schedules, what became of them, and a run now or of days gone by."""

import threading
from datetime import datetime
from pathlib import Path

import click

from evenhand.cli.shared import set_option

ONLY_DAY, WITH_TIME = "%Y-%m-%d", "%Y-%m-%dT%H:%M"
port_type = click.IntRange(1, 65535)


@click.command()
@click.argument("confs", nargs=-1, metavar="[CONF ...]", type=click.Path())
@click.option("--port", type=port_type, default=5000, show_default=True, help="Of MLflow's pages.")
@click.option("--prefect-port", type=port_type, default=4200, show_default=True, help="Of Prefect's pages and API.")
def up(confs: tuple[str, ...], port: int, prefect_port: int) -> None:
    """Start Prefect, MLflow and the schedules of study files or folders (left out: conf/), and stay until Ctrl-C."""
    import os

    from evenhand.service.prefect_session import be_quiet
    from evenhand.service.supervisor import Ports, household, keep_up, place, surroundings

    files, ports = _files(confs), Ports(prefect_port, port)
    with household(ports, files) as kept:
        os.environ.update(surroundings(ports))
        be_quiet()
        from evenhand.service.deployments import close_all
        from evenhand.tracking.locations import find_view

        click.echo("starting Prefect and MLflow ...")
        keep_up(kept, find_view().uri, click.echo, lambda asks: close_all(kept.confs, asks), threading.Event())
        click.echo(f"ended; logs in {place()}")


@click.command()
@click.argument("confs", nargs=-1, metavar="[CONF ...]", type=click.Path())
@click.option("--check", is_flag=True, help="Exit with 1 if a tick never came; needs nothing to be up.")
@click.pass_context
def status(ctx: click.Context, confs: tuple[str, ...], check: bool) -> None:
    """Show what is up, the next ticks, the last ones and the last verdicts."""
    from evenhand.service.status import notify_silences, system_status

    found = system_status(_known(confs, must_exist=check), _now(), asks_servers=not check)
    if check:
        notify_silences(_known(confs), _now())
    for line in found.late if check else found.lines:
        click.echo(line, err=check)
    if check and found.late:
        ctx.exit(1)


@click.command()
@click.argument("name")
@set_option
@click.option("--force", is_flag=True, help="Run even if nothing changed.")
@click.option("--wait", is_flag=True, help="Wait until it has ended; exit code 1 if it failed.")
@click.pass_context
def trigger(ctx: click.Context, name: str, changes: tuple[str, ...], force: bool, wait: bool) -> None:
    """Have `evenhand up` run the schedule NAME now."""
    _reach()
    from evenhand.service.deployments import start, wait_for
    from evenhand.study.loader import load_study

    load_study(_conf_of(name), changes)
    run_id = start(name, {"changes": list(changes), "force": force})
    click.echo(f"started flow run {run_id}")
    if wait:
        state = wait_for(run_id)
        click.echo(f"{state.name}: {state.message or 'nothing was said'}")
        ctx.exit(0 if state.is_completed() else 1)


@click.group()
def schedule() -> None:
    """List, pause or resume schedules."""


@schedule.command("list")
@click.argument("confs", nargs=-1, metavar="[CONF ...]", type=click.Path())
def list_schedules(confs: tuple[str, ...]) -> None:
    """List the schedules with their next tick."""
    from evenhand.service.status import schedule_lines

    for line in schedule_lines(_known(confs), _now()):
        click.echo(line)


@schedule.command()
@click.argument("name")
def pause(name: str) -> None:
    """Have the schedule NAME do nothing until it is resumed."""
    _set_paused(name, True)


@schedule.command()
@click.argument("name")
def resume(name: str) -> None:
    """Have the schedule NAME run again; ticks that passed meanwhile are not run later."""
    _set_paused(name, False)


@click.command()
@click.argument("conf", type=click.Path())
@click.option("--from", "first", required=True, type=click.DateTime([ONLY_DAY, WITH_TIME]), help="In the cron's zone.")
@click.option("--to", "last", required=True, type=click.DateTime([ONLY_DAY, WITH_TIME]), help="A day is meant whole.")
@click.option("--promote", is_flag=True, help="Let the gate decide; left out, no champion changes.")
def backfill(conf: str, first: datetime, last: datetime, promote: bool) -> None:
    """Run the ticks that CONF would have had between two dates, each on the rows up to its time."""
    from evenhand.api.launch import run_tick
    from evenhand.service.prefect_session import be_quiet
    from evenhand.service.status import ticks_between
    from evenhand.study.loader import load_study

    study = load_study(conf)
    ticks = ticks_between(study, first, last)
    be_quiet()
    from evenhand.flows.tick import check_bounded

    check_bounded(study, ticks[-1])
    for moment in ticks:
        done = run_tick(str(Path(conf).absolute()), moment, "backfill", promotes=promote)
        click.echo(f"{done.as_of[:16]}  {done.outcome}: {done.why}")


def _files(confs: tuple[str, ...]) -> list[str]:
    """The study files with a schedule among files and folders."""
    from evenhand.service.status import with_schedule

    return with_schedule(confs or ("conf",), must_exist=True)


def _known(confs: tuple[str, ...], must_exist: bool = False) -> list[str]:
    """The study files asked for, or those that `evenhand up` was last started with."""
    from evenhand.service.status import with_schedule
    from evenhand.service.supervisor import state

    return with_schedule(confs or state().get("confs", ("conf",)), must_exist)


def _now() -> datetime:
    from datetime import UTC

    return datetime.now(UTC)


def _reach() -> None:
    """Use the server that is up, with its key."""
    import os

    from evenhand.service.prefect_session import be_quiet
    from evenhand.service.status import reachable_server

    os.environ.update(reachable_server())
    be_quiet()


def _conf_of(name: str) -> str:
    from evenhand.errors import PlaceError, nearest
    from evenhand.service.deployments import conf_of, names

    if (conf := conf_of(name)) is None:
        known = names()
        raise PlaceError(
            f"there is no schedule '{name}'.{nearest(name, known)} There are: {', '.join(known) or 'none'}"
        )
    return conf


def _set_paused(name: str, is_paused: bool) -> None:
    from evenhand.service.status import is_up, paused_or_resumed

    paused_or_resumed(name, _known(()), is_paused, _now())
    if is_up():
        _reach()
        from evenhand.service.deployments import set_active

        set_active(name, not is_paused)
    click.echo(f"schedule {name} {'paused' if is_paused else 'resumed'}")


COMMANDS = (up, status, trigger, schedule, backfill)
