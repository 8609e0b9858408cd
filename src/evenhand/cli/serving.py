"""Commands about the champion: score with it, show it, change it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from evenhand.cli.shared import echo, study_argument


@click.command()
@study_argument
@click.argument("source", metavar="ROWS")
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--run", "run_id", help="The model of this run; left out: the champion's, else the latest run's.")
@click.option("--reasons", type=click.IntRange(1), metavar="N", help="Add the N strongest reasons of every score.")
def score(study: str, source: str, output: Path, run_id: str | None, reasons: int | None) -> None:
    """Score the ROWS of a file with the model of STUDY into OUTPUT (.parquet or .csv), with a manifest beside it."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting
    from evenhand.runtime.text import counted

    with waiting("scoring"):
        found: Any = eh.score(study, source, output, run_id=run_id, n_reasons=reasons or 0)
    model = f"version {found.version}" if found.version else "not registered"
    echo(f"scored {found.n_scored:,} of {found.n_rows:,} rows with run {found.run_id} ({model}) -> {output}")
    for column, wrong in found.strange.items():
        examples = ", ".join(f"'{value}'" for value in wrong["examples"])
        echo(f"no usable number in column '{column}': {counted(wrong['rows'], 'row')}, such as {examples}")
    if found.quarantine:
        echo(f"put aside {counted(found.n_quarantined, 'row')} -> {found.quarantine}")
    echo(f"manifest -> {found.manifest}")


@click.command()
@study_argument
@click.option("--port", type=click.IntRange(1, 65535), default=5001, show_default=True)
@click.option("--run", "run_id", help="The model of this run; left out: the champion's, else the latest run's.")
def serve(study: str, port: int, run_id: str | None) -> None:
    """Answer HTTP requests with the scores of STUDY's model until Ctrl-C, as `mlflow models serve` does, with a key."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting_reports

    with waiting_reports(echo) as report:
        eh.serve(study, port, run_id, report=report)


@click.group()
def champion() -> None:
    """Show or change the champion of a study; every change is kept with who, when and why."""


why_option = click.option("--why", required=True, help="The reason, which stays in the ledger.")
version_option = click.option("--version", type=click.IntRange(1), help="A version of the registry.")


@champion.command("show")
@study_argument
def show_champion(study: str) -> None:
    """Show the champion of STUDY; an alias in MLflow that names another one is reported and fixed."""
    _show_champion(study, _standing(study, lambda one: one))


@champion.command()
@study_argument
def history(study: str) -> None:
    """List every decision on STUDY, the latest last."""
    lines = _standing(study, lambda one: one).decisions.lines
    if not lines:
        echo(f"nothing was decided on study {study} yet: evenhand champion promote {study} --why '...'")
    for line in lines:
        candidate = f"version {line.candidate.version}" if line.candidate.version else f"run {line.candidate.run_id}"
        candidate = "the gate's horizon begins anew" if line.verdict == "restart" else candidate
        against = f", champion was version {line.champion.version}" if line.champion else ""
        echo(f"{line.number:>3}  {line.when}  {line.verdict}: {candidate}{against}")
        echo(f"     by {line.who}: {line.why}")


@champion.command()
@study_argument
@version_option
@why_option
def promote(study: str, version: int | None, why: str) -> None:
    """Make the model of the latest run of STUDY champion, or a version, once a clean process has proved it."""
    _show_champion(study, _standing(study, lambda one: one.promote(why, version)))


@champion.command()
@study_argument
@version_option
@why_option
def rollback(study: str, version: int | None, why: str) -> None:
    """Make the champion before, or an earlier one by its version, champion of STUDY again."""
    _show_champion(study, _standing(study, lambda one: one.rollback(why, version)))


@champion.command()
@study_argument
@why_option
def restart(study: str, why: str) -> None:
    """Begin the horizon of the gate of STUDY anew, so that its alpha may be spent once more."""
    _show_champion(study, _standing(study, lambda one: one.restart(why)))


def _standing(study: str, change: Callable[[Any], Any]) -> Any:
    """How the champion of a study stands after what is asked of it, with a line that moves meanwhile."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    with waiting("asking the ledger and MLflow"):
        return change(eh.champion(study)).standing


def _show_champion(study: str, found: Any) -> None:
    for words in found.fixed:
        echo(f"fixed: {words}")
    if not found.decisions.promotions:
        echo(f"study {study} has no champion yet: evenhand champion promote {study} --why '...'")
        return
    latest = found.decisions.promotions[-1]
    echo(f"champion of {study}: version {latest.candidate.version}, run {latest.candidate.run_id}")
    echo(f"since {latest.when} by {latest.who} ({latest.verdict}): {latest.why}")
    figures = {name: value for name, value in latest.figures.items() if isinstance(value, float)}  # not of a gate
    width = max(map(len, figures), default=0)
    for name, value in figures.items():
        echo(f"  {name:{width}}  {value:>10.4f}")
    if (looks := found.decisions.looks).n_taken:
        echo(f"looks of the gate since its horizon began: {looks.n_taken}, which spent {looks.spent:.4f} of alpha")


COMMANDS = (score, serve, champion)
