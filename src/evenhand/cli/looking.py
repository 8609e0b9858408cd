"""Commands that show what was found: leaderboards, pages, and the state of this machine."""

import click

from evenhand.cli.shared import STDOUT, RegistryOption, StudyName, check_json, echo, json_option, write_json


@click.command()
@click.argument("study", metavar="[CONF|STUDY]", type=StudyName(), required=False)
@click.option(
    "--metric", cls=RegistryOption, registry="METRICS", help="Rank by this metric instead of the study's own."
)
@click.option("--history", is_flag=True, help="Show the winners of all runs over time, with the verdicts on them.")
@json_option
def show(study: str | None, metric: str | None, history: bool, json_file: str | None) -> None:
    """Show the leaderboard of the latest run of STUDY, read from MLflow; without STUDY, list the studies."""
    from evenhand.reporting.terminal.waiting import waiting
    from evenhand.service.prefect_session import be_quiet

    if history and study is None:
        raise click.UsageError("--history needs a STUDY")
    if json_file and not history:
        raise click.UsageError("--json goes with --history; `evenhand run --json` writes the report of a run")
    be_quiet()
    if history:
        _show_history(str(study), metric, json_file)
        return
    with waiting("reading MLflow"):
        from evenhand.reporting.terminal.run import show_leaderboard, show_studies
        from evenhand.tracking.leaderboards import read_leaderboard, read_studies

        found = None if study is None else read_leaderboard(study, metric)
        names = read_studies() if study is None else []
    if found is None:
        show_studies(names)
    else:
        show_leaderboard(found)


def _show_history(study: str, metric: str | None, json_file: str | None) -> None:
    from evenhand.reporting.terminal.waiting import waiting

    check_json(json_file)
    with waiting("reading MLflow"):
        from evenhand.api.comparisons import history_of
        from evenhand.reporting.terminal.comparison import show_history

        found = history_of(study, metric)
    if json_file != STDOUT:
        show_history(found)
    if json_file:
        write_json(json_file, found.as_json())


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True)
def ui(port: int) -> None:
    """Serve MLflow's pages of all runs on this machine until Ctrl-C."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting_reports

    with waiting_reports(echo) as report:
        eh.ui(port, report=report)


@click.command()
@click.argument("study", metavar="[CONF|STUDY|RUN_ID]", type=StudyName(), required=False)
@click.option("--print-path", is_flag=True, help="Print where the page lies instead of opening it.")
def report(study: str | None, print_path: bool) -> None:
    """Open the HTML page of the latest run of STUDY or of a run; without either, of the study that ran last."""
    from evenhand.reporting.terminal.waiting import waiting
    from evenhand.service.prefect_session import be_quiet
    from evenhand.service.servers import has_display

    be_quiet()
    with waiting("looking for the page"):
        from evenhand.tracking.locations import find_page

        page = find_page(study)
    echo(page)
    if not print_path and has_display():
        import webbrowser

        webbrowser.open(page.as_uri())


@click.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Check versions, folders, databases, servers and speed; exit code 2 where something would stop a run."""
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    with waiting("checking"):
        found = eh.doctor()
    for finding in found:
        colour = {"ok": "green", "warn": "yellow", "fail": "red"}[finding.state]
        click.echo(f"{click.style(f'{finding.state:5}', fg=colour)} {finding.what}: {finding.found}")
        if finding.remedy:
            echo(f"      -> {finding.remedy}")
    if not found.is_fit:
        ctx.exit(2)


COMMANDS = (show, ui, report, doctor)
