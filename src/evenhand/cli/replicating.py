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
    import evenhand as eh

    found = eh.replicate(*names, exact=exact, beyond=beyond)
    from evenhand.replication.terminal import show
    from evenhand.replication.wording import markdown

    show(found, every_line)
    if json_file:
        write(Path(json_file), json.dumps(found.as_json(), indent=2) + "\n")
    if page_file:
        write(Path(page_file), markdown(found.lines, found.with_beyond))


COMMANDS = (replicate,)
