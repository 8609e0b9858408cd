"""The command that sets runs side by side and ranks candidates over studies."""

from functools import partial
from pathlib import Path

import click

from evenhand.cli.shared import STDOUT, RegistryOption, StudyName, check_json, echo, json_option, write_json


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN ...]", type=StudyName())
@click.option(
    "--metric", cls=RegistryOption, registry="METRICS", help="Compare by this metric instead of the study's own."
)
@click.option("--rescore", is_flag=True, help="Ask the models again, about rows that neither was trained on.")
@json_option
@click.option("--output", type=click.Path(dir_okay=False), help="Draw it into this file (.svg, .png or .pdf).")
def compare(
    runs: tuple[str, ...], metric: str | None, rescore: bool, json_file: str | None, output: str | None
) -> None:
    """Set the winners of runs of one study side by side, or rank candidates over several studies.

    A RUN is a study or its file (its latest run), STUDY~1 (the run before), STUDY@3 (its third run) or a run id. One
    study alone: its latest run against the one before. Several studies: Friedman's test and Nemenyi's over candidates
    that all have.
    """
    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    check_json(json_file)
    with waiting("asking the models again" if rescore else "comparing"):
        compared = eh.compare(*runs, metric=metric, rescore=rescore)
        from evenhand.records.comparison import StudyContrast
        from evenhand.reporting.figures.comparison import save_comparison
        from evenhand.reporting.terminal.comparison import show_runs, show_studies_ranked

    if isinstance(found := compared.found, StudyContrast):
        show = partial(show_studies_ranked, found)
    else:
        show = partial(show_runs, found)
    if json_file != STDOUT:
        show()
    if json_file:
        write_json(json_file, compared.as_json())
    if output:
        save_comparison(compared.found, Path(output))
        echo(f"drew {output}", err=json_file == STDOUT)


COMMANDS = (compare,)
