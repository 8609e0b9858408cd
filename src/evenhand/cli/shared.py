"""What the commands share: options, the study they are given, and a file written whole."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evenhand.study.study import Study


def study_of(conf: str, changes: tuple[str, ...]) -> "Study":
    from evenhand.study.loader import load_study

    return load_study(conf, changes)


class StudyName(click.ParamType):
    """The name of a study, or its file, of which the name is taken."""

    name = "study"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name."""
        if not value.endswith((".yaml", ".yml")):
            return value
        from evenhand.study.loader import name_in

        return name_in(value)


class RegistryOption(click.Option):
    """An option whose help lists the names of a registry, read only when help is asked for."""

    def __init__(self, *given: Any, registry: str, **more: Any) -> None:
        self.registry = registry
        super().__init__(*given, **more)

    def get_help_record(self, context: click.Context) -> tuple[str, str] | None:
        """The help with all names."""
        from evenhand.study import registry

        record = super().get_help_record(context)
        names = ", ".join(getattr(registry, self.registry))
        return None if record is None else (record[0], f"{record[1]} Known: {names}.")


study_argument = click.argument("study", metavar="CONF|STUDY", type=StudyName())
set_option = click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a setting, such as split.folds=3; repeatable."
)
STDOUT = "-"
json_option = click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the report as JSON to this file; - for stdout, where nothing else is written then.",
)
only_option = click.option("--only", metavar="GLOB", help="Only candidates whose name matches, such as 'svm*'.")


def echo(text: object, err: bool = False) -> None:
    """Print a line of text, of which nothing can steer the terminal."""
    from evenhand.runtime.text import printable

    click.echo(printable(str(text)), err=err)


def check_json(file: str | None) -> None:
    """Refuse a file for a report that cannot be written."""
    if file and file != STDOUT:
        check_writable(Path(file))


def write_json(file: str, content: Any) -> None:
    """Write a report to a file, or to stdout."""
    import json

    text = json.dumps(content, indent=2, default=str)
    if file == STDOUT:
        click.echo(text)
    else:
        write(Path(file), text + "\n")


def check_writable(file: Path) -> None:
    """Refuse a place that cannot be written before hours are spent on what belongs there."""
    from evenhand.errors import PlaceError

    folder = next(place for place in file.absolute().parents if place.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise PlaceError(f"'{file}' cannot be written: name a file in a folder that is writable.")


def write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from evenhand.runtime.private_files import as_usual
    from evenhand.runtime.whole_files import whole

    with whole(file) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
        as_usual(unfinished)
