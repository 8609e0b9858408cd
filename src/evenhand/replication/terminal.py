"""The replication table on the terminal: one line a study, and every figure that does not replicate in detail."""

from collections.abc import Sequence

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from evenhand.replication.lines import Line, counted
from evenhand.replication.outcome import Replication
from evenhand.replication.wording import by_study, interval_text, value_text
from evenhand.runtime.plain_console import PlainConsole
from evenhand.runtime.text import time_text

COLOURS = {"matches": "green", "inside": "green", "ordered": "green", "explained": "cyan", "differs": "yellow"}


def show(replication: Replication, every_line: bool = False) -> None:
    """Print the table, then where it was recorded."""
    console = PlainConsole()
    lines = replication.lines
    console.print(_overview(lines))
    shown = lines if every_line else [line for line in lines if line.verdict == "differs" or line.beyond]
    for name, group in by_study(shown):
        console.print(f"\n[bold]{name}[/bold]", highlight=False)
        for line in group:
            for indent, words in _words(line):
                console.print(Padding(words, (0, 0, 0, indent)), highlight=False)
    n_other = len(lines) - len(shown)
    more = f"; --all shows the {n_other} that are not listed here" if n_other else ""
    console.print(f"\n{len(lines)} figures in {time_text(replication.seconds)}{more}", highlight=False)
    console.print(f"page    {replication.page}", highlight=False, soft_wrap=True)
    console.print(f"mlflow  run {replication.run_id} of experiment replication", highlight=False)


def _overview(lines: Sequence[Line]) -> Table:
    table = Table(title="replication", title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("study")
    table.add_column("kind", style="dim")
    for verdict, colour in COLOURS.items():
        table.add_column(verdict, justify="right", style=colour)
    for name, group in by_study(lines):
        counts = counted(group)
        table.add_row(name, group[-1].kind, *(str(number or "") for number in counts.values()))
    return table


def _words(line: Line) -> list[tuple[int, str]]:
    """A figure in lines with their indents, which can be read at any width."""
    colour = COLOURS[line.verdict]
    interval = f"  [dim]99 %[/dim] {interval_text(line)}" if line.interval else ""
    figures = f"[dim]published[/dim] {_plain(line.published)}  [dim]measured[/dim] {_plain(line.measured)}{interval}"
    parts = [(2, f"{escape(line.figure)}: [{colour}]{line.verdict}[/{colour}]"), (6, figures)]
    parts += [(6, f"[dim]{escape(line.note)}[/dim]")] if line.note else []
    return parts + ([(6, f"[bold]beyond[/bold] {escape(line.beyond)}")] if line.beyond else [])


def _plain(value: object) -> str:
    return escape(value_text(value))
