"""The command line: parse, call one flow, print."""

import os
import sys
from typing import Any

import click

from evenhand.cli import comparing, completion, looking, replicating, serving, studies, upkeep, watching
from evenhand.cli.shared import echo

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class EvenhandGroup(click.Group):
    """Turns an EvenhandError into its text and exit code 2, and leaves everything else its traceback."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from evenhand.runtime.signals import unsupported

        if why := unsupported():
            click.echo(f"evenhand: {why}", err=True)
            sys.exit(2)
        from evenhand.runtime.private_files import keep_private
        from evenhand.runtime.signals import at_once
        from evenhand.runtime.starting import seldom
        from evenhand.runtime.wall_clock import counting, process_began

        seldom()
        sys.excepthook = _without_secrets
        keep_private()
        with at_once(), counting(process_began()):
            return super().__call__(*arguments, **named)

    def invoke(self, ctx: click.Context) -> Any:
        from evenhand.errors import EvenhandError
        from evenhand.runtime.io_errors import reporting_io
        from evenhand.runtime.wall_clock import counting

        try:
            with counting(), reporting_io():
                _check_home()
                return super().invoke(ctx)
        except EvenhandError as error:
            from evenhand.runtime.redaction import masked_text

            echo(f"evenhand: {masked_text(str(error))}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt as ended:
            from evenhand.runtime.signals import INTERRUPTED, TERMINATED, Terminated

            is_ours = not isinstance(ended, Terminated)
            word, code = ("interrupted", INTERRUPTED) if is_ours else ("terminated", TERMINATED)
            click.echo(f"evenhand: {word}; what was finished is kept, run again to go on", err=True)
            ctx.exit(code)


def _check_home() -> None:
    """Refuse an address as home before a command imports what it needs; a folder is looked at by whoever uses it."""
    if "://" in os.environ.get("EVENHAND_HOME", ""):
        from evenhand.storage.artifact_store import home

        home()


def _without_secrets(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Print a traceback with the secrets of addresses in it masked."""
    from traceback import format_exception

    from evenhand.runtime.redaction import masked_text

    sys.stderr.write("".join(masked_text(line) for line in format_exception(kind, error, trace)))


@click.group(cls=EvenhandGroup, context_settings=CONTEXT)
@click.version_option(package_name="evenhand")
def main() -> None:
    """Retrain and compare classical models on imbalanced tables, without leaks."""


for command in (
    *studies.COMMANDS,
    *looking.COMMANDS,
    *comparing.COMMANDS,
    *serving.COMMANDS,
    *watching.COMMANDS,
    *upkeep.COMMANDS,
    *replicating.COMMANDS,
    *completion.COMMANDS,
):
    main.add_command(command)


if __name__ == "__main__":
    sys.exit(main())
