"""Commands that look after a model that serves: whether new rows have drifted, and how it really did."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.shared import set_option, study_of

if TYPE_CHECKING:
    from evenhand.study.study import Study


@click.command()
@click.argument("study", metavar="CONF|STUDY")
@click.argument("rows", metavar="NEWROWS")
@set_option
@click.option("--retrain", is_flag=True, help="Run the study again where there is drift.")
@click.option("--check", is_flag=True, help="End with exit code 1 on drift, 2 if it is unknown.")
@click.option("--as-of", default="", metavar="TIME", help="The time that the record stands for; left out: now.")
@click.pass_context
def watch(
    ctx: click.Context, study: str, rows: str, changes: tuple[str, ...], as_of: str, retrain: bool, check: bool
) -> None:
    """Report whether NEWROWS (a file) have drifted from what the champion of STUDY was trained on."""
    given = _conf(study, changes)
    from evenhand.api.launch import run_study, run_watch
    from evenhand.service.prefect_session import be_quiet

    be_quiet()
    from evenhand.reporting.terminal.monitoring import show_watched
    from evenhand.reporting.terminal.run import show_report
    from evenhand.storage.locks import now

    found = run_watch(given.name if given else study, rows, given, as_of or now())
    show_watched(found)
    if retrain and found.state == "drift":
        from evenhand.tracking.leaderboards import read_study

        click.echo("retraining, as asked ...")
        show_report(run_study(given or read_study(found.against)))
    if check and found.state in {"drift", "unknown"}:
        ctx.exit(1 if found.state == "drift" else 2)


@click.command()
@click.argument("study", metavar="CONF|STUDY")
@set_option
@click.option("--as-of", default="", metavar="TIME", help="The time that the figures stand for; left out: now.")
def feedback(study: str, changes: tuple[str, ...], as_of: str) -> None:
    """Evaluate past predictions of STUDY on the labels that arrived since, and keep the realized metrics over time."""
    given = _conf(study, changes)
    from evenhand.api.launch import run_feedback
    from evenhand.service.prefect_session import be_quiet

    be_quiet()
    from evenhand.reporting.terminal.monitoring import show_realized
    from evenhand.storage.locks import now
    from evenhand.tracking.leaderboards import read_latest_study

    found, notes = run_feedback(given or read_latest_study(study), as_of or now())
    show_realized(found, notes)


def _conf(study: str, changes: tuple[str, ...]) -> "Study | None":
    """The study in a file; none where only its name was given."""
    if study.endswith((".yaml", ".yml")) or Path(study).is_file():
        return study_of(study, changes)
    if changes:
        raise click.UsageError("--set needs the study's file, such as conf/quickstart.yaml")
    return None


COMMANDS = (watch, feedback)
