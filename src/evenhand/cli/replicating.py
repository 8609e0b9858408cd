"""The command that compares with the published figures."""

from pathlib import Path

import click

from evenhand.cli.shared import STDOUT, check_json, json_option, write, write_json


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option("--exact", is_flag=True, help="Only the figures that hang on no random split.")
@click.option("--beyond", is_flag=True, help="Also run Evenhand's best on the same rows.")
@click.option("--all", "every_line", is_flag=True, help="Show every figure, not only those that differ.")
@json_option
@click.option(
    "--markdown", "page_file", type=click.Path(dir_okay=False), help="Write the table as Markdown to this file."
)
def replicate(
    names: tuple[str, ...], exact: bool, beyond: bool, every_line: bool, json_file: str | None, page_file: str | None
) -> None:
    """Run the studies behind the published figures and compare; NAME is one of them, left out: all."""
    import evenhand as eh

    check_json(json_file)
    found = eh.replicate(*names, exact=exact, beyond=beyond)
    from evenhand.replication.terminal import show
    from evenhand.replication.wording import markdown

    if json_file != STDOUT:
        show(found, every_line)
    if json_file:
        write_json(json_file, found.as_json())
    if page_file:
        write(Path(page_file), markdown(found.lines, found.with_beyond))


COMMANDS = (replicate,)
