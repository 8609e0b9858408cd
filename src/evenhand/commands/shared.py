"""What the commands share: options, the study they are given, and a file written whole."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evenhand.settings import Study


def study_of(conf: str, changes: tuple[str, ...]) -> "Study":
    from evenhand.conf import load_study

    return load_study(conf, changes)


set_option = click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a setting, such as split.folds=3; repeatable."
)
only_option = click.option("--only", metavar="GLOB", help="Only candidates whose name matches, such as 'svm*'.")


def write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from evenhand.errors import PlaceError

    unfinished = file.with_name(f".{file.name}.unfinished")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(file)
    except OSError as error:
        raise PlaceError(f"'{file}' cannot be written: {error.strerror}") from error
