"""The command that compares with the published figures."""

import json
from pathlib import Path

import click

from evenhand.cli.shared import write


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option("--exact", is_flag=True, help="Only the figures that hang on no random split.")
@click.option("--beyond", is_flag=True, help="Also run Evenhand's best on the same rows.")
@click.option("--all", "every_line", is_flag=True, help="Show every figure, not only those that differ.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False), help="Write the table as JSON to this file.")
@click.option(
    "--markdown", "page_file", type=click.Path(dir_okay=False), help="Write the table as Markdown to this file."
)
def replicate(
    names: tuple[str, ...], exact: bool, beyond: bool, every_line: bool, json_file: str | None, page_file: str | None
) -> None:
    """Run the studies behind the published figures and compare; NAME is one of them, left out: all."""
    from evenhand.replication.studies import modern_studies, studies
    from evenhand.service.prefect_session import be_quiet

    chosen = studies(names, only_exact=exact)
    modern = modern_studies(chosen) if beyond else {}
    be_quiet()
    from evenhand.api.launch import run_replication
    from evenhand.replication.terminal import show
    from evenhand.replication.wording import markdown

    found = run_replication(chosen, modern)
    show(found, every_line)
    if json_file:
        write(Path(json_file), json.dumps(found.as_json(), indent=2) + "\n")
    if page_file:
        write(Path(page_file), markdown(found.lines, found.with_beyond))


COMMANDS = (replicate,)
