"""Commands that look after a model that serves: whether new rows have drifted, and how it really did."""

import time
from pathlib import Path

import click

from evenhand.cli.shared import echo, set_option


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
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    _check_changes(study, changes)
    with waiting("looking for drift"):
        found = eh.watch(study, rows, changes=changes, as_of=as_of)
        from evenhand.reporting.terminal.monitoring import show_watched

    show_watched(found)
    if retrain and found.state == "drift":
        _retrain(study, changes, found.against)
    if check and found.state in {"drift", "unknown"}:
        ctx.exit(1 if found.state == "drift" else 2)


@click.command()
@click.argument("study", metavar="CONF|STUDY")
@set_option
@click.option("--as-of", default="", metavar="TIME", help="The time that the figures stand for; left out: now.")
def feedback(study: str, changes: tuple[str, ...], as_of: str) -> None:
    """Evaluate past predictions of STUDY on the labels that arrived since, and keep the realized metrics over time."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    _check_changes(study, changes)
    with waiting("looking for labels"):
        found, notes = eh.feedback(study, changes=changes, as_of=as_of)
        from evenhand.reporting.terminal.monitoring import show_realized

    show_realized(found, notes)


def _check_changes(study: str, changes: tuple[str, ...]) -> None:
    """Refuse changes where only the name of a study was given."""
    if changes and not (study.endswith((".yaml", ".yml")) or Path(study).is_file()):
        raise click.UsageError("--set needs the study's file, such as conf/quickstart.yaml")


def _retrain(study: str, changes: tuple[str, ...], against: str) -> None:
    """Run the study again, as the file or the run that rows were compared with has it."""
    import evenhand as eh
    from evenhand.api.monitoring import given_study
    from evenhand.reporting.terminal.run import show_done, show_judgement
    from evenhand.runtime.progress import showing
    from evenhand.runtime.wall_clock import began

    echo("retraining, as asked ...")
    with showing(show_judgement):
        done = eh.run(given_study(study, changes) or eh.load_run(against).study)
    show_done(done.result, done.recalled, time.perf_counter() - began())


COMMANDS = (watch, feedback)
